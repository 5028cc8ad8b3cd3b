package roles

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/hot/filetemplate"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// fileOptions are the keys of a file's detailed form.
var fileOptions = []string{"template", "owner", "group", "mode"}

var modeForm = regexp.MustCompile(`^0?[0-7]{3,4}$`)

// files reads the files that the agent renders before the role runs.
func (l *lowering) files(role *program.Role, n *yaml.Node) {
	for _, e := range n.All() {
		f := &program.RoleFile{Path: e.Name, At: l.template.Place(e.Key)}
		if why := wrongPath(f.Path); why != "" {
			l.diags.Error(source.BadFile, f.At, fmt.Sprintf("the path of file %q %s", f.Path, why), "use an absolute path, or one inside the role's folder")
			continue
		}
		text, ok := e.Value, true
		if isMapOf(text, "template", fileOptions) {
			ok = l.fileSettings(f, text)
			text = text.Get("template")
		}
		if l.fileTemplate(role, f, text) && ok {
			role.Files = append(role.Files, f)
		}
	}
}

func wrongPath(p string) string {
	switch {
	case strings.ContainsRune(p, 0):
		return "contains a NUL byte"
	case strings.HasSuffix(p, "/"):
		return "names a folder"
	case path.Clean(p) != p:
		return "must be written as " + path.Clean(p)
	case p == "." || p == ".." || strings.HasPrefix(p, "../"):
		return "is outside the role's folder"
	}
	return ""
}

// fileSettings reads owner, group and mode. A mode must be a string, as YAML reads 0644 as
// 420.
func (l *lowering) fileSettings(f *program.RoleFile, n *yaml.Node) bool {
	ok := true
	for _, setting := range []struct {
		key  string
		into *string
	}{{"owner", &f.Owner}, {"group", &f.Group}, {"mode", &f.Mode}} {
		key := setting.key
		v := n.Get(key)
		if v == nil {
			continue
		}
		text, is := v.Value.(string)
		hint := "the name of a user or group on the server, or a quoted number"
		if key == "mode" {
			is, hint = is && modeForm.MatchString(text), `quoted octal digits: "0640"`
		}
		if !is || text == "" || strings.ContainsAny(text, ":\n\x00") {
			l.diags.Error(source.BadFile, l.template.Place(v), fmt.Sprintf("the %s of file %q cannot be %s", key, f.Path, shown(v)), hint)
			ok = false
			continue
		}
		*setting.into = text
	}
	return ok
}

func (l *lowering) fileTemplate(role *program.Role, f *program.RoleFile, n *yaml.Node) bool {
	at := l.template.Place(n)
	e, err := hot.Fold(l.template.Expr(n), l.given.Resolve)
	if err != nil {
		hot.Report(l.diags, source.BadFile, at, err)
		return false
	}
	text, isText := e.Value.(string)
	switch {
	case !e.IsValue():
		l.diags.Error(source.BadFile, at, fmt.Sprintf("the template of file %q must be known when compiling", f.Path),
			"set the parameters that it uses with -P or -e; read what is known later from an input of the role: {{ .NAME }}")
		return false
	case !isText:
		l.diags.Error(source.BadFile, at, fmt.Sprintf("the template of file %q must be a string, not %s", f.Path, value.TypeName(e.Value)), "`{get_file: app.conf.tmpl}`, or the text itself")
		return false
	}
	places := driver.TextAt(at, fileIn(l.template, n), text, "template")
	inputs := lists.Map(role.Inputs, func(in *program.Input) string { return in.Name })
	parsed, err := filetemplate.Parse(text, inputs)
	var wrong *filetemplate.Error
	if errors.As(err, &wrong) {
		code := source.BadFile
		if wrong.Undeclared {
			code = source.NotDeclared
		}
		from := uint32(wrong.Offset)
		l.diags.Error(code, places.Place(from, from+1), fmt.Sprintf("the template of file %q: %s", f.Path, wrong.Message), wrong.Hint).Note(f.At, fmt.Sprintf("the file of role %q", role.Name))
		return false
	}
	if err != nil {
		l.diags.Error(source.BadFile, at, fmt.Sprintf("the template of file %q: %v", f.Path, err), "")
		return false
	}
	f.Template = driver.NewFile(places.Name, []byte(text))
	f.Steps = fileSteps(parsed.Steps(), places)
	return true
}

func fileSteps(list []filetemplate.Step, places driver.Text) []program.Step {
	return lists.Map(list, func(s filetemplate.Step) program.Step {
		step := program.Step{Op: program.ReadInput, Name: s.Input, At: places.Place(uint32(s.Offset), uint32(s.Offset)+1)}
		switch {
		case s.Any:
			step.Op = program.ReadAny
		case s.Input == "":
			step.Op = program.Fork
			step.Ways = lists.Map(s.Ways, func(way []filetemplate.Step) []program.Step { return fileSteps(way, places) })
		}
		return step
	})
}
