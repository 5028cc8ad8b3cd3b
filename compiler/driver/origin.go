package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Origin is where a tree of files comes from. In a source it is one of
//
//	./cookbooks                                  a folder or an archive beside the template, which travels with the plan
//	{folder: ./cookbooks, path: site}            the same; path selects a part of it
//	{url: https://…, sha256: …, proxy, path}     an archive that the server fetches
//	{git: https://…, branch|tag|commit: …, ssh_key, known_hosts, proxy, path}
//
// Value is passed to the driver's run-time half (runtime/fetch.Origin); Files travel with
// the plan. Key is the input with a repository's ssh key, "" if there is none: it is read
// when the tree is fetched, before the tool starts.
type Origin struct {
	Value value.Value
	Files []program.File
	Key   string
}

// originKeys are the other keys of each form, by the key that identifies the form.
var originKeys = map[string][]string{
	"folder": {"path"},
	"url":    {"sha256", "proxy", "path"},
	"git":    {"branch", "tag", "commit", "ssh_key", "known_hosts", "proxy", "path"},
}

// Origin reads val, the part of a role's source under the given keys, as the origin of a
// tree of files. It returns nil, with a diagnostic, if it is not valid.
func (r Role) Origin(val value.Value, diags *source.Diagnostics, keys ...string) *Origin {
	at := r.Locate(keys...)
	what := strings.Join(append([]string{"source"}, keys...), ".")
	switch val := val.(type) {
	case string:
		return r.local(val, "", at, diags)
	case *value.Dict:
		return r.originMap(val, what, at, diags)
	}
	diags.Error(source.BadSource, at, fmt.Sprintf("%s of role %q must name a folder, or be a map with folder, url or git, not %s", what, r.Name, value.TypeName(val)), "")
	return nil
}

func (r Role) originMap(m *value.Dict, what string, at source.Place, diags *source.Diagnostics) *Origin {
	bad := func(format string, args ...any) *Origin {
		diags.Error(source.BadSource, at, fmt.Sprintf("%s of role %q: ", what, r.Name)+fmt.Sprintf(format, args...), "")
		return nil
	}
	kind := ""
	for _, k := range []string{"folder", "url", "git"} {
		if _, there := m.Get(k); there {
			if kind != "" {
				return bad("%s and %s exclude each other", kind, k)
			}
			kind = k
		}
	}
	if kind == "" {
		return bad("a map needs one of the keys folder, url and git")
	}
	texts := map[string]string{}
	for _, k := range m.Keys() {
		v, _ := m.Get(k)
		text, ok := v.(string)
		switch {
		case k != kind && !slices.Contains(originKeys[kind], k):
			return bad("there is no key %q beside %s", k, kind)
		case k == "ssh_key" && isInputRef(v):
			continue
		case !ok || text == "":
			return bad("%s must be a string, not %s", k, value.TypeName(v))
		}
		texts[k] = text
	}
	if p, given := texts["path"]; given && (path.IsAbs(p) || !fsPath(path.Clean(p))) {
		return bad("path must be relative and stay inside, unlike %q", p)
	}
	var err error
	switch kind {
	case "folder":
		return r.local(texts["folder"], texts["path"], at, diags)
	case "url":
		err = checkURL(texts)
	case "git":
		err = r.checkGit(m, texts)
	}
	if err != nil {
		return bad("%v", err)
	}
	key, _ := m.Get("ssh_key")
	return &Origin{Value: m, Key: inputRef(key)}
}

// local packs a folder or an archive.
func (r Role) local(name, within string, at source.Place, diags *source.Diagnostics) *Origin {
	if strings.Contains(name, "://") && !strings.HasPrefix(name, "file:") {
		diags.Error(source.BadSource, at, fmt.Sprintf("role %q uses the URL %s without a checksum", r.Name, name), "`{url: …, sha256: …}`, or `{git: …, tag: …}`")
		return nil
	}
	packed := OnceBeside(r, name, packing{}, func() packed {
		file, err := r.pack(name)
		return packed{file, err}
	})
	file, err := packed.file, packed.err
	var large *TooLargeError
	switch {
	case errors.As(err, &large):
		diags.Error(source.OverLimit, at, fmt.Sprintf("%s cannot travel with the plan: %v", name, err), LargeHint)
		return nil
	case err != nil:
		if !diags.AddAt(at, err, true) {
			diags.Error(source.BadSource, at, fmt.Sprintf("%s cannot travel with the plan: %v", name, err), "")
		}
		return nil
	}
	val := value.NewDict()
	val.Set("file", file.Digest)
	if within != "" {
		val.Set("path", within)
	}
	return &Origin{Value: val, Files: []program.File{file}}
}

// archiveName matches the names of archives.
var archiveName = regexp.MustCompile(`\.(tar|tar\.gz|tgz|zip)$`)

// Beside opens an origin that is a folder beside the template; nil if the compiler cannot
// read it. The name is as the user wrote it.
func (r Role) Beside(val value.Value) (files fs.FS, name string) {
	within := "."
	switch val := val.(type) {
	case string:
		name = val
	case *value.Dict:
		x, _ := val.Get("folder")
		name, _ = x.(string)
		if x, given := val.Get("path"); given {
			within, _ = x.(string)
		}
	}
	if name == "" || archiveName.MatchString(name) {
		return nil, ""
	}
	files, err := r.Reader.Folder(name)
	if err == nil && path.Clean(within) != "." {
		files, err = fs.Sub(files, path.Clean(within))
	}
	if err != nil {
		return nil, ""
	}
	return files, path.Join(name, within)
}

// packed is a folder or an archive ready to travel, or why it cannot.
type packed struct {
	file program.File
	err  error
}

type packing struct{} // memory key of packed

func (r Role) pack(name string) (program.File, error) {
	if archiveName.MatchString(name) {
		data, err := r.Reader.File(name)
		if err == nil && len(data) > maxArchive {
			err = &TooLargeError{fmt.Sprintf("it is larger than the %d MB that travel with a plan", maxArchive>>20)}
		}
		return NewFile(name, data), err
	}
	folder, err := r.Reader.Folder(name)
	if err != nil {
		return program.File{}, err
	}
	data, err := Archive(folder)
	return NewFile(strings.TrimSuffix(name, "/")+"/", data), err
}

// fsPath reports whether a clean path stays inside its root.
func fsPath(p string) bool { return p != ".." && !strings.HasPrefix(p, "../") }

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func checkURL(texts map[string]string) error {
	if err := CheckFetchURL(texts["url"]); err != nil {
		return err
	}
	if !digestForm.MatchString(texts["sha256"]) {
		return errors.New("a url needs its sha256, 64 hex digits: `sha256sum FILE` prints it")
	}
	return checkProxy(texts["proxy"])
}

// CheckFetchURL checks a URL that a server is to fetch.
func CheckFetchURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "":
		return fmt.Errorf("%q is not a URL", text)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("servers fetch http:// and https://, not %s://", u.Scheme)
	case u.User != nil:
		return errors.New("the URL contains a user name or password, which the plan would expose to its readers")
	}
	return nil
}

func checkProxy(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		return fmt.Errorf("the proxy %q is not a URL of the form http://HOST:PORT", text)
	}
	if u.User != nil {
		return errors.New("the proxy's URL contains a password, which the plan would expose to its readers")
	}
	return nil
}

// revision matches the name of a branch, a tag or a commit, and never an option of git.
var revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+@-]*$`)

// repository matches what git may be asked to clone: no helper that runs a command
// (ext::), no option.
var repository = regexp.MustCompile(`^(https?://|ssh://|git://|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:)[^\s]+$`)

func (r Role) checkGit(m *value.Dict, texts map[string]string) error {
	if !repository.MatchString(texts["git"]) {
		return fmt.Errorf("%q is not a repository that a server can clone: https://…, ssh://…, git://… or USER@HOST:PATH", texts["git"])
	}
	if u, err := url.Parse(texts["git"]); err == nil && u.User != nil {
		if _, password := u.User.Password(); password {
			return errors.New("the repository's URL contains a password, which the plan would expose to its readers")
		}
	}
	named := ""
	for _, k := range []string{"branch", "tag", "commit"} {
		if texts[k] == "" {
			continue
		}
		if named != "" {
			return fmt.Errorf("%s and %s exclude each other", named, k)
		}
		if named = k; !revision.MatchString(texts[k]) || strings.Contains(texts[k], "..") {
			return fmt.Errorf("%q is not a valid name of a %s", texts[k], k)
		}
	}
	if named == "" {
		return errors.New("a git repository needs a branch, a tag or a commit")
	}
	if key, given := m.Get("ssh_key"); given {
		if err := r.checkKey(key); err != nil {
			return err
		}
	}
	return checkProxy(texts["proxy"])
}

// isInputRef reports whether a value is {input: NAME}.
func isInputRef(v value.Value) bool {
	d, ok := v.(*value.Dict)
	return ok && d.Len() == 1 && d.Keys()[0] == "input"
}

// inputRef returns the NAME of {input: NAME}; "" for other values.
func inputRef(v value.Value) string {
	if !isInputRef(v) {
		return ""
	}
	name, _ := v.(*value.Dict).Get("input")
	text, _ := name.(string)
	return text
}

// checkKey accepts the path of a key on the server, or {input: NAME}: the plan contains
// no secrets.
func (r Role) checkKey(key value.Value) error {
	if isInputRef(key) {
		if name := inputRef(key); r.Input(name) == nil {
			return fmt.Errorf("ssh_key names the input %q, which the role does not declare", name)
		}
		return nil
	}
	if text, _ := key.(string); !path.IsAbs(text) {
		return errors.New("ssh_key must be the path of a file on the server, or {input: NAME}: a plan contains no secrets")
	}
	return nil
}
