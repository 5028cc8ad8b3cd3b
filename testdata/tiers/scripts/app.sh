#!/bin/sh
hotc-agent put url "http://app/?db=$(hotc-agent get database)&cache=$(hotc-agent get cache)&says=$(hotc-agent get greeting)"
