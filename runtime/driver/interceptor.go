package driver

import (
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
