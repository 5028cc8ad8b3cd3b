package lint

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/rule/pack"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A comment suppresses findings:
//
//	size: 0   # hotc:ignore H220 the driver takes 0 as "all"
//	# hotc:ignore H213,H215 a property of our own plug-in
//	volume:
//	  ...
//
// After code it applies to its line; on a line of its own, to the key or item below, with all
// its contents; above everything, to the whole file.

type ignore struct {
	at          source.Place
	codes       []source.Code
	reason      string
	first, last int // lines, from 1
	// wrong is why it suppresses nothing, hint how to fix it.
	wrong, hint string
	// quiet means that it may not be a comment, since it is in a block of text; it is not
	// reported.
	quiet bool
	used  bool
}

var ignoreMark = []byte("hotc:ignore")

// ignoreComment finds a comment on a line.
var ignoreComment = regexp.MustCompile(`(?:^|\s)(#\s*hotc:ignore\b(.*))$`)

func ignores(file *source.File) []*ignore {
	if !bytes.Contains(file.Text, ignoreMark) {
		return nil
	}
	texts := texts(file)
	lines := strings.Split(string(file.Text), "\n")
	var out []*ignore
	offset := uint32(0)
	for i, line := range lines {
		start := offset
		offset += uint32(len(line)) + 1
		m := ignoreComment.FindStringSubmatchIndex(strings.TrimRight(line, "\r"))
		if m == nil {
			continue
		}
		x := &ignore{at: source.Place{File: file, Span: source.Span{Start: start + uint32(m[2]), End: start + uint32(m[3])}}}
		style, within := texts.around(x.at.Span)
		if within && style != yaml.Literal && style != yaml.Folded {
			continue
		}
		x.quiet = within || file.Within.Known()
		x.parse(line[m[4]:m[5]])
		x.first, x.last = reach(lines, i, strings.TrimSpace(line[:m[2]]) == "")
		out = append(out, x)
	}
	return out
}

// parse reads what follows the mark: RULE[,RULE…] reason.
func (x *ignore) parse(text string) {
	codes, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	x.reason = strings.TrimSpace(reason)
	const form = "write `# hotc:ignore RULE reason`"
	if codes == "" {
		x.wrong, x.hint = "it names no rule", form
		return
	}
	for _, code := range strings.Split(codes, ",") {
		if pack.Of(source.Code(code)) == nil {
			x.wrong, x.hint = fmt.Sprintf("there is no rule %q", code), "`hotc rule` lists them; "+form
			return
		}
		x.codes = append(x.codes, source.Code(code))
	}
	if x.reason == "" {
		x.wrong, x.hint = "it gives no reason", form
	}
}

// reach returns the lines, from 1, to which a comment on line i applies.
func reach(lines []string, i int, alone bool) (first, last int) {
	if !alone {
		return i + 1, i + 1
	}
	above := 0
	for above < i && !content(lines[above]) {
		above++
	}
	if above == i {
		return 1, len(lines)
	}
	at := i + 1
	for at < len(lines) && !content(lines[at]) {
		at++
	}
	if at == len(lines) {
		return i + 1, i + 1
	}
	column, item := indent(lines[at]), isItem(lines[at])
	end := at + 1
	for ; end < len(lines); end++ {
		if line := lines[end]; content(line) && indent(line) <= column && (indent(line) < column || item || !isItem(line)) {
			break
		}
	}
	return at + 1, end
}

// content reports whether a line has more than a comment or a document's start.
func content(line string) bool {
	text := strings.TrimSpace(line)
	return text != "" && text[0] != '#' && text != "---" && text[0] != '%'
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isItem(line string) bool {
	text := strings.TrimSpace(line)
	return text == "-" || strings.HasPrefix(text, "- ")
}

// scalars are a file's scalars in which a # need not begin a comment, in order.
type scalars []*yaml.Node

func texts(file *source.File) (out scalars) {
	var quiet source.Diagnostics
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n == nil || n.Target() != nil {
			return
		}
		if n.Kind == yaml.Scalar && n.Style != yaml.Plain {
			out = append(out, n)
		}
		for _, x := range n.Items {
			walk(x)
		}
		for _, e := range n.Entries {
			if !e.Merged {
				walk(e.Value)
			}
		}
	}
	if file.Within.Known() {
		return nil // a script
	}
	if root := yaml.Parse(file, &quiet); root != nil {
		walk(root)
	}
	return out
}

// around returns the style of the scalar around a span.
func (s scalars) around(span source.Span) (yaml.Style, bool) {
	for _, n := range s {
		if n.Span.Contains(span) {
			return n.Style, true
		}
	}
	return 0, false
}

// suppresses reports whether a comment applies to a finding in its file.
func (x *ignore) suppresses(d *source.Diagnostic, at source.Place) bool {
	line, _ := at.File.Position(at.Span.Start)
	return x.wrong == "" && x.first <= line && line <= x.last && slices.Contains(x.codes, d.Code)
}

// useless is the finding about a comment that suppresses nothing; nil if there is none.
func (x *ignore) useless(failed bool) *source.Diagnostic {
	d := &source.Diagnostic{Code: source.UselessIgnore, Severity: source.Warning, At: x.at}
	message, hint := "this comment suppresses nothing: "+x.wrong, x.hint
	switch {
	case x.quiet || x.used:
		return nil
	case x.wrong != "":
	case failed: // with errors not every rule runs
		return nil
	default:
		names := lists.Map(x.codes, func(c source.Code) string { return string(c) })
		where := fmt.Sprintf("in the lines %d to %d", x.first, x.last)
		if x.first == x.last {
			where = fmt.Sprintf("in line %d", x.first)
		}
		message, hint = fmt.Sprintf("this comment suppresses nothing: %s is not found %s", strings.Join(names, ", "), where), "remove it"
		d.Fix = &source.Fix{Does: "remove it", Edits: []source.Edit{{Span: x.whole()}}}
	}
	d.Message, d.Hint = message, hint
	return d
}

// whole covers the comment with the spaces before it, or its whole line if that has nothing else.
func (x *ignore) whole() source.Span {
	text, span := x.at.File.Text, x.at.Span
	for span.Start > 0 && (text[span.Start-1] == ' ' || text[span.Start-1] == '\t') {
		span.Start--
	}
	if span.Start == x.at.File.LineStart(span.Start) {
		span.End = x.at.File.LineEnd(span.End)
	}
	return span
}
