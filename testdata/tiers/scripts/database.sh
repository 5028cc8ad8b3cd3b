#!/bin/sh
name=$(hotc-agent get name)
copy_of=$(hotc-agent get copy_of)
hotc-agent put path "/$name${copy_of:+ of $copy_of}"
