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

// Unpack writes an interceptor, which the agent has embedded, into a folder; others
// than the agent's user cannot read it.
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

// pythonSecrets is a module for interceptors in Python, which keeps secrets out of what
// a tool prints.
//
//go:embed hidden.py
var pythonSecrets []byte

// WritePython writes an interceptor in Python, the folder python of what a driver has
// embedded, into a folder; beside it the modules hotc_client, the client of a role's
// socket, and hotc_hidden.
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

// Declared is an input or an output of a role, as an interceptor is told of it.
type Declared struct {
	Name     string        `json:"name"`
	Path     []string      `json:"path,omitempty"` // where the tool has it: a variable, an attribute
	Type     contract.Type `json:"type,omitempty"`
	Resource string        `json:"resource,omitempty"` // of an output that says when something was applied
	Secret   bool          `json:"secret,omitempty"`
	Optional bool          `json:"optional,omitempty"`
}

// Declare is what a role declares. in and out say where the tool has an input or an output;
// nil is nowhere.
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

// WriteConfig writes what an interceptor is told, as JSON; others than the agent's user
// cannot read it.
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

// WritePrivate writes a file, and makes its folder, for the agent's user alone.
func WritePrivate(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
