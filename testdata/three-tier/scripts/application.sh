#!/bin/sh
# Sets an application server up: all that needs no database first, then the rest.
set -eu
echo "starting $workers workers"
mkdir -p etc
database=$(hotc-agent get database)     # blocks until the database's role has said where it is
address=$(hotc-agent get address)
echo "database = $database" > etc/application.conf
echo "connected to $database"
printf '{"address": "%s", "port": 8080}' "$address" > "$heat_outputs_path.backend"
