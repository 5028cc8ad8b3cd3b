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
	// nameForm matches the names of cookbooks, recipes, roles and environments.
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// itemForm matches an item of a run list: role[x], recipe[x::y@1.2], or a bare recipe.
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

// parseItems parses the items of a run list, up to the first invalid one.
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

// runList reads the run list. Without one, a hotc role runs the Chef role of its name,
// or else the cookbook of its name.
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
				l.WrongAt(at, runListHint, "items of the run list of role %q must be strings, not %s", l.Role.Name, value.TypeName(v))
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

// ownRunList returns the run list of a role that declares none.
func (l *lowering) ownRunList() []string {
	name := l.Role.Name
	if !nameForm.MatchString(name) {
		l.WrongAt(l.Role.At, runListHint, "role %q has no run list, and its name is not valid for a Chef recipe or role", name)
		return nil
	}
	if !l.holds.allRoles {
		l.WrongAt(l.Role.At, runListHint, "role %q needs a run list: its Chef roles are known only on the server, so %s may be a role or a cookbook", name, name)
		return nil
	}
	if in, _ := l.roleFile(name); in != nil {
		return []string{"role[" + name + "]"}
	}
	return []string{"recipe[" + name + "]"}
}

// roleFile finds a role's file in the first tree that has it; nil if none has.
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

// lookUp reports an item of the run list that does not exist.
func (l *lowering) lookUp(i item, at source.Place) {
	missing := func(hint, format string, args ...any) {
		l.Failed = true
		l.Diags.Error(source.NoCookbook, at, fmt.Sprintf(format, args...), hint)
	}
	if i.role {
		if in, _ := l.roleFile(i.name); l.holds.allRoles && in == nil {
			known := lists.Flat(l.holds.roles, func(t tree) []string { return stems(t, ".", ".rb", ".json") })
			missing(near(i.name, known, "the roles are "), "the run list of role %q contains %s, but there is no such role", l.Role.Name, i)
		}
		return
	}
	book := l.holds.cookbooks[i.name]
	switch {
	case book == nil && l.holds.allCookbooks:
		missing(near(i.name, l.holds.names, "the cookbooks are "), "the run list of role %q needs the cookbook %s, which does not exist", l.Role.Name, i.name)
	case book != nil && book.recipeFile(i.recipe) == "":
		missing(near(i.recipe, book.recipes(), "its recipes are "), "the cookbook %s (%s) has no recipe %q", i.name, book.tree.name, i.recipe)
	}
}

// near is a hint: the name that was probably meant, or those that exist.
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
	return hot.DidYouMean(name, known, all)
}

// recipeEndings are the kinds of recipes (YAML from Chef 16 on, JSON from 17 on).
var recipeEndings = []string{".rb", ".yml", ".yaml", ".json"}

func (c *cookbook) recipes() []string { return stems(c.tree, "recipes", recipeEndings...) }

// recipeFile is the path of a recipe; "" if there is none.
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

// stems returns the names of a folder's files, without their extensions.
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
