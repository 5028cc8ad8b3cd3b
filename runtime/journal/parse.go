package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// parse reads the lines of a journal. whole is their length in bytes: what follows was
// torn by a crash. An invalid line that is not the last is corruption, which is an error.
func parse(text []byte) (lines []line, whole int, err error) {
	for whole < len(text) {
		end := bytes.IndexByte(text[whole:], '\n')
		if end < 0 {
			break
		}
		var l line
		if err := json.Unmarshal(text[whole:whole+end], &l); err != nil {
			if whole+end+1 == len(text) {
				break
			}
			return nil, 0, fmt.Errorf("line %d of the journal is corrupt: %w", len(lines)+1, err)
		}
		lines = append(lines, l)
		whole += end + 1
	}
	switch {
	case len(lines) == 0 || lines[0].Journal == 0:
		return nil, 0, fmt.Errorf("this is not a journal of hotc-agent")
	case lines[0].Journal > Format:
		return nil, 0, fmt.Errorf("the journal has format %d, but this agent supports format %d: it was written by a newer agent",
			lines[0].Journal, Format)
	}
	return lines, whole, nil
}
