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

// IsRemote says whether a file's name is an address, which the real client fetches and
// hotc does not.
func IsRemote(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && (scheme == "http" || scheme == "https" || scheme == "ftp")
}

// NotFetched notes that a file is not looked into.
func (l *Diagnostics) NotFetched(at Place, name string) {
	l.Add(&Diagnostic{Code: NotYet, Severity: Info, At: at, Message: fmt.Sprintf("Heat's client fetches %s; hotc does not, and says nothing of what is in it", name),
		Hint: "put the file beside the template if hotc is to look into it"})
}
