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

// printResult writes a command's result for programs, if it was called with --json, or for people.
func printResult(w io.Writer, asJSON bool, result any, text func()) error {
	if asJSON {
		return printJSON(w, result)
	}
	text()
	return nil
}

// printJSONLine is printJSON in one line, for a stream of results.
func printJSONLine(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(result)
}
