#!/bin/sh
hotc-agent put done "[$(hotc-agent get number), \"$(hotc-agent get queue)\", \"$(hotc-agent get zone)\"]"
