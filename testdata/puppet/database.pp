$root     = "${facts['folder']}/db"
$port     = lookup('database::port', Integer, 'first', 3306)
$password = String(fqdn_rand(1000000, 'mysql'))
$endpoint = "mysql://db:${port}/${db_name}"

file { [$facts['folder'], $root]:
  ensure => directory,
}

file { "${root}/my.cnf":
  content => inline_epp("[mysqld]\nport = <%= \$port %>\n"),
  notify  => Service['mysql'],
}

# What a database's init script does, for machines without one.
$control = "start-stop-daemon --pidfile ${root}/mysql.pid --exec /usr/bin/sleep"

service { 'mysql':
  ensure   => running,
  provider => base,
  start    => "${control} --start --background --make-pidfile -- 60",
  stop     => "${control} --stop",
  restart  => "${control} --stop --retry 5; ${control} --start --background --make-pidfile -- 60",
  status   => "${control} --status",
}
