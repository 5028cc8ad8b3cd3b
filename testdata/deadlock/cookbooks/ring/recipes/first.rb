# Told while recipes are compiled, before anything is read.
node.default["ring"]["mine"] = "here"

file "/etc/ring.conf" do
  content "next #{node["ring"]["next"]}\n"
end
