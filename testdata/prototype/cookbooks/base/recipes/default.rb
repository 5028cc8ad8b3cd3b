directory node["base"]["etc"] do
  recursive true
end

file ::File.join(node["base"]["etc"], "motd") do
  content "#{node["base"]["motd"]}\n"
end
