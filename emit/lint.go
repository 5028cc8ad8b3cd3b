package emit

import (
	"bytes"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Linted is what Lint has read.
type Linted struct {
	// Files are the texts, each once: the file itself, the templates nested in it, environments.
	Files []*source.File
	// Nested are the names of the templates linted with it, which need not be linted again: with
	// their arguments, more is known about them than on their own.
	Nested []string
}

// saysVersion cheaply detects a template: only a top-level key starts at the beginning of a
// line.
func saysVersion(text []byte) bool {
	key := []byte("\nheat_template_version:")
	return bytes.HasPrefix(text, key[1:]) || bytes.Contains(text, key)
}

// Lint reports the same problems of a template as Compile. If the text is an environment file,
// it checks that instead.
func Lint(o Options, diags *source.Diagnostics) Linted {
	files := o.files(diags)
	file := o.read(files, diags)
	if file == nil {
		return Linted{}
	}
	linted := Linted{Files: []*source.File{file}}
	o.Text = file.Text
	var quiet source.Diagnostics // errors are reported when the text is parsed as what it is
	if !saysVersion(file.Text) && environment.Is(yaml.Parse(file, &quiet)) {
		environment.Read([]*source.File{file}, func(string) string { return "" }, diags)
		return linted
	}
	o.Lint = true
	r := analyse(o, files, diags)
	if r == nil {
		return linted
	}
	if !diags.Failed() {
		r.make(o, files, diags)
	}
	seen := map[*hot.Template]bool{r.Program.Template: true}
	r.Program.Root.WalkAll(func(s *program.Stack) {
		if s.StackResource == nil {
			return
		}
		linted.Nested = append(linted.Nested, s.Template.File.Name)
		if !seen[s.Template] {
			seen[s.Template] = true
			linted.Files = append(linted.Files, s.Template.File)
		}
	})
	linted.Files = append(linted.Files, lists.Map(r.Environment.Files, func(e *environment.File) *source.File { return e.Text })...)
	return linted
}
