name "wordpress"
description "The blog"
override_attributes "wordpress" => { "plugins" => %w{akismet} }
run_list "recipe[wordpress]"
