require "securerandom"

template ::File.join(node["base"]["etc"], "my.cnf") do
  source "my.cnf.erb"
  mode "0600"
end

# The password is there at once, and whoever needs only that need not wait.
node.default["mysql"]["password"] = SecureRandom.hex(8)

execute "start mysqld" do
  command "test -s my.cnf && touch mysqld.pid"
  cwd node["base"]["etc"]
  creates "mysqld.pid"
end

ruby_block "create the database" do
  block do
    mysql = node["mysql"]
    node.default["mysql"]["url"] = "mysql://#{mysql["bind_address"]}:#{mysql["port"]}/#{mysql["database"]}"
  end
end
