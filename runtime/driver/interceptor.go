package driver

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Unpack writes an embedded interceptor into a folder, readable only by the agent's user.
func Unpack(interceptor fs.FS, folder string) error {
	return fs.WalkDir(interceptor, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(path, 0o700)
		}
		text, err := fs.ReadFile(interceptor, name)
		if err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o600)
	})
}

// pythonSecrets is a module for interceptors in Python, which masks secrets in a tool's
// output.
//
//go:embed hidden.py
var pythonSecrets []byte

// WritePython writes an interceptor in Python, the folder python of embedded, into a
// folder, with the modules hotc_client, the client of a role's socket, and hotc_hidden.
func WritePython(embedded fs.FS, client []byte, folder string) error {
	interceptor, err := fs.Sub(embedded, "python")
	if err == nil {
		err = Unpack(interceptor, folder)
	}
	if err == nil {
		err = WritePrivate(filepath.Join(folder, "hotc_client.py"), client)
	}
	if err == nil {
		err = WritePrivate(filepath.Join(folder, "hotc_hidden.py"), pythonSecrets)
	}
	if err != nil {
		return fmt.Errorf("write the interceptor: %w", err)
	}
	return nil
}

// Declared is an input or an output of a role, for an interceptor.
type Declared struct {
	Name     string        `json:"name"`
	Path     []string      `json:"path,omitempty"` // its place in the tool: a variable, an attribute
	Type     contract.Type `json:"type,omitempty"`
	Resource string        `json:"resource,omitempty"` // of an output that reports a resource's completion
	Secret   bool          `json:"secret,omitempty"`
	Optional bool          `json:"optional,omitempty"`
}

// Declare returns what a role declares. in and out return the place of an input or an output
// in the tool; nil is none.
func Declare(r contract.Role, in, out func(name string) []string) (inputs, outputs []Declared) {
	inputs, outputs = []Declared{}, []Declared{}
	for _, i := range r.Inputs {
		d := Declared{Name: i.Name, Type: i.Type, Secret: i.Secret, Optional: i.Optional}
		if in != nil {
			d.Path = in(i.Name)
		}
		inputs = append(inputs, d)
	}
	for _, o := range r.Outputs {
		d := Declared{Name: o.Name, Type: o.Type, Resource: o.Resource, Secret: o.Secret}
		if out != nil && o.Resource == "" {
			d.Path = out(o.Name)
		}
		outputs = append(outputs, d)
	}
	return inputs, outputs
}

// WriteConfig writes an interceptor's configuration as JSON, readable only by the agent's
// user.
func WriteConfig(path string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = WritePrivate(path, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// WritePrivate writes a file, and creates its folder, readable only by the agent's user.
func WritePrivate(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
