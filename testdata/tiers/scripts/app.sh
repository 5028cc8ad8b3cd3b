#!/bin/sh
printf %s "http://app/?db=$(hotc-agent get database);cache=$(hotc-agent get cache);says=$(hotc-agent get greeting)" | hotc-agent put url
