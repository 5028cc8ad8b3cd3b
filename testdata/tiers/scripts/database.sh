#!/bin/sh
name=$(hotc-agent get name)
copy_of=$(hotc-agent get copy_of)
printf %s "/$name${copy_of:+ of $copy_of}" | hotc-agent put path
