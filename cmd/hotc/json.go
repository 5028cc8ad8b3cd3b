package main

import (
	"encoding/json"
	"io"
)

// printJSON writes a command's result for programs (docs/json.md).
func printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// printJSONLine is printJSON in one line, for results that come one after another.
func printJSONLine(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(result)
}
