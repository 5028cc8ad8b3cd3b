package rule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var surprisingScalar = Rule{Code: source.SurprisingScalar, Category: Reading, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findSurprisingScalars}

// findSurprisingScalars finds unquoted words that YAML 1.1, as Heat reads it, does not read
// as strings, where a string is expected; and numbers that are not read as decimal, where a
// number is expected.
func findSurprisingScalars(l *Checker) {
	for _, t := range l.Typed() {
		switch t.Property.Kind {
		case resourcetype.String:
			l.surprising(t.Node, "the string")
		case resourcetype.Integer, resourcetype.Number:
			if _, isNumber := t.Node.Value.(int64); isNumber {
				l.surprising(t.Node, "the number")
			}
		case resourcetype.Map:
			if t.Property.Properties == nil && slices.Contains(ofTexts, t.In.Type.Name) && t.key == "metadata" && t.items == 0 {
				for _, e := range t.Node.All() {
					l.surprising(e.Value, "the string")
				}
			}
		}
	}
	for _, s := range l.Uses {
		for e, around := range l.textArguments(s) {
			around.surprising(e.Value, "the string")
		}
	}
	for _, p := range l.Template.Parameters {
		if p.Type != "string" {
			continue
		}
		l.surprising(p.Default, "the string", p.Name)
		for _, c := range p.Entry.Value.Get("constraints").All() {
			l.surprising(c.Value, "the string", p.Name)
		}
		for _, c := range p.Entry.Value.Get("constraints").List() {
			for _, n := range c.Get("allowed_values").List() {
				l.surprising(n, "the string", p.Name)
			}
		}
	}
	for _, c := range l.callsIn(l.Template.Root) {
		_, params := l.Template.TextAt(c.at)
		for _, e := range params.All() {
			l.surprising(e.Value, "the string")
		}
	}
}

// ofTexts are types whose metadata values are strings.
var ofTexts = []string{"OS::Nova::Server", "OS::Cinder::Volume"}

// surprising checks one scalar, of the definition of parameters.
func (l *Checker) surprising(n *yaml.Node, meant string, parameters ...string) {
	if n == nil || n.Kind != yaml.Scalar || n.Style != yaml.Plain || n.Target() != nil || n.Len() == 0 {
		return
	}
	written := l.Template.File.Slice(n.Span)
	read := asHeatReads(n.Value, written)
	if read == "" {
		return
	}
	hint := fmt.Sprintf("write '%s' in quotes, if %s is meant", written, meant)
	fix := &source.Fix{Does: "quote it", Unsafe: true, Parameters: parameters, Edits: []source.Edit{{Span: n.Span, New: "'" + written + "'"}}}
	if meant == "the number" {
		hint, fix = fmt.Sprintf("write %s, if that is meant", read), nil
	}
	l.Report(n, fmt.Sprintf("Heat reads %s as %s", written, read), hint).Fix = fix
}

// asHeatReads describes how Heat reads a word, "" if that is literal.
func asHeatReads(v value.Value, written string) string {
	switch v := v.(type) {
	case bool:
		if low := strings.ToLower(written); low != "true" && low != "false" {
			return fmt.Sprintf("the boolean %v", v)
		}
	case int64:
		if text := strconv.FormatInt(v, 10); text != strings.TrimPrefix(written, "+") {
			return "the number " + text
		}
	case float64:
		if text := value.FormatFloat(v); text != strings.TrimPrefix(written, "+") && !strings.ContainsAny(written, "eE") {
			return "the number " + text
		}
	}
	return ""
}
