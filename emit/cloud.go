package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Cloud is what the user states about the cloud's Heat.
type Cloud struct {
	Heat  string   // release; "" is Debian's
	Types []string // files and folders that describe the cloud's own types
}

// Limits on reading a cloud's types.
const (
	mostTypeFiles = 5000
	mostTypeBytes = 64 << 20
)

// Catalogue returns the cloud's resource types; nil if the user states nothing about it.
func (c Cloud) Catalogue(diags *source.Diagnostics) *resourcetype.Catalogue {
	var out *resourcetype.Catalogue
	if c.Heat != "" {
		var known bool
		if out, known = resourcetype.Of(c.Heat); !known {
			diags.Add(source.Fail(source.Usage, fmt.Sprintf("unknown release of Heat: %q", c.Heat), "known releases: "+resourcetype.Releases()))
			return nil
		}
	}
	var own []*resourcetype.Type
	left := mostTypeBytes
	for _, name := range c.Types {
		files, err := typeFiles(name)
		if err != nil {
			diags.Add(CannotRead(name, err))
		}
		for _, path := range files {
			text, err := Machine{}.Read(path)
			if left -= len(text); err == nil && left < 0 {
				err = fmt.Errorf("there are more than %d bytes of types, which is all that hotc reads", mostTypeBytes)
			}
			if err != nil {
				diags.Add(CannotRead(path, err))
				return nil
			}
			own = append(own, resourcetype.Own(source.NewFile(path, text), diags)...)
		}
	}
	if diags.Failed() || len(own) == 0 {
		return out
	}
	return out.With(own)
}

// typeFiles returns the files of a name: itself, or those in the folder.
func typeFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) && !e.IsDir() {
			out = append(out, filepath.Join(name, e.Name()))
		}
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("no file in it is called *.json or *.yaml")
	case len(out) > mostTypeFiles:
		return nil, fmt.Errorf("it has more than %d files of types", mostTypeFiles)
	}
	return out, nil
}
