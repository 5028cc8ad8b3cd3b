# The same, the other way round: the service waits for the other's.
file "/etc/ring.conf" do
  content lazy { "next #{node["ring"]["next"]}\n" }
end

service "ring" do
  action [:enable, :start]
end
