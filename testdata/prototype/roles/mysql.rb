name "mysql"
description "The database"
default_attributes "mysql" => { "port" => 3306 }
run_list "recipe[base]", "recipe[mysql]"
