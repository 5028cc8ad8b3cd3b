package chef

import (
	"io/fs"
	"path"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// holdings are the contents of the trees beside the template.
type holdings struct {
	// cookbooks by name; the first of a name wins.
	cookbooks map[string]*cookbook
	names     []string // of cookbooks, in order
	roles     []tree
	data      []tree // of roles, data bags and environments
	// allCookbooks and allRoles are set if none come from elsewhere, allTrees if no tree
	// does.
	allCookbooks, allRoles, allTrees bool
	// broken is set if some tree is invalid, which suppresses errors about missing items.
	broken bool
}

// tree is a folder beside the template.
type tree struct {
	fs.FS
	name string // as in the source
}

// cookbook is a cookbook in a tree.
type cookbook struct {
	tree
	name string
}

// trees packs all trees, and inspects those that are beside the template.
func (l *lowering) trees() {
	l.holds = holdings{cookbooks: map[string]*cookbook{}, allCookbooks: true, allRoles: true, allTrees: true}
	if l.keys.Has("prepare") {
		l.holds.allCookbooks = false
	}
	if t, is := l.taken("repository"); is {
		l.repository(t)
	}
	if value, given := l.keys.Get("cookbooks"); given {
		l.cookbookTrees(value)
	}
	switch t, is := l.taken("roles"); {
	case !is:
	case t == nil:
		l.holds.allRoles = false
	default:
		l.holds.roles = []tree{*t} // these replace the repository's
	}
	l.taken("data_bags")
	l.taken("environments")
	if l.holds.allCookbooks && len(l.holds.cookbooks) == 0 && !l.Failed {
		l.WrongAt(l.cookbooksAt(), "a cookbook is a folder with a metadata.rb or metadata.json", "the source of role %q contains no cookbook", l.Role.Name)
	}
	l.holds.broken = l.Failed
}

func (l *lowering) cookbooksAt() source.Place {
	if l.keys.Has("cookbooks") {
		return l.Role.Locate("cookbooks")
	}
	return l.Role.Locate("repository")
}

// cookbookTrees reads one tree, or a list of them.
func (l *lowering) cookbookTrees(val value.Value) {
	l.Trees("cookbooks", val, func(v value.Value) {
		if t := l.open(v); t != nil {
			l.add(*t)
		} else {
			l.holds.allCookbooks, l.holds.allTrees = false, false
		}
	})
}

// taken packs and opens the tree under a key; false if there is none.
func (l *lowering) taken(key string) (t *tree, is bool) {
	val, given := l.keys.Get(key)
	if !given {
		return nil, false
	}
	o := l.Tree(val, key)
	if o == nil {
		return nil, false
	}
	l.Out.Set(key, o.Value)
	switch t = l.open(val); {
	case t == nil:
		l.holds.allTrees = false
	case key != "repository":
		l.holds.data = append(l.holds.data, *t)
	}
	return t, true
}

// open opens a packed tree, if it is a folder.
func (l *lowering) open(val value.Value) *tree {
	folder, name := l.Role.Beside(val)
	if folder == nil {
		return nil
	}
	return &tree{folder, name}
}

// repository inspects a whole Chef repository; nil is one that the server fetches.
func (l *lowering) repository(t *tree) {
	if t == nil {
		l.holds.allCookbooks, l.holds.allRoles = false, false
		return
	}
	for _, books := range t.below("site-cookbooks", "cookbooks") {
		l.add(books)
	}
	l.holds.roles = t.below("roles")
	l.holds.data = append(l.holds.data, t.below("roles", "data_bags", "environments")...)
}

// below returns the named folders of a tree that exist.
func (t tree) below(names ...string) (folders []tree) {
	for _, name := range names {
		if info, err := fs.Stat(t, name); err != nil || !info.IsDir() {
			continue
		}
		if folder, err := fs.Sub(t, name); err == nil {
			folders = append(folders, tree{folder, path.Join(t.name, name)})
		}
	}
	return folders
}

func isFile(in fs.FS, name string) bool {
	info, err := fs.Stat(in, name)
	return err == nil && info.Mode().IsRegular()
}

// add adds the cookbooks of a tree: those in its folders, or the tree itself.
func (l *lowering) add(t tree) {
	folders := []tree{t}
	if entries, err := fs.ReadDir(t, "."); err == nil && !t.isCookbook() {
		folders = t.below(lists.Map(entries, fs.DirEntry.Name)...)
	}
	for _, folder := range lists.Only(folders, tree.isCookbook) {
		l.addCookbook(folder)
	}
}

func (t tree) isCookbook() bool { return isFile(t, "metadata.rb") || isFile(t, "metadata.json") }

// nameLine matches the cookbook's name in metadata.rb.
var nameLine = regexp.MustCompile(`(?m)^[ \t]*name[ \t(]+["']([^"'\n]*)["']`)

func (l *lowering) addCookbook(t tree) {
	name := path.Base(t.name)
	if text, err := fs.ReadFile(t, "metadata.json"); err == nil {
		metadata, err := object(text)
		if err != nil {
			l.WrongAt(l.cookbooksAt(), "", "%s/metadata.json is not valid JSON: %v", t.name, err)
			return
		}
		if given, _ := metadata.At("name").(string); given != "" {
			name = given
		}
	} else if text, err := fs.ReadFile(t, "metadata.rb"); err == nil {
		if m := nameLine.FindSubmatch(text); m != nil {
			name = string(m[1])
		}
	}
	if l.holds.cookbooks[name] == nil {
		l.holds.cookbooks[name] = &cookbook{t, name}
		l.holds.names = append(l.holds.names, name)
	}
}

// object parses a JSON object; other values give an empty one.
func object(text []byte) (*value.Dict, error) {
	val, err := yaml.DecodeJSON(text)
	if d, is := val.(*value.Dict); is {
		return d, err
	}
	return value.NewDict(), err
}
