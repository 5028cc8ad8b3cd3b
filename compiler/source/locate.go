package source

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Locate is where a file lies that a template or an environment names, as the real
// client finds it (heatclient/common/template_utils.py: urljoin with the folder of
// the file that names it).
func Locate(name, dir string) (string, error) {
	if strings.Contains(name, "://") {
		u, err := url.Parse(name)
		if err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
			return filepath.FromSlash(u.Path), nil
		}
		return "", &Diagnostic{Code: NotYet, Message: fmt.Sprintf("hotc does not fetch %s", name), Hint: "put the file beside the template"}
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	return filepath.Join(dir, filepath.FromSlash(name)), nil
}
