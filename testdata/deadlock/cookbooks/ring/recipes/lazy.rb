# The service is up before the configuration needs the other's.
service "ring" do
  action [:enable, :start]
end

file "/etc/ring.conf" do
  content lazy { "next #{node["ring"]["next"]}\n" }
end
