package source

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Locate is the path of a file that a template or environment refers to, as Heat's
// client resolves it (heatclient/common/template_utils.py: urljoin with the folder of
// the referring file).
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

// IsRemote reports whether a file's name is a URL, which Heat's client fetches but hotc
// does not.
func IsRemote(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && (scheme == "http" || scheme == "https" || scheme == "ftp")
}

// NotFetched reports that a file is not checked.
func (l *Diagnostics) NotFetched(at Place, name string) {
	l.Add(&Diagnostic{Code: NotYet, Severity: Info, At: at, Message: fmt.Sprintf("Heat's client fetches %s; hotc does not, and cannot check it", name),
		Hint: "put the file beside the template to have hotc check it"})
}
