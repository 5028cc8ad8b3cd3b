package driver_test

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// beside reads from a folder.
type beside string

func (b beside) File(name string) ([]byte, error)  { return os.ReadFile(string(b) + "/" + name) }
func (b beside) Folder(name string) (fs.FS, error) { return os.DirFS(string(b) + "/" + name), nil }

// origin reads a text of YAML as an origin, and is its value as JSON, or the first
// diagnostic.
func origin(t *testing.T, dir, text string) string {
	t.Helper()
	var diags source.Diagnostics
	n := yaml.Parse(source.NewFile("x.yaml", []byte(text)), &diags)
	role := driver.Role{Name: "app", Reader: beside(dir), Locate: func(...string) source.Place { return source.Place{} },
		Inputs: []*program.Input{{Name: "deploy_key"}}}
	o := role.Origin(n.Data(), &diags, "cookbooks")
	if diags.Failed() {
		return diags.All()[0].Message
	}
	out := string(value.EncodeJSON(o.Value))
	for _, f := range o.Files {
		out = strings.ReplaceAll(out, f.Digest, "DIGEST")
		out += " " + f.Name
	}
	return out
}

func TestWhereATreeOfFilesComesFrom(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	dir := folder(t, "cookbooks/x.rb = x", "books.tgz = not looked into", "leaky/out -> /etc/passwd")
	for _, c := range []struct{ text, want string }{
		{`cookbooks`, `{"file":"DIGEST"} cookbooks/`},
		{`cookbooks/`, `{"file":"DIGEST"} cookbooks/`},
		{`books.tgz`, `{"file":"DIGEST"} books.tgz`},
		{`{folder: cookbooks, path: x}`, `{"file":"DIGEST","path":"x"} cookbooks/`},
		{`{url: "https://x.org/a.tgz", sha256: ` + sum + `}`, `{"url":"https://x.org/a.tgz","sha256":"` + sum + `"}`},
		{`{git: "https://x.org/a.git", tag: v1, path: a/b}`, `{"git":"https://x.org/a.git","tag":"v1","path":"a/b"}`},
		{`{git: "git@x.org:a.git", commit: abc123, ssh_key: /root/k}`, `{"git":"git@x.org:a.git","commit":"abc123","ssh_key":"/root/k"}`},
		{`{git: "git@x.org:a.git", branch: main, ssh_key: {input: deploy_key}}`, `{"git":"git@x.org:a.git","branch":"main","ssh_key":{"input":"deploy_key"}}`},

		{`none`, `none cannot travel with the plan: read .: no such file or directory`},
		{`leaky`, `leaky cannot travel with the plan: out is a symbolic link to /etc/passwd, outside the folder; only the folder's content travels with the plan`},
		{`"https://x.org/a.tgz"`, `role "app" uses the URL https://x.org/a.tgz without a checksum`},
		{`[a]`, `source.cookbooks of role "app" must name a folder, or be a map with folder, url or git, not a list`},
		{`{path: a}`, `source.cookbooks of role "app": a map needs one of the keys folder, url and git`},
		{`{folder: a, git: b}`, `source.cookbooks of role "app": folder and git exclude each other`},
		{`{folder: cookbooks, tag: b}`, `source.cookbooks of role "app": there is no key "tag" beside folder`},
		{`{folder: cookbooks, path: ../b}`, `source.cookbooks of role "app": path must be relative and stay inside, unlike "../b"`},
		{`{url: "https://x.org/a.tgz"}`, "source.cookbooks of role \"app\": a url needs its sha256, 64 hex digits: `sha256sum FILE` prints it"},
		{`{url: "ftp://x.org/a.tgz", sha256: ` + sum + `}`, `source.cookbooks of role "app": servers fetch http:// and https://, not ftp://`},
		{`{url: "https://u:hush@x.org/a", sha256: ` + sum + `}`, `source.cookbooks of role "app": the URL contains a user name or password, which the plan would expose to its readers`},
		{`{git: "https://x.org/a.git"}`, `source.cookbooks of role "app": a git repository needs a branch, a tag or a commit`},
		{`{git: "https://u:hush@x.org/a.git", tag: v1}`, `source.cookbooks of role "app": the repository's URL contains a password, which the plan would expose to its readers`},
		{`{git: "ext::sh -c id", tag: v1}`, `source.cookbooks of role "app": "ext::sh -c id" is not a repository that a server can clone: https://…, ssh://…, git://… or USER@HOST:PATH`},
		{`{git: "--upload-pack=id", tag: v1}`, `source.cookbooks of role "app": "--upload-pack=id" is not a repository that a server can clone: https://…, ssh://…, git://… or USER@HOST:PATH`},
		{`{git: "https://x.org/a.git", tag: "--force"}`, `source.cookbooks of role "app": "--force" is not a valid name of a tag`},
		{`{git: "https://x.org/a.git", tag: a, branch: b}`, `source.cookbooks of role "app": branch and tag exclude each other`},
		{`{git: "git@x.org:a.git", tag: a, ssh_key: "-----BEGIN"}`, `source.cookbooks of role "app": ssh_key must be the path of a file on the server, or {input: NAME}: a plan contains no secrets`},
		{`{git: "git@x.org:a.git", tag: a, ssh_key: {input: other}}`, `source.cookbooks of role "app": ssh_key names the input "other", which the role does not declare`},
	} {
		if got := origin(t, dir, c.text); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// Roles that name the same folder have its archive in memory once; what has the same name
// beside another template is another one.
func TestAFolderOfManyRoles(t *testing.T) {
	one, other := folder(t, "books/x.rb = x"), folder(t, "books/x.rb = y")
	var memory driver.Memory
	data := func(dir, of string) []byte {
		var diags source.Diagnostics
		role := driver.Role{Name: "app", Reader: beside(dir), Folder: of, Memory: &memory, Locate: func(...string) source.Place { return source.Place{} }}
		o := role.Origin("books", &diags, "cookbooks")
		if diags.Failed() {
			t.Fatal(diags.All()[0])
		}
		return o.Files[0].Data
	}
	first := data(one, "a")
	if again := data(one, "a"); &first[0] != &again[0] {
		t.Error("the folder was packed twice")
	}
	if elsewhere := data(other, "b"); bytes.Equal(first, elsewhere) {
		t.Error("two folders of one name were taken for one")
	}
}
