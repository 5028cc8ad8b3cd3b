package socket

import _ "embed"

// RubyClient is the client for interceptors in Ruby: Hotc::Agent, Hotc::Failure, and common code,
// which uses only Ruby's standard library (2.6 and later). A driver writes it beside its
// interceptor.
//
//go:embed client.rb
var RubyClient []byte

// PythonClient is the same for interceptors in Python, as a module: Client and Failure.
//
//go:embed client.py
var PythonClient []byte
