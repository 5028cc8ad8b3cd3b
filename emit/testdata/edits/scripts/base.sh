#!/bin/sh
echo role
