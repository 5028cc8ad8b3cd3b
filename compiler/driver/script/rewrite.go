package script

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Shell functions that a rewritten script calls. The run-time half of the driver defines
// them in the file that its first statement sources (docs/scripts.md).
const (
	prelude   = `. "$hotc_shell"; `
	awaits    = "hotc_await" // its arguments are variables
	owns      = "hotc_own"
	keeps     = "hotc_keep"
	publishes = "hotc_publish"
	silently  = "2>/dev/null"
)

// edit is an insertion into the script.
type edit struct {
	at   uint
	text string
}

// rewrite inserts waits before the statements that read inputs, and writes after those
// that assign outputs, all on existing lines, so that line numbers do not change. It
// returns the text unchanged if there is nothing to do.
func (a *analyser) rewrite(text string) string {
	var opens, closes []edit
	walkAll(a.tree, a.survey, func(n syntax.Node) bool {
		s, is := n.(*syntax.Stmt)
		if !is {
			return true
		}
		before, after := a.before[s], a.after[s]
		if before != nil {
			opens = append(opens, edit{s.Pos().Offset(), before.text()})
			if before.style == inBraces {
				closes = append(closes, edit{endOf(s), "; }"})
			}
		}
		if after != nil {
			if after.style == inBraces {
				opens = append(opens, edit{s.Pos().Offset(), "{ "})
				closes = append(closes, edit{endOf(s), "; }"})
			}
			closes = append(closes, edit{endOf(s), "; " + after.text()})
		}
		return true
	})
	if len(opens)+len(closes)+len(a.atEnd) == 0 {
		return text
	}
	start := prelude
	if names := slices.Sorted(maps.Keys(a.passed)); len(names) > 0 {
		start = "hotc_passed=' " + strings.Join(names, " ") + " '; " + prelude
	}
	if len(a.atEnd) > 0 {
		start += "trap '{ " + call(keeps, a.atEnd) + "} " + silently + "' EXIT; "
	}
	slices.Reverse(closes) // inner ones end first
	edits := append(closes, append([]edit{{a.tree.Stmts[0].Pos().Offset(), start}}, opens...)...)
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].at < edits[j].at })
	var out strings.Builder
	last := uint(0)
	for _, e := range edits {
		out.WriteString(text[last:e.at])
		out.WriteString(e.text)
		last = e.at
	}
	out.WriteString(text[last:])
	return out.String()
}

// walkAll walks a script and those of its traps' handlers in which calls can be inserted.
func walkAll(tree *syntax.File, s *survey, visit func(syntax.Node) bool) {
	syntax.Walk(tree, visit)
	for _, h := range s.trapped {
		for _, stmt := range h.stmts {
			if h.inPlace {
				syntax.Walk(stmt, visit)
			}
		}
	}
}

// keepsStatus keeps the status of the statement before a call without setting off `set -e`.
const keepsStatus = " && :; "

// call returns the call of a function with variables; "" if there are none.
func call(function string, variables []string) string {
	if len(variables) == 0 {
		return ""
	}
	return function + " " + strings.Join(variables, " ") + keepsStatus
}

// text returns the wait. The redirection hides it from `set -x`.
func (b *before) text() string {
	text := "{ " + call(awaits, slices.Sorted(maps.Keys(b.reads))) + call(owns, b.owns)
	last := strings.TrimSuffix(text, keepsStatus)
	switch b.style {
	case ifAnd:
		return last + "; } " + silently + " && "
	case ifOr:
		return last + "; } " + silently + " || "
	case inBraces:
		text = "{ " + text
	}
	return text + "} " + silently + "; "
}

func (a *after) text() string {
	var kept, published []string
	for _, v := range slices.Sorted(maps.Keys(a.keeps)) {
		if a.keeps[v] {
			published = append(published, v)
		} else {
			kept = append(kept, v)
		}
	}
	return "{ " + call(keeps, kept) + call(publishes, published) + "} " + silently
}

// endOf returns where a statement's words end, before the body of a here-document.
func endOf(s *syntax.Stmt) uint {
	end := s.Pos().Offset()
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		end = endOf(c.Y)
	case *syntax.TimeClause:
		if end = c.End().Offset(); c.Stmt != nil {
			end = endOf(c.Stmt)
		}
	default:
		end = c.End().Offset()
	}
	for _, r := range s.Redirs {
		end = max(end, r.Word.End().Offset())
	}
	return end
}

// check verifies the rewritten script: the same statements, with the intended number of
// calls, on as many lines.
func (a *analyser) check(text, rewritten string, dialect syntax.LangVariant) error {
	tree, err := parseText(rewritten, dialect)
	if err != nil {
		return fmt.Errorf("the rewritten script has a syntax error: %w", err)
	}
	if strings.Count(text, "\n") != strings.Count(rewritten, "\n") {
		return fmt.Errorf("the rewritten script has a different number of lines")
	}
	found, meant := 0, min(1, len(a.atEnd))
	walkAll(tree, surveyOf(tree, rewritten), func(n syntax.Node) bool {
		if c, is := n.(*syntax.CallExpr); is && len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case awaits, owns, keeps, publishes:
				found++
			}
		}
		return true
	})
	for _, b := range a.before {
		meant += min(1, len(b.reads)) + min(1, len(b.owns))
	}
	for _, x := range a.after {
		all := map[bool]int{}
		for _, published := range x.keeps {
			all[published] = 1
		}
		meant += len(all)
	}
	if found != meant {
		return fmt.Errorf("the rewritten script has %d calls, not %d", found, meant)
	}
	return nil
}
