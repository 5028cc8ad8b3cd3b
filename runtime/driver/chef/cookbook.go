package chef

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// maxMetadata bounds a cookbook's metadata, in bytes.
const maxMetadata = 1 << 20

// isCookbook reports whether a folder has a cookbook's metadata.
func isCookbook(folder string) bool {
	for _, name := range []string{"metadata.rb", "metadata.json"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

var (
	// nameLine matches the cookbook's name in metadata.rb.
	nameLine = regexp.MustCompile(`(?m)^[ \t]*name[ \t(]+["']([^"'\n]*)["']`)
	// nameForm matches a cookbook's name: never a path.
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// cookbookName is the literal name in a cookbook's metadata, or otherwise that of its
// folder.
func cookbookName(folder string) (string, error) {
	name := filepath.Base(folder)
	if text, err := readMetadata(filepath.Join(folder, "metadata.json")); err == nil {
		var metadata struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(text, &metadata); err != nil {
			return "", fmt.Errorf("the metadata.json of the cookbook %s is not valid JSON: %w", name, err)
		}
		if metadata.Name != "" {
			name = metadata.Name
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	} else if text, err := readMetadata(filepath.Join(folder, "metadata.rb")); err != nil {
		return "", err
	} else if m := nameLine.FindSubmatch(text); m != nil {
		name = string(m[1])
	}
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("%q is not a valid cookbook name", name)
	}
	return name, nil
}

func readMetadata(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxMetadata {
		return nil, fmt.Errorf("%s is larger than %d bytes", filepath.Base(path), maxMetadata)
	}
	return os.ReadFile(path)
}
