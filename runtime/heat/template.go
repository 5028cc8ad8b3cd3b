package heat

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/coordinator"
)

// Template is a template with all that it names, as python-heatclient sends it: parsed, its
// get_file and nested types under URLs of the files, whose texts go along; environments as
// files, for the engine to merge in their order.
type Template struct {
	folder       string // the URL of the template's
	template     json.RawMessage
	files        map[string]string
	environments []string
}

// StackOptions go along with a template.
type StackOptions struct {
	// Parameters are values that Heat shows to nobody where they are hidden; Defaults are for
	// nested templates, too. Values of environments take their place.
	Parameters, Defaults map[string]json.RawMessage
	// Given are values that take the place of environments'. The project's users can read them.
	Given map[string]json.RawMessage
	// Tags are the stack's from then on.
	Tags []string
	// TimeoutMinutes bounds the action, whatever that is; 0 is Heat's own.
	TimeoutMinutes int
}

// givenFile is the name of the environment that holds StackOptions.Given.
const givenFile = "hotc:given"

// body is a request's, without the stack's name.
func (t *Template) body(o StackOptions) map[string]any {
	files, names := t.files, t.environments
	if len(o.Given) > 0 {
		files = make(map[string]string, len(t.files)+1)
		for name, text := range t.files {
			files[name] = text
		}
		text, _ := coordinator.Encode(map[string]any{"parameters": o.Given}) // what json.RawMessage holds is JSON
		files[givenFile] = string(text) + "\n"
		names = append(names[:len(names):len(names)], givenFile)
	}
	body := map[string]any{
		"template":         t.template,
		"files":            files,
		"environment":      map[string]any{"parameters": values(o.Parameters), "parameter_defaults": values(o.Defaults)},
		"parameters":       values(o.Parameters),
		"disable_rollback": true,
	}
	if len(names) > 0 {
		body["environment_files"] = names
	}
	if len(o.Tags) > 0 {
		body["tags"] = strings.Join(o.Tags, ",")
	}
	if o.TimeoutMinutes > 0 {
		body["timeout_mins"] = o.TimeoutMinutes
	}
	return body
}

// Digest tells apart what Heat is asked for: the same template, files and options have the
// same, wherever their folder lies. Who has not the key learns nothing of secrets by it.
func (t *Template) Digest(key []byte, o StackOptions) (string, error) {
	o.TimeoutMinutes = 0 // another one is nothing else
	text, err := coordinator.Encode(t.body(o))
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write(append(bytes.ReplaceAll(text, []byte(t.folder+"/"), []byte("file:///")), '\n'))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// JSON is the template itself.
func (t *Template) JSON() json.RawMessage { return t.template }

// Nested is the template that a type's URL names, as JSON; not ok where it names none that goes
// along.
func (t *Template) Nested(address string) (text json.RawMessage, ok bool) {
	file, ok := t.files[address]
	return json.RawMessage(file), ok && json.Valid([]byte(file))
}

func values(v map[string]json.RawMessage) map[string]json.RawMessage {
	if v == nil {
		return map[string]json.RawMessage{}
	}
	return v
}

// ReadTemplate reads a template and environments with all files that they name.
func ReadTemplate(ctx context.Context, path string, environments ...string) (*Template, error) {
	r := &reader{ctx: ctx, files: map[string]string{}}
	root, err := r.parse(path, nil)
	if err != nil {
		return nil, err
	}
	if err := r.resolve(root, filepath.Dir(path)); err != nil {
		return nil, err
	}
	folder, err := fileURL(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	t := &Template{folder: folder, template: value.EncodeJSON(root.Data()), files: r.files}
	for _, name := range environments {
		at, err := r.environment(name)
		if err != nil {
			return nil, err
		}
		t.environments = append(t.environments, at)
	}
	return t, nil
}

// reader collects the files of a template.
type reader struct {
	ctx   context.Context
	files map[string]string // by URL
}

// parse reads a text as Heat reads it; nil is a file's.
func (r *reader) parse(path string, text []byte) (*yaml.Node, error) {
	if text == nil {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, source.Fail(source.CannotRead, err.Error(), "")
		}
	}
	var diags source.Diagnostics
	root := yaml.Parse(source.NewFile(path, text), &diags)
	if err := firstOf(&diags); err != nil {
		return nil, err
	}
	if root == nil {
		return nil, source.Fail(source.NotATemplate, path+" is empty", "")
	}
	return root, nil
}

// firstOf is the first error; nil is none.
func firstOf(diags *source.Diagnostics) error {
	for _, d := range diags.All() {
		if d.Severity == source.Error {
			return d
		}
	}
	return nil
}

// resolve gives the files that stand anywhere below a node their URLs, and takes them along
// (heatclient/common/template_utils.py: get_file_contents).
func (r *reader) resolve(n *yaml.Node, dir string) error {
	for _, x := range n.Items {
		if err := r.resolve(x, dir); err != nil {
			return err
		}
	}
	for i := range n.Entries {
		e := &n.Entries[i]
		name, is := e.Value.Text()
		if is && (e.Name == "get_file" || e.Name == "type" && environment.IsTemplate(name)) {
			at, err := r.take(name, dir)
			if err != nil {
				return err
			}
			e.Value = &yaml.Node{Kind: yaml.Scalar, Value: at}
		} else if err := r.resolve(e.Value, dir); err != nil {
			return err
		}
	}
	return nil
}

// take takes a file along and returns its URL.
func (r *reader) take(name, dir string) (at string, err error) {
	var text []byte
	var path string
	if source.IsRemote(name) {
		if at = name; r.files[at] == "" {
			if text, err = r.fetch(name); err != nil {
				err = source.Fail(source.CannotRead, fmt.Sprintf("%s cannot be fetched: %v", name, err), "")
			}
		}
	} else {
		if path, err = source.Locate(name, dir); err != nil {
			return "", err
		}
		if at, err = fileURL(path); err != nil {
			return "", err
		}
		if _, has := r.files[at]; has {
			return at, nil
		}
		if text, err = os.ReadFile(path); err != nil {
			err = source.Fail(source.CannotRead, err.Error(), "")
		}
	}
	if err != nil {
		return "", err
	}
	if _, has := r.files[at]; has {
		return at, nil
	}
	if !utf8.Valid(text) {
		r.files[at] = wrapped(text)
		return at, nil
	}
	r.files[at] = string(text) // before what it names: a template that names itself ends here
	root, err := r.parse(name, text)
	if err != nil {
		return at, nil // no template, so as it is
	}
	if key, _ := hot.VersionKey(root); key == nil {
		return at, nil
	}
	if path != "" {
		if err := r.resolve(root, filepath.Dir(path)); err != nil {
			return "", err
		}
	}
	r.files[at] = string(value.EncodeJSON(root.Data()))
	return at, nil
}

// wrapped is what the client makes of a file that is not a text: base64 in lines.
func wrapped(data []byte) string {
	var b strings.Builder
	const line = 57 // bytes, which are 76 characters
	for part := range slices.Chunk(data, line) {
		b.WriteString(base64.StdEncoding.EncodeToString(part) + "\n")
	}
	return b.String()
}

// environment takes an environment file along, with what its registry names.
func (r *reader) environment(path string) (at string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", source.Fail(source.CannotRead, err.Error(), "")
	}
	var diags source.Diagnostics
	read := environment.Read([]*source.File{source.NewFile(path, text)}, func(string) string { return "" }, &diags)
	if err := firstOf(&diags); err != nil {
		return "", err
	}
	if at, err = fileURL(path); err != nil {
		return "", err
	}
	for _, f := range read.Files {
		for _, named := range f.Named {
			where, err := r.take(named.Path, "")
			if err != nil {
				return "", err
			}
			*named.Node = yaml.Node{Kind: yaml.Scalar, Value: where}
		}
		if r.files[at] = "{}"; !f.Root.IsNull() {
			r.files[at] = string(value.EncodeJSON(f.Root.Data()))
		}
	}
	return at, nil
}

// fileURL is a file's name as the client gives it to Heat.
func fileURL(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", source.Fail(source.CannotRead, err.Error(), "")
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(whole)}).String(), nil
}

// maxFetched is what a file from elsewhere may have: Heat takes no larger request.
const maxFetched = 8 << 20

func (r *reader) fetch(address string) ([]byte, error) {
	within, stop := context.WithTimeout(r.ctx, readTime)
	defer stop()
	request, err := http.NewRequestWithContext(within, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxFetched+1))
	switch {
	case response.StatusCode != http.StatusOK:
		err = fmt.Errorf("%s", response.Status)
	case err == nil && len(text) > maxFetched:
		err = fmt.Errorf("more than %d bytes", maxFetched)
	}
	return text, err
}
