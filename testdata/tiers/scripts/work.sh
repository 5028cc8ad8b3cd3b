#!/bin/sh
printf %s "[$(hotc-agent get number), \"$(hotc-agent get queue)\", \"$(hotc-agent get zone)\"]" | hotc-agent put 'done'
