package yaml

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// blockScalar matches the end of a line that starts a block scalar.
var blockScalar = regexp.MustCompile(`(^|[\s:-])[|>][-+0-9]*\s*(#.*)?$`)

// complete matches a line with a key and its whole value: no deeper line can follow.
var complete = regexp.MustCompile(`^(- +)*[^\s"'{}\[\],#][^"'{}\[\]#]*: +("[^"\\]*"|'[^']*'|\{.*\}|\[.*\])(\s+#.*)?$`)

// misindented finds the first line, starting at from, whose indentation matches no enclosing
// collection, or is deeper than that of a complete line before it; the YAML library reports
// only the start of the enclosing collection. before are the indentations that would match;
// line is 0 if there is none.
func misindented(file *source.File, from int) (line int, before string) {
	ended := -1      // the column of the last line if that was complete
	var around []int // the columns of the open collections
	text := -1       // within a block scalar: the column of its key
	for n := 1; n <= bytes.Count(file.Text, []byte{'\n'})+1; n++ {
		content := strings.TrimRight(file.Line(n), " \r\n")
		trimmed := strings.TrimLeft(content, " ")
		column := len(content) - len(trimmed)
		switch {
		case trimmed == "" || trimmed[0] == '#':
			continue
		case text >= 0 && column > text:
			continue
		}
		text = -1
		if ended >= 0 && column > ended && n >= from {
			return n, fmt.Sprint(ended)
		}
		ended = -1
		deeper := len(around) == 0 || column > around[len(around)-1]
		above := 0
		for len(around) > 0 && around[len(around)-1] > column {
			above, around = around[len(around)-1], around[:len(around)-1]
		}
		if !deeper && !slices.Contains(around, column) {
			if n < from {
				return 0, ""
			}
			before = fmt.Sprint(above)
			if len(around) > 0 {
				before = fmt.Sprintf("%d or %d", around[len(around)-1], above)
			}
			return n, before
		}
		if deeper {
			around = append(around, column)
		}
		if blockScalar.MatchString(content) {
			text = column
		}
		for rest := trimmed; strings.HasPrefix(rest, "- "); { // an item's content starts after the dash
			inner := strings.TrimLeft(rest[1:], " ")
			column += len(rest) - len(inner)
			around, rest = append(around, column), inner
		}
		if complete.MatchString(trimmed) && strings.Count(trimmed, "{")+strings.Count(trimmed, "[") == strings.Count(trimmed, "}")+strings.Count(trimmed, "]") {
			ended = column
		}
	}
	return 0, ""
}
