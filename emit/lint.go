package emit

import (
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Lint says what is wrong with a template, as Compile would. Where the text is an
// environment file, it says what is wrong with that. It returns the templates that were
// looked at with it, which need not be looked at again: with what they are given, they
// mean more than by themselves.
func Lint(o Options, diags *source.Diagnostics) (nested []string) {
	files := o.files(diags)
	file := o.read(files, diags)
	if file == nil {
		return nil
	}
	o.Text = append([]byte{}, file.Text...)
	var quiet source.Diagnostics // what is wrong is said when the text is read as what it is
	if environment.Is(yaml.Parse(file, &quiet)) {
		environment.Read([]*source.File{file}, func(string) string { return "" }, diags)
		return nil
	}
	o.Lint = true
	r := analyse(o, files, diags)
	if r == nil {
		return nil
	}
	if !diags.Failed() {
		r.make(o, files, diags)
	}
	r.Program.Root.Walk(func(s *program.Stack) {
		if s.Nest != nil {
			nested = append(nested, s.Template.File.Name)
		}
	})
	return nested
}
