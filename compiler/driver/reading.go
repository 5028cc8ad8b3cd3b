package driver

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Reading is the state of reading one role's source: its errors, and what the driver's
// run-time half will get. Drivers embed it.
type Reading struct {
	Role   Role
	Diags  *source.Diagnostics
	Out    *value.Dict // for the run-time half
	Files  []program.File
	Failed bool
	// Starts are the inputs that are read before the tool starts: ssh keys of repositories.
	Starts []string
}

// NewReading begins to read a role's source.
func NewReading(role Role, diags *source.Diagnostics) Reading {
	return Reading{Role: role, Diags: diags, Out: value.NewDict()}
}

// Form describes a driver's sources.
type Form struct {
	Driver string
	Needs  string   // for a role without a source
	Takes  string   // the types of a source
	Keys   []string // of a source that is a map
	Hint   string
}

// Open passes an inline source to text, and a map to keys; either is nil if the driver does not
// take that form.
func (r *Reading) Open(form *Form, text func(string), keys func(*value.Dict)) {
	switch src := r.Role.Source.(type) {
	case nil:
		r.WrongAt(r.Role.At, form.Hint, "role %q has no source: the %s driver needs %s", r.Role.Name, form.Driver, form.Needs)
		return
	case string:
		switch {
		case text == nil:
		case r.Role.namesFile(src):
			r.Wrong(nil, fmt.Sprintf("write {get_file: %s}", src), "the source of role %q is this string itself, not the file of that name", r.Role.Name)
			return
		default:
			text(src)
			return
		}
	case *value.Dict:
		if keys == nil {
			break
		}
		for _, key := range src.Keys() {
			if !slices.Contains(form.Keys, key) {
				r.Wrong([]string{key}, KeyHint(key, form.Keys), "the source of role %q has a key %q, which is unknown to the %s driver", r.Role.Name, key, form.Driver)
			}
		}
		keys(src)
		return
	}
	r.Wrong(nil, form.Hint, "the source of role %q must be %s, not %s", r.Role.Name, form.Takes, value.TypeName(r.Role.Source))
}

// Wrong reports an error in the part of the source under the given keys.
func (r *Reading) Wrong(keys []string, hint, format string, args ...any) {
	r.WrongAt(r.Role.Locate(keys...), hint, format, args...)
}

// WrongAt reports an error at a place.
func (r *Reading) WrongAt(at source.Place, hint, format string, args ...any) *source.Diagnostic {
	r.Failed = true
	return r.Diags.Error(source.BadSource, at, fmt.Sprintf(format, args...), hint)
}

// WrongName reports an invalid name of an input or output.
func (r *Reading) WrongName(what, name string, at source.Place, why, hint string) {
	r.Failed = true
	r.Diags.Error(source.BadMetadata, at, fmt.Sprintf("%s %q of role %q: %s", what, name, r.Role.Name, why), hint)
}

// Tree packs the tree of files under the given keys of the source; nil, with a
// diagnostic, if it is invalid.
func (r *Reading) Tree(v value.Value, keys ...string) *Origin {
	origin := r.Role.Origin(v, r.Diags, keys...)
	if origin == nil {
		r.Failed = true
		return nil
	}
	for _, file := range origin.Files {
		if !slices.ContainsFunc(r.Files, func(f program.File) bool { return f.Digest == file.Digest }) {
			r.Files = append(r.Files, file)
		}
	}
	if key := origin.Key; key != "" && !slices.Contains(r.Starts, key) {
		r.Starts = append(r.Starts, key)
	}
	return origin
}

// Trees packs one tree or a list of trees, and passes each to see.
func (r *Reading) Trees(key string, v value.Value, see func(value.Value)) {
	var all []value.Value
	for _, x := range OneOrMore(v) {
		if origin := r.Tree(x, key); origin != nil {
			all = append(all, origin.Value)
			see(x)
		}
	}
	r.Out.Set(key, all)
}

// OneOrMore returns the items of a list, or a single value as a list.
func OneOrMore(v value.Value) []value.Value {
	if list, is := v.([]value.Value); is {
		return list
	}
	return []value.Value{v}
}

// SetTexts sets a list of strings for the run-time half.
func (r *Reading) SetTexts(key string, texts []string) { r.Out.Set(key, value.Texts(texts)) }

// SetText packs a text as a file, and sets its digest under a key of its own.
func (r *Reading) SetText(key, digest, file, name, text string) {
	sent := NewFile(file, []byte(text))
	r.Files = append(r.Files, sent)
	r.Out.Set(key, value.DictOf([]string{digest, "name"}, []value.Value{sent.Digest, name}))
}

// Start returns the reads that happen before the tool starts.
func (r *Reading) Start() []program.Step {
	return lists.Map(r.Starts, func(name string) program.Step {
		return program.Step{Op: program.ReadInput, Name: name, At: r.Role.Input(name).At}
	})
}

// Shown returns the path of a file beside the template, relative to the same folder as
// the template's own path.
func (r Role) Shown(name string) string { return shown(r.SourceAt, name) }

func shown(at source.Place, name string) string {
	if at.File == nil || path.IsAbs(name) || strings.Contains(name, "://") {
		return name
	}
	return path.Join(path.Dir(at.File.Name), name)
}
