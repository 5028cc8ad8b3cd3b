# Not /etc, so that the example can be run at a desk.
default["base"]["etc"] = ::File.join(Chef::Config[:file_cache_path], "etc")
default["base"]["motd"] = "welcome"
