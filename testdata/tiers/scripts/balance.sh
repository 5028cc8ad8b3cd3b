#!/bin/sh
hotc-agent put seen "{\"backends\": $(hotc-agent get backends), \"first\": \"$(hotc-agent get first)\", \"workers\": $(hotc-agent get workers), \"database\": \"$(hotc-agent get database)\"}"
