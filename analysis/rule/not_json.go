package rule

import (
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var notJSON = Rule{Code: source.NotJSON, Category: Reading, Severity: source.Error, Truth: HeatRefuses, Template: findNotJSON}

// findNotJSON finds braces of YAML around a whole template. One that is nested is not the
// client's to read, and Heat itself takes it.
func findNotJSON(l *Look) {
	file := l.Template.File
	if at, is := yaml.NotJSON(file.Text); is && !l.nested() {
		l.FoundAt(source.Place{File: file, Span: source.Span{Start: uint32(at), End: uint32(min(at+1, len(file.Text)))}},
			"a template that begins with { must be JSON to Heat's client, and here it is not", "write names and texts in double quotes, and no comments; or begin with `heat_template_version:` instead of a brace")
	}
}
