package chef

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef/ruby"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// sequence finds the order in which the recipes of a run list read inputs and write
// outputs; nil unless all cookbooks are beside the template. unchecked is why unread
// inputs cannot be detected; "" if they can.
//
// Chef works in two phases. It compiles: attribute files and then the recipes' bodies
// run from top to bottom. Then it converges: the declared resources act one after the
// other, and their lazy properties, guards, blocks and templates are evaluated. So
// resources write only after the recipes' bodies have read everything; and what
// attribute files write counts only when all is compiled
// (runtime/driver/chef/ruby/outputs.rb).
//
// Libraries, custom resources and definitions may be called at any time, or never.
func (l *lowering) sequence() (found *program.Sequence, unchecked string) {
	if !l.holds.allCookbooks || !l.holds.allRoles {
		return nil, "not all of its cookbooks and roles are beside the template"
	}
	w := &walker{lowering: l, inputs: map[string][]string{}, outputs: map[string][]string{}, seen: map[string]bool{}}
	for _, in := range l.Role.Inputs {
		w.inputs[in.Name], _ = nodePath(in.Name)
	}
	for _, o := range l.Role.Outputs {
		if o.Resource == "" {
			w.outputs[o.Name], _ = nodePath(o.Name)
		}
	}
	recipes, ok := w.expand(l.items, 0)
	if !ok {
		return nil, "the run list of a Chef role cannot be parsed"
	}
	for _, r := range recipes {
		w.cookbook(r.name)
	}
	for _, r := range recipes {
		w.recipe(r, false)
	}
	if w.unknown || len(w.acts)*(1+len(w.inputs)+len(w.outputs)) > mostPairs {
		return nil, "not all of its cookbooks can be analysed"
	}
	found = &program.Sequence{Steps: w.steps()}
	found.Unread, found.Unwritten, unchecked = w.unused()
	return found, unchecked
}

// Bounds of the walk. Beyond them the order of reads and writes is unknown.
const (
	mostRoles = 50        // nesting
	mostPages = 50_000    // pairs of a template and a resource that may use it
	mostActs  = 100_000   // of recipes and templates
	mostPairs = 1_000_000 // pairs of an act and an input or output
)

// walker goes through the cookbooks of a run list.
type walker struct {
	*lowering
	inputs, outputs map[string][]string // paths, by name
	seen            map[string]bool     // cookbooks, and recipes as NAME::RECIPE
	unknown         bool                // something cannot be analysed
	acts            []act               // in order
	mentions        strings.Builder     // the code of all recipes, to find notifications
	memory          driver.Memory       // of templates
	looked          int                 // templates visited
}

// act is an event in a file.
type act struct {
	ruby.Event
	file *source.File
	// attributes is set in an attribute file.
	attributes bool
	// resource is the one that it belongs to, or nil.
	resource *ruby.Event
}

// expand returns the recipes of a run list.
func (w *walker) expand(items []item, depth int) (recipes []item, ok bool) {
	for _, i := range items {
		if !i.role {
			recipes = append(recipes, i)
			continue
		}
		if w.seen[i.String()] {
			continue
		}
		w.seen[i.String()] = true
		inner, ok := w.roleRunList(i.name)
		if !ok || depth > mostRoles {
			return nil, false
		}
		more, ok := w.expand(inner, depth+1)
		if !ok {
			return nil, false
		}
		recipes = append(recipes, more...)
	}
	return recipes, true
}

var (
	// runListLines matches the literal run list of a role in Ruby.
	runListLines = regexp.MustCompile(`(?m)^[ \t]*run_list[ \t(]+((?:\[?\s*(?:"[^"#\n]*"|'[^'\n]*')\s*\]?,?\s*)+)\)?`)
	itsTexts     = regexp.MustCompile(`"([^"#\n]*)"|'([^'\n]*)'`)
	// itsEnd matches what follows a run list that is entirely literal.
	itsEnd  = regexp.MustCompile(`^(?:\s*\))?[ \t]*(?:\r?\n|$)`)
	comment = regexp.MustCompile(`#[^\n]*`)
)

func (w *walker) roleRunList(name string) ([]item, bool) {
	in, file := w.roleFile(name)
	if in == nil {
		return nil, false
	}
	text, _ := fs.ReadFile(in, file)
	read := rubyRunList
	if strings.HasSuffix(file, ".json") {
		read = jsonRunList
	}
	texts, ok := read(text)
	if !ok {
		return nil, false
	}
	return parseItems(texts)
}

// jsonRunList returns the run list of a role in JSON; false if it is not a role, or has
// run lists per environment.
func jsonRunList(text []byte) (items []string, ok bool) {
	role, err := object(text)
	if others := role.At("env_run_lists"); err != nil || others != nil && !value.Equal(others, value.NewDict()) {
		return nil, false
	}
	list, _ := role.At("run_list").([]value.Value)
	return lists.Map(list, func(v value.Value) string { text, _ := v.(string); return text }), role.Len() > 0
}

// rubyRunList returns the run list of a role in Ruby; false if it is not literal.
func rubyRunList(role []byte) (items []string, ok bool) {
	text := comment.ReplaceAllString(string(role), "")
	m := runListLines.FindStringSubmatchIndex(text)
	if m == nil || strings.Contains(text, "env_run_lists") {
		return nil, !strings.Contains(text, "run_list")
	}
	list := strings.TrimRight(text[m[2]:m[3]], " \t\r\n")
	if strings.HasSuffix(list, ",") || !itsEnd.MatchString(text[m[2]+len(list):]) {
		return nil, false
	}
	return lists.Map(itsTexts.FindAllStringSubmatch(list, -1), func(t []string) string { return t[1] + t[2] }), true
}

// dependsLine matches a dependency in metadata.rb.
var dependsLine = regexp.MustCompile(`(?m)^[ \t]*depends[ \t(]+["']([^"'\n]*)["']`)

// cookbook reads what is loaded of a cookbook before any recipe: its dependencies,
// libraries and resources, and attribute files.
func (w *walker) cookbook(name string) {
	if w.seen[name] {
		return
	}
	w.seen[name] = true
	book := w.holds.cookbooks[name]
	if book == nil {
		w.unknown = true
		return
	}
	for _, on := range book.depends() {
		w.cookbook(on)
	}
	for _, folder := range []string{"libraries", "resources", "providers", "definitions"} {
		for _, file := range book.files(folder, ".rb") {
			w.add(w.read(book, file, ruby.Library)...)
		}
	}
	attributes := book.files("attributes", ".rb")
	if i := slices.Index(attributes, "attributes/default.rb"); i > 0 {
		attributes = append([]string{"attributes/default.rb"}, slices.Delete(attributes, i, i+1)...)
	}
	for _, file := range attributes {
		for _, a := range w.read(book, file, ruby.Attributes) {
			a.attributes = true
			w.add(a)
		}
	}
}

func (c *cookbook) depends() []string {
	if text, err := fs.ReadFile(c.tree, "metadata.json"); err == nil {
		metadata, _ := object(text)
		if on, is := metadata.At("dependencies").(*value.Dict); is {
			return on.Keys()
		}
		return nil
	}
	text, _ := fs.ReadFile(c.tree, "metadata.rb")
	return lists.Map(dependsLine.FindAllSubmatch(text, -1), func(m [][]byte) string { return string(m[1]) })
}

// files returns the files below a folder with an extension, in order.
func (c *cookbook) files(folder, ending string) []string {
	var files []string
	_ = fs.WalkDir(c.tree, folder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(name, ending) {
			files = append(files, name)
		}
		return nil
	})
	return files
}

func (w *walker) add(acts ...act) {
	w.acts = append(w.acts, acts...)
	w.unknown = w.unknown || len(w.acts) > mostActs
}

// read returns the acts of a file.
func (w *walker) read(book *cookbook, name string, scan func(string) ([]ruby.Event, bool)) []act {
	data, err := fs.ReadFile(book.tree, name)
	events, ok := scan(string(data))
	if err != nil || !ok {
		w.unknown = true
		return nil
	}
	file := source.NewFile(w.Role.Shown(path.Join(book.tree.name, name)), data)
	acts := make([]act, len(events))
	for i, e := range events {
		acts[i] = act{Event: e, file: file}
		if e.Resource >= 0 {
			acts[i].resource = &events[e.Resource]
		}
	}
	return acts
}

// recipe reads a recipe and, in place, those that it includes.
func (w *walker) recipe(i item, perhaps bool) {
	if w.seen[i.String()] || w.unknown {
		return
	}
	w.seen[i.String()] = true
	if w.cookbook(i.name); w.unknown {
		return
	}
	book := w.holds.cookbooks[i.name]
	name := book.recipeFile(i.recipe)
	if !strings.HasSuffix(name, ".rb") {
		w.unknown = true
		return
	}
	text, _ := fs.ReadFile(book.tree, name)
	w.mentions.Write(text)
	for _, a := range w.read(book, name, ruby.Recipe) {
		if w.unknown {
			return
		}
		a.Perhaps = a.Perhaps || perhaps
		if a.Op == ruby.Include {
			included, ok := parseItem(a.Name)
			if strings.HasPrefix(a.Name, "::") {
				included, ok = item{name: i.name, recipe: a.Name[2:]}, true
			}
			if !ok {
				w.unknown = true
				return
			}
			w.recipe(included, a.Perhaps)
			continue
		}
		w.add(a)
		if a.Op == ruby.Resource {
			w.template(book, a)
		}
	}
}

// template reads the template of a template resource; all of them if its name is
// computed.
func (w *walker) template(book *cookbook, a act) {
	if a.Properties["type"] != "template" {
		return
	}
	name, given := a.Properties["source"]
	if !given {
		name = path.Base(strings.TrimSuffix(strings.TrimPrefix(a.Name, "template["), "]")) + ".erb"
	}
	_, elsewhere := a.Properties["cookbook"]
	_, local := a.Properties["local"]
	files := lists.Only(w.templatesOf(book), func(file string) bool { return path.Base(file) == path.Base(name) })
	if len(files) == 1 && !elsewhere && !local && name != "" {
		w.page(book, files[0], a, a.Perhaps)
		return
	}
	for _, other := range w.holds.names {
		for _, file := range w.templatesOf(w.holds.cookbooks[other]) {
			w.page(w.holds.cookbooks[other], file, a, true)
		}
	}
}

func (w *walker) templatesOf(book *cookbook) []string {
	return driver.Once(&w.memory, book, func() []string { return book.files("templates", ".erb") })
}

// page adds the acts of a template.
func (w *walker) page(book *cookbook, file string, resource act, perhaps bool) {
	if w.looked++; w.unknown || w.looked > mostPages {
		w.unknown = true
		return
	}
	acts := driver.Once(&w.memory, book.name+"/"+file, func() []act { return w.read(book, file, ruby.Template) })
	for _, a := range acts {
		a.resource, a.Perhaps = &resource.Event, a.Perhaps || perhaps
		w.add(a)
	}
}
