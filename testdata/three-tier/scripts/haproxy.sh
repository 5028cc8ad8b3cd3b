#!/bin/sh
# Writes the load balancer's configuration as soon as every backend is there.
set -eu
mkdir -p etc
{
	echo "backend site"
	hotc-agent get backends
	echo
} > etc/haproxy.cfg
cat etc/haproxy.cfg
printf 'http://%s/' "$(hotc-agent get address)" | hotc-agent put site_url
