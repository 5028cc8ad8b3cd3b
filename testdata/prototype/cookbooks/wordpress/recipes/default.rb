include_recipe "base"

# Compiled, and converged, without the database.
file ::File.join(node["base"]["etc"], "apache.conf") do
  content "Listen #{node["wordpress"]["port"]}\n"
end

# This waits for the database when it converges, not before.
template ::File.join(node["base"]["etc"], "wp-config.php") do
  source "wp-config.php.erb"
  mode "0600"
  variables(lazy { { db: node["wordpress"]["db"] } })
end

ruby_block "the site is there" do
  block do
    node.default["wordpress"]["site"] = "http://#{node["wordpress"]["address"]}:#{node["wordpress"]["port"]}/"
  end
end
