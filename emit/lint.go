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

// Linted is what Lint has looked at.
type Linted struct {
	// Files are the texts, each once: the file itself, those nested in it, environments.
	Files []*source.File
	// Nested are the names of the templates that were looked at with it, which need not be
	// looked at again: with what they are given, they mean more than by themselves.
	Nested []string
}

// saysVersion says at a glance that a text is a template: at the beginning of a line nothing
// but a key of the whole text can stand.
func saysVersion(text []byte) bool {
	key := []byte("\nheat_template_version:")
	return bytes.HasPrefix(text, key[1:]) || bytes.Contains(text, key)
}

// Lint says what is wrong with a template, as Compile would. Where the text is an
// environment file, it says what is wrong with that.
func Lint(o Options, diags *source.Diagnostics) Linted {
	files := o.files(diags)
	file := o.read(files, diags)
	if file == nil {
		return Linted{}
	}
	linted := Linted{Files: []*source.File{file}}
	o.Text = file.Text
	var quiet source.Diagnostics // what is wrong is said when the text is read as what it is
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
