package rule

import (
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var notJSON = Rule{Code: source.NotJSON, Category: Reading, Severity: source.Error, Evidence: HeatRefuses, Template: findNotJSON}

// findNotJSON finds YAML braces around a whole template. The client does not parse nested
// templates, and Heat itself accepts them.
func findNotJSON(l *Checker) {
	file := l.Template.File
	if at, is := yaml.NotJSON(file.Text); is && !l.nested() {
		l.ReportAt(source.Place{File: file, Span: source.Span{Start: uint32(at), End: uint32(min(at+1, len(file.Text)))}},
			"Heat's client reads a template that begins with { as JSON, and this is not valid JSON", "write keys and strings in double quotes, and no comments; or begin with `heat_template_version:` instead of a brace")
	}
}
