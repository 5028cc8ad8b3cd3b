directory('/srv/beside') { mode '0750' }

file '/srv/beside/banner' do
  content node['site']['banner']
  mode '0600'
end

template '/srv/beside/app.conf' do
  source 'app.conf.erb'
  variables(hosts: node['site']['hosts'], settings: node['site']['settings'].to_h)
end

node['site']['hosts'].each do |host|
  file("/srv/beside/host-#{host}") { content lazy { "#{host}:#{node['site']['port'] + 1}\n" } }
end

link('/srv/beside/link') { to '/srv/beside/app.conf' }

file('/srv/beside/debug') if node['site']['debug']
