default['site']['port'] = 80
default['site']['url'] = "http://www:#{node['site']['port']}/"
