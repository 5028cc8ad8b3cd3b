#!/bin/sh
echo member $index
