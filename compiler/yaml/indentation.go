package yaml

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// blockScalar ends a line behind which a text of many lines follows, indented deeper.
var blockScalar = regexp.MustCompile(`(^|[\s:-])[|>][-+0-9]*\s*(#.*)?$`)

// complete is a line whose key has its whole value behind it: nothing can stand deeper below.
var complete = regexp.MustCompile(`^(- +)*[^\s"'{}\[\],#][^"'{}\[\]#]*: +("[^"\\]*"|'[^']*'|\{.*\}|\[.*\])(\s+#.*)?$`)

// misindented is the first line, from one on, that is less indented than the one before it
// and not as any around it, or deeper than one that is complete; the YAML library names only
// where the collection around begins. With it comes how far it might be indented; 0 is none.
func misindented(file *source.File, from int) (line int, before string) {
	ended := -1      // the column of a complete line, which was the last one
	var around []int // the columns of the collections that are open
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
		for rest := trimmed; strings.HasPrefix(rest, "- "); { // what an item holds stands behind its dash
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
