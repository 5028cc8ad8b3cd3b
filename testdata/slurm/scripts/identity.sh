#!/bin/sh
# Makes a key of this server's own and publishes the public half.
set -eu
head -c 32 /dev/urandom | sha256sum | cut -d' ' -f1 > private
printf 'key-%s' "$(sha256sum < private | cut -c1-16)" | hotc-agent put public_key
