package heat

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Template is a template with all files that it references, as python-heatclient sends it: parsed,
// with get_file and nested types as URLs of the files, whose contents are included; environments as
// files, for the engine to merge in order. Only the URLs differ: they begin at the template's folder,
// so that they are the same in every run, wherever that folder is. Heat compares them, and keeps
// them in the definitions of a group's members.
type Template struct {
	template     json.RawMessage
	files        map[string]string
	environments []string
}

// StackOptions are sent with a template.
type StackOptions struct {
	// Parameters are values that Heat does not show if they are hidden; Defaults are for nested
	// templates, too. Values of environments override both.
	Parameters, Defaults map[string]json.RawMessage
	// Given are values that override environments'. The project's users can read them.
	Given map[string]json.RawMessage
	// Tags replace the stack's.
	Tags []string
	// TimeoutMinutes bounds the action; 0 is Heat's default.
	TimeoutMinutes int
	// Kept are more files, which only the stack's present members refer to.
	Kept map[string]string
}

// givenFile is the name of the environment that holds StackOptions.Given.
const givenFile = "hotc:given"

// body is the body of a request, without the stack's name.
func (t *Template) body(o StackOptions) map[string]any {
	files, names := maps.Clone(o.Kept), t.environments
	if files == nil {
		files = map[string]string{}
	}
	maps.Copy(files, t.files)
	if len(o.Given) > 0 {
		text, _ := protocol.Encode(map[string]any{"parameters": o.Given}) // what json.RawMessage holds is JSON
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

// Digest identifies a request: the same template, files and options have the same digest, wherever
// their folder is. Without the key it reveals nothing about secrets.
func (t *Template) Digest(key []byte, o StackOptions) (string, error) {
	o.TimeoutMinutes, o.Kept = 0, nil // not part of the content
	text, err := protocol.Encode(t.body(o))
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write(append(text, '\n'))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// JSON is the template itself.
func (t *Template) JSON() json.RawMessage { return t.template }

// Has reports whether a file is among those that the template references.
func (t *Template) Has(address string) bool {
	_, has := t.files[address]
	return has
}

// Nested is the template at a type's URL, as JSON; ok is false if it is not among the files.
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

// ReadTemplate reads a template and environments with all files that they reference.
func ReadTemplate(ctx context.Context, path string, environments ...string) (*Template, error) {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, source.Fail(source.CannotRead, err.Error(), "")
	}
	r := &reader{ctx: ctx, folder: folder, files: map[string]string{}}
	root, err := r.parse(path, nil)
	if err != nil {
		return nil, err
	}
	if err := r.resolve(root, folder); err != nil {
		return nil, err
	}
	t := &Template{template: value.EncodeJSON(root.Data()), files: r.files}
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
	ctx    context.Context
	folder string            // of the template
	files  map[string]string // by URL
}

// parse parses a text as Heat does; if nil, that of a file.
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

// firstOf is the first error, or nil.
func firstOf(diags *source.Diagnostics) error {
	for _, d := range diags.All() {
		if d.Severity == source.Error {
			return d
		}
	}
	return nil
}

// resolve replaces the files referenced anywhere below a node by their URLs, and adds them
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

// take adds a file and returns its URL.
func (r *reader) take(name, dir string) (at string, err error) {
	if _, has := r.files[name]; has { // an alias's, which was replaced already, or a remote one
		return name, nil
	}
	var text []byte
	var path string
	if source.IsRemote(name) {
		at = name
		if text, err = r.fetch(name); err != nil {
			err = source.Fail(source.CannotRead, fmt.Sprintf("%s cannot be fetched: %v", name, err), "")
		}
	} else {
		if path, err = source.Locate(name, dir); err != nil {
			return "", err
		}
		if at, err = r.url(path); err != nil {
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
	if !utf8.Valid(text) {
		r.files[at] = wrapped(text)
		return at, nil
	}
	r.files[at] = string(text) // before its references: a template may reference itself
	root, err := r.parse(name, text)
	if err != nil {
		return at, nil // not a template: sent unchanged
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

// wrapped is a binary file as the client sends it: base64 in lines.
func wrapped(data []byte) string {
	var b strings.Builder
	const line = 57 // bytes, which are 76 characters
	for part := range slices.Chunk(data, line) {
		b.WriteString(base64.StdEncoding.EncodeToString(part) + "\n")
	}
	return b.String()
}

// environment adds an environment file, with the files that its registry references.
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
	if at, err = r.url(path); err != nil {
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

// url is a file's name for Heat.
func (r *reader) url(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err == nil {
		whole, err = filepath.Rel(r.folder, whole)
	}
	if err != nil {
		return "", source.Fail(source.CannotRead, err.Error(), "")
	}
	return (&url.URL{Scheme: "file", Path: "/" + filepath.ToSlash(whole)}).String(), nil
}

// maxFetched bounds a remote file: Heat does not accept larger requests.
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
