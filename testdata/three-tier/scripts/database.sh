#!/bin/sh
# Sets the database up and says where it is.
set -eu
address=$(hotc-agent get address)
mkdir -p data
sleep 1                                 # stands for the installation of a database
echo "CREATE DATABASE $db_name;" > data/schema.sql
echo "database $db_name is ready at $address"
printf 'mysql://%s:3306/%s' "$address" "$db_name" | hotc-agent put url
