# Everything that a class is given reaches a file.
class site (
  Integer $port,
  String $banner,
  Array[String] $hosts,
  Hash $settings,
  Hash $files,
  Boolean $debug,
) {
  file { '/srv/beside': ensure => directory, mode => '0750' }
  file { '/srv/beside/banner': content => $banner, mode => '0600' }
  file { '/srv/beside/app.conf': content => epp('site/app.conf.epp', { 'port' => $port, 'hosts' => $hosts }) }
  file { '/srv/beside/settings': content => "${settings}\n" }
  $hosts.each |$host| {
    file { "/srv/beside/host-${host}": content => "${host}:${$port + 1}\n" }
  }
  create_resources('file', $files)
  if $debug {
    file { '/srv/beside/debug': ensure => file }
  }
}
