package emit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Folder is an output folder: contents by slash-separated path.
type Folder map[string][]byte

// ManifestFile lists what hotc wrote, with digests, so that a later compilation replaces only
// hotc's own files.
const ManifestFile = "hotc/manifest.json"

// Write replaces dir by the folder, whole or not at all. A folder of an earlier compilation is
// replaced if nothing in it was added or changed since; any other non-empty folder is refused.
func (f Folder) Write(dir string) error {
	dir = filepath.Clean(dir)
	if err := checkReplaceable(dir); err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return folderError(dir, err)
	}
	fresh, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".new-")
	if err != nil {
		return folderError(dir, err)
	}
	defer os.RemoveAll(fresh)
	if err := f.fill(fresh); err != nil {
		return folderError(dir, err)
	}
	return swap(fresh, dir)
}

func (f Folder) fill(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	manifest := map[string]string{}
	for name, text := range f {
		manifest[name] = contract.Digest(text)
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(manifest, "", " ") // keys are sorted
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, ManifestFile), append(text, '\n'))
}

func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// swap replaces dir by fresh with two renames; if the second fails, the first is undone.
func swap(fresh, dir string) error {
	old := fresh + ".old"
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return folderError(dir, err)
	}
	had := err == nil
	if err := os.Rename(fresh, dir); err != nil {
		if had {
			err = errors.Join(err, os.Rename(old, dir))
		}
		return folderError(dir, err)
	}
	if had {
		if err := os.RemoveAll(old); err != nil {
			return folderError(dir, err)
		}
	}
	return nil
}

// checkReplaceable refuses a folder if replacing it would lose something.
func checkReplaceable(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return folderError(dir, err)
	}
	if !info.IsDir() {
		return source.Fail(source.OutputFolder, dir+" exists and is not a folder", "name another folder with -o")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return folderError(dir, err)
	}
	if len(entries) == 0 {
		return nil
	}
	var manifest map[string]string
	text, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil || json.Unmarshal(text, &manifest) != nil {
		return source.Fail(source.OutputFolder, dir+" has files that hotc did not write; it does not replace them", "name a new folder with -o")
	}
	if lost := notMine(dir, manifest); len(lost) > 0 {
		return source.Fail(source.OutputFolder, fmt.Sprintf("%s was added or changed in %s since it was compiled and would be lost", strings.Join(lost, ", "), dir),
			"move it away, or name another folder with -o")
	}
	return nil
}

// notMine lists files of a folder that differ from the manifest.
func notMine(dir string, manifest map[string]string) []string {
	var lost []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if name == ManifestFile {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !entry.Type().IsRegular() || manifest[name] != contract.Digest(text) {
			lost = append(lost, name)
		}
		return nil
	})
	if err != nil {
		lost = append(lost, err.Error())
	}
	sort.Strings(lost)
	return lost
}

func folderError(dir string, err error) error {
	return source.Fail(source.OutputFolder, fmt.Sprintf("cannot write %s: %v", dir, source.Bare(err)), "")
}
