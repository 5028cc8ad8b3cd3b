package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
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

// CheckCell checks a cell's record against the plan, which says whether it is sealed, and of which
// type it is: an expression over it, or a tool, may treat a list as several values.
func CheckCell(ref contract.CellRef, record CellRecord) (CellRecord, error) {
	var err error
	switch {
	case record.State == Empty, record.State == Failed, record.State == Unknown:
	case record.State != Valued:
		err = errNoSuchState
	case !ref.Sealed && record.Sealed != "":
		err = errSealed
	case ref.Sealed && record.Sealed == "":
		err = errNotSealed
	case !ref.Sealed && record.Value == nil:
		err = errNoValue
	case !ref.Sealed:
		err = CheckType(ref, record)
	}
	if err != nil {
		return CellRecord{State: Empty}, NewCellError(ref, err)
	}
	record.Cause = Shorten(record.Cause)
	return record, nil
}

// CheckType checks the type of a cell's value. ErrOtherType.
func CheckType(ref contract.CellRef, record CellRecord) error {
	if is := contract.TypeOf(record.Value); ref.Type != "" && ref.Type != contract.JSON && is != ref.Type {
		return fmt.Errorf("%w: %s, not %s", ErrOtherType, is, ref.Type)
	}
	return nil
}

// The longest chain of causes that is kept, and the longest reason in it: a
// failure that propagates through a thousand servers must still fit into their cells.
const (
	LongestChain  = 32
	LongestReason = 4 << 10
	longestName   = 512 // of a role, and of a position
)

// Shorten keeps the last effects and the first causes of a long chain.
func Shorten(c *Cause) *Cause { return c.Cut(LongestChain, LongestReason) }

// Cut keeps so many links of a chain, and so many bytes of each reason.
func (c *Cause) Cut(links, reason int) *Cause {
	var chain []Cause
	for ; c != nil; c = c.Cause {
		chain = append(chain, Cause{Role: contract.RoleKey(Clip(string(c.Role), longestName)), Reason: Clip(c.Reason, reason), At: contract.Position(Clip(string(c.At), longestName))})
	}
	if over := len(chain) - links; over > 0 {
		cut := Cause{Reason: fmt.Sprintf("(%d causes in between are omitted)", over+1)}
		half := links / 2
		chain = slices.Concat(chain[:half], []Cause{cut}, chain[half+over+1:])
	}
	var short *Cause
	for i := len(chain) - 1; i >= 0; i-- {
		chain[i].Cause = short
		short = &chain[i]
	}
	return short
}

// CutCauses is the state with all its causes cut, which may have come from other servers.
func (s ServerState) CutCauses(links, reason int) ServerState {
	s.Roles = slices.Clone(s.Roles)
	for i := range s.Roles {
		r := &s.Roles[i]
		r.Cause = r.Cause.Cut(links, reason)
		if r.Update != nil {
			update := *r.Update
			update.Cause = update.Cause.Cut(links, reason)
			r.Update = &update
		}
		if r.Behind != nil {
			r.Behind = &BehindState{Cause: r.Behind.Cause.Cut(links, reason), Seen: r.Behind.Seen}
		}
	}
	if s.Going != nil {
		going := *s.Going
		going.Failed = lists.Map(going.Failed, func(c *Cause) *Cause { return c.Cut(links, reason) })
		s.Going = &going
	}
	return s
}
