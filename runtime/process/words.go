package process

import (
	"bytes"
	"strings"
)

// longestLine is how many characters of a line an error repeats.
const longestLine = 300

// LastLine is the last line of what a process printed that says something, without
// control characters: what most programs end with when they fail.
func LastLine(text []byte) string {
	for {
		text = bytes.TrimRight(text, " \t\r\n")
		if len(text) == 0 {
			return "it printed nothing"
		}
		start := bytes.LastIndexByte(text, '\n') + 1
		if line := OneLine(text[start:], longestLine); line != "" {
			return line
		}
		text = text[:start]
	}
}

// OneLine is a text for a reason, without control characters. What is too long is cut
// in its middle: programs say first what failed, and why at the end.
func OneLine(text []byte, longest int) string {
	line := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, string(bytes.ToValidUTF8(text, []byte("?")))))
	if runes := []rune(line); len(runes) > longest {
		return string(runes[:longest/3]) + "…" + string(runes[len(runes)-(longest-longest/3):])
	}
	return line
}
