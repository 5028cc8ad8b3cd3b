package chef

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

var (
	// nameForm is what cookbooks, recipes, roles and environments may be called.
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// itemForm is an item of a run list: role[x], recipe[x::y@1.2], or a recipe alone.
	itemForm = regexp.MustCompile(`^(?:(recipe|role)\[([A-Za-z0-9_.-]+)(::[A-Za-z0-9_.-]+)?(@[0-9.]+)?\]|([A-Za-z0-9_.-]+)(::[A-Za-z0-9_.-]+)?(@[0-9.]+)?)$`)
)

const runListHint = "`run_list: [\"recipe[web]\", \"recipe[web::site]\", \"role[base]\"]`"

// item is an item of a run list.
type item struct {
	role         bool
	name, recipe string // recipe is "" for a role
}

func (i item) String() string {
	if i.role {
		return "role[" + i.name + "]"
	}
	return "recipe[" + i.name + "::" + i.recipe + "]"
}

func parseItem(text string) (item, bool) {
	m := itemForm.FindStringSubmatch(text)
	if m == nil || m[1] == "role" && (m[3] != "" || m[4] != "") {
		return item{}, false
	}
	if m[1] == "role" {
		return item{role: true, name: m[2]}, true
	}
	i := item{name: m[2] + m[5], recipe: strings.TrimPrefix(m[3]+m[6], "::")}
	if i.recipe == "" {
		i.recipe = "default"
	}
	return i, true
}

// parseItems reads the items of a run list, up to one that is none.
func parseItems(texts []string) (items []item, all bool) {
	for _, text := range texts {
		i, is := parseItem(text)
		if !is {
			return items, false
		}
		items = append(items, i)
	}
	return items, true
}

// runList takes the run list along. Where there is none, a role of hotc's runs the
// role of Chef's of its name, or where no roles are given the cookbook of its name.
func (l *lowering) runList() {
	val, given := l.keys.Get("run_list")
	var texts []string
	at := l.Role.Locate("run_list")
	switch val := val.(type) {
	case string:
		texts = lists.Map(strings.Split(val, ","), strings.TrimSpace)
	case []value.Value:
		for _, v := range val {
			text, is := v.(string)
			if !is {
				l.WrongAt(at, runListHint, "an item of the run list of role %q must be a text, not %s", l.Role.Name, value.TypeName(v))
				return
			}
			texts = append(texts, text)
		}
	case nil:
		if !given {
			at = l.Role.At
			if l.holds.broken {
				return
			}
			if texts = l.ownRunList(); texts == nil {
				return
			}
		}
	}
	if len(texts) == 0 {
		l.WrongAt(at, runListHint, "the run list of role %q must be a list of recipes and roles", l.Role.Name)
		return
	}
	items, all := parseItems(texts)
	if !all {
		l.WrongAt(at, runListHint, "%q in the run list of role %q is neither a recipe nor a role", texts[len(items)], l.Role.Name)
		return
	}
	l.SetTexts("run_list", texts)
	l.items = items
	if l.holds.broken {
		return
	}
	for _, i := range items {
		l.lookUp(i, at)
	}
}

// ownRunList is the run list of a role that names none.
func (l *lowering) ownRunList() []string {
	name := l.Role.Name
	if !nameForm.MatchString(name) {
		l.WrongAt(l.Role.At, runListHint, "role %q has no run list, and no recipe or role of Chef's can have its name", name)
		return nil
	}
	if !l.holds.allRoles {
		l.WrongAt(l.Role.At, runListHint, "role %q needs a run list: the roles of its source are known on the server only, so that nobody can tell here whether %s is a role or a cookbook", name, name)
		return nil
	}
	if in, _ := l.roleFile(name); in != nil {
		return []string{"role[" + name + "]"}
	}
	return []string{"recipe[" + name + "]"}
}

// roleFile is a role's file in the first tree that has it; nil if none has.
func (l *lowering) roleFile(name string) (in fs.FS, file string) {
	for _, t := range l.holds.roles {
		for _, ending := range []string{".rb", ".json"} {
			if isFile(t, name+ending) {
				return t, name + ending
			}
		}
	}
	return nil, ""
}

// lookUp says what of the run list is not there.
func (l *lowering) lookUp(i item, at source.Place) {
	missing := func(hint, format string, args ...any) {
		l.Failed = true
		l.Diags.Error(source.NoCookbook, at, fmt.Sprintf(format, args...), hint)
	}
	if i.role {
		if in, _ := l.roleFile(i.name); l.holds.allRoles && in == nil {
			missing(near(i.name, l.roleNames(), "the roles are "), "the run list of role %q names %s, and there is no such role", l.Role.Name, i)
		}
		return
	}
	book := l.holds.cookbooks[i.name]
	switch {
	case book == nil && l.holds.allCookbooks:
		missing(near(i.name, l.holds.names, "the cookbooks are "), "the run list of role %q names the cookbook %s, and there is none", l.Role.Name, i.name)
	case book != nil && book.recipeFile(i.recipe) == "":
		missing(near(i.recipe, book.recipes(), "its recipes are "), "the cookbook %s (%s) has no recipe %q", i.name, book.tree.name, i.recipe)
	}
}

// near names what was perhaps meant, or all there are.
func near(name string, known []string, all string) string {
	const enough = 10
	switch {
	case len(known) == 0:
		all = ""
	case len(known) > enough:
		all += strings.Join(known[:enough], ", ") + ", …"
	default:
		all += strings.Join(known, ", ")
	}
	return hot.Meant(name, known, all)
}

func (l *lowering) roleNames() []string {
	return lists.Flat(l.holds.roles, func(t tree) []string { return stems(t, ".", ".rb", ".json") })
}

// recipeEndings are the kinds of recipes (YAML from Chef 16 on, JSON from 17 on).
var recipeEndings = []string{".rb", ".yml", ".yaml", ".json"}

func (c *cookbook) recipes() []string { return stems(c.tree, "recipes", recipeEndings...) }

// recipeFile is where a recipe is; "" if there is none.
func (c *cookbook) recipeFile(recipe string) string {
	for _, ending := range recipeEndings {
		if name := "recipes/" + recipe + ending; isFile(c.tree, name) {
			return name
		}
	}
	if recipe == "default" && isFile(c.tree, "recipe.rb") {
		return "recipe.rb" // from Chef 14 on
	}
	return ""
}

// stems are the names of a folder's files without their endings.
func stems(in fs.FS, folder string, endings ...string) []string {
	entries, err := fs.ReadDir(in, folder)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		for _, ending := range endings {
			if name, is := strings.CutSuffix(entry.Name(), ending); is && name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
