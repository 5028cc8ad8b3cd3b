package emit

import (
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Lint says what is wrong with a template, as Compile would. Where the text is an
// environment file, it says what is wrong with that. It returns the templates that were
// looked at with it, which need not be looked at again: with what they are given, they
// mean more than by themselves. There are none if there was an error.
func Lint(o Options, diags *source.Diagnostics) (nested []string) {
	file := o.read(o.files(diags), diags)
	if file == nil {
		return nil
	}
	o.Text = append([]byte{}, file.Text...)
	var quiet source.Diagnostics // what is wrong is said when the text is read as what it is
	if environment.Is(hot.Parse(file, &quiet)) {
		environment.Read([]*source.File{file}, func(string) string { return "" }, diags)
		return nil
	}
	r := Compile(o, diags)
	if r == nil {
		return nil
	}
	r.Program.Root.Walk(func(s *program.Stack) {
		if s.Nest != nil {
			nested = append(nested, s.Template.File.Name)
		}
	})
	return nested
}
