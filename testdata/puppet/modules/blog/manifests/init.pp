# A blog.
class blog (
  String            $db_url,
  String            $heading,
  Boolean           $db_running = false,
  Integer           $port       = 80,
  Optional[String]  $theme      = undef,
) {
  $site = "http://web:${port}/"

  file { ["${facts['folder']}", "${facts['folder']}/web"]:
    ensure => directory,
  }

  file { "${facts['folder']}/web/blog.conf":
    content => template('blog/blog.conf.erb'),
  }

  if $db_running {
    notify { "${heading} is at ${site}": }
  }
}
