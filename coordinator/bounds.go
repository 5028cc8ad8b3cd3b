package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Records of other servers are limited to what an honest agent writes, before decoding (a few bytes
// of JSON make hundreds in memory) and after.

// MostItems bounds the objects and list items of a record, other than a cell's value.
const MostItems = 100_000

// ErrTooMany says that a record is larger than an honest agent's.
var ErrTooMany = errors.New("it has too many items")

// CountItems counts what makes a JSON text large in memory: commas and brackets outside of
// strings.
func CountItems(data []byte) (n int) {
	within := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case !within && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n
}

// Clip truncates a string to its first bytes.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most]) + "…"
}

// CheckCell checks a cell's record against the plan, which says whether it is sealed.
func CheckCell(ref contract.CellRef, record CellRecord) (CellRecord, error) {
	var err error
	switch {
	case record.State == Empty:
	case record.State == Failed:
	case record.State != Valued:
		err = errNoSuchState
	case !ref.Sealed && record.Sealed != "":
		err = errSealed
	case ref.Sealed && record.Sealed == "":
		err = errNotSealed
	case !ref.Sealed && record.Value == nil:
		err = errNoValue
	}
	if err != nil {
		return CellRecord{State: Empty}, NewCellError(ref, err)
	}
	record.Cause = Shorten(record.Cause)
	return record, nil
}

// The longest chain of causes that is kept, and the longest reason in it: a
// failure that propagates through a thousand servers must still fit into their cells.
const (
	longestChain  = 32
	LongestReason = 4 << 10
)

// Shorten keeps the last effects and the first causes of a long chain.
func Shorten(c *Cause) *Cause {
	var chain []Cause
	for ; c != nil; c = c.Cause {
		link := *c
		if len(link.Reason) > LongestReason {
			link.Reason = strings.ToValidUTF8(link.Reason[:LongestReason], "") + "…"
		}
		chain = append(chain, link)
	}
	if over := len(chain) - longestChain; over > 0 {
		cut := Cause{Reason: fmt.Sprintf("(%d causes in between are omitted)", over+1)}
		half := longestChain / 2
		chain = slices.Concat(chain[:half], []Cause{cut}, chain[half+over+1:])
	}
	var short *Cause
	for i := len(chain) - 1; i >= 0; i-- {
		link := chain[i]
		link.Cause = short
		short = &link
	}
	return short
}
