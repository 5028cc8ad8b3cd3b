# Read while recipes are compiled: no resource has done anything yet.
file "/etc/ring.conf" do
  content "next #{node["ring"]["next"]}\n"
end

ruby_block "tell" do
  block { node.default["ring"]["mine"] = "here" }
end
