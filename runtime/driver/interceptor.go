package driver

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
