package process

import (
	"bytes"
	"strings"
)

// longestLine bounds the lines that errors repeat, in characters.
const longestLine = 300

// LastLine is the last non-empty line of a process's output, without control characters:
// most programs end with it when they fail.
func LastLine(text []byte) string {
	for {
		text = bytes.TrimRight(text, " \t\r\n")
		if len(text) == 0 {
			return "no output"
		}
		start := bytes.LastIndexByte(text, '\n') + 1
		if line := OneLine(text[start:], longestLine); line != "" {
			return line
		}
		text = text[:start]
	}
}

// OneLine is a text for a reason, without control characters. A long one is cut in the
// middle: programs first say what failed, and why at the end.
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
