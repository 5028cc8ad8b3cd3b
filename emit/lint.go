package emit

import (
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Lint says what is wrong with a template, as Compile would. Where the text is an
// environment file, it says what is wrong with that.
func Lint(o Options, diags *source.Diagnostics) {
	file := o.read(o.files(diags), diags)
	if file == nil {
		return
	}
	o.Text = append([]byte{}, file.Text...)
	var quiet source.Diagnostics // what is wrong is said when the text is read as what it is
	if environment.Is(hot.Parse(file, &quiet)) {
		environment.Read([]*source.File{file}, func(string) string { return "" }, diags)
		return
	}
	Compile(o, diags)
}
