package ansible

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Bounds of the walk. Beyond them the order of reads and writes is unknown.
const (
	maxFiles  = 2_000
	maxPieces = 1_000_000 // of YAML, in search of variables
	maxSteps  = 400_000   // visits of pieces of YAML and of their mentions
	maxWithin = 20        // includes in includes, variables in variables
)

// variables are the variables of a tree: their definitions, and which are set while
// playbooks run.
type variables struct {
	made map[string][]piece
	set  map[string]bool
}

// otherGroups is the entry in variables.set for groups that playbooks add while they run.
const otherGroups = "\x00groups"

// gather reads all YAML files of a tree, used or not: a variable with two definitions
// may be either.
func (w *walker) gather(t *tree) {
	if t.files == nil {
		w.gatherFile(t, w.playbooks[0])
		return
	}
	files := 0
	err := fs.WalkDir(t.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		folder := path.Base(path.Dir(name))
		isYAML := slices.Contains([]string{".yml", ".yaml", ".json"}, path.Ext(name)) || path.Ext(name) == "" && holdsVariables(path.Dir(name))
		if !isYAML || folder == "files" {
			return nil
		}
		if files++; files > maxFiles {
			return fs.SkipAll
		}
		w.gatherFile(t, name)
		return nil
	})
	if err != nil || files > maxFiles {
		w.budget = 0
	}
}

// holdsVariables reports whether the files of a folder are maps of variables.
func holdsVariables(folder string) bool {
	return slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool {
		return slices.Contains([]string{"group_vars", "host_vars", "defaults", "vars"}, part)
	})
}

func (w *walker) gatherFile(t *tree, name string) {
	p := t.parse(name)
	if holdsVariables(path.Dir(name)) {
		w.define(p)
	}
	w.gatherPiece(p)
}

// gatherPiece finds variables in plays and tasks.
func (w *walker) gatherPiece(p piece) {
	if p.node == nil || w.gathered[p.node] || !w.spend(1) {
		return
	}
	w.gathered[p.node] = true
	for _, x := range p.items() {
		w.gatherPiece(x)
	}
	for _, e := range p.entries() {
		switch name := strings.TrimPrefix(e.name, builtin); {
		case name == "vars":
			w.define(e.piece)
		case name == "set_fact":
			for _, n := range factNames(e.piece) {
				w.variables.set[n] = true
			}
		case name == "add_host" || name == "group_by":
			w.variables.set[otherGroups] = true
		case name == "register":
			w.variables.set[e.text()] = true
		case name == "roles":
			for _, x := range e.items() { // the other keys are variables or keywords
				w.define(x)
			}
		}
		w.gatherPiece(e.piece)
	}
}

func (w *walker) define(p piece) {
	if p = p.resolved(); p.node == nil || w.makes[p.node] {
		return
	}
	w.makes[p.node] = true
	for _, e := range p.entries() {
		w.variables.made[e.name] = append(w.variables.made[e.name], e.piece)
	}
}

// factNames returns the variables that a set_fact sets.
func factNames(p piece) []string {
	var names []string
	for _, e := range p.entries() {
		if e.name != "cacheable" {
			names = append(names, e.name)
		}
	}
	for _, word := range strings.Fields(p.text()) {
		if name, _, is := strings.Cut(word, "="); is {
			names = append(names, name)
		}
	}
	return names
}

// part is a node in the tree of declared inputs.
type part struct {
	input string
	parts map[string]*part
	order []string
}

func inputTree(names []string) *part {
	root := &part{}
	for _, name := range names {
		at := root
		for _, key := range strings.Split(name, ".") {
			if at.parts == nil {
				at.parts = map[string]*part{}
			}
			if at.parts[key] == nil {
				at.parts[key] = &part{}
				at.order = append(at.order, key)
			}
			at = at.parts[key]
		}
		at.input = name
	}
	return root
}

func (p *part) all() []string {
	if p.input != "" {
		return []string{p.input}
	}
	return lists.Flat(p.order, func(key string) []string { return p.parts[key].all() })
}

// named returns the inputs that a mention may refer to, and whether it certainly does.
func (p *part) named(m mention) (names []string, certain bool) {
	at := p
	for _, key := range m.path {
		if at.input != "" {
			break
		}
		next := at.parts[key]
		if next == nil {
			return at.all(), false // a key of the playbook's own, or a look-up of one that does not exist
		}
		at = next
	}
	return at.all(), at.input != "" || !m.open
}

// reads returns the reads of all templates in a value.
func (w *walker) reads(p piece, within ...string) []program.Step {
	p = p.resolved()
	if p.node == nil || !w.spend(1) || len(within) > maxWithin {
		return nil
	}
	if p.node.Kind == yaml.ScalarNode {
		if p.node.Tag == "!unsafe" || p.node.Tag == "!vault" {
			return nil
		}
		return w.readsOf(w.mentions(p.node.Value), p.place(), within)
	}
	return append(lists.Flat(p.items(), func(x piece) []program.Step { return w.reads(x, append(within, "")...) }),
		lists.Flat(p.entries(), func(e entry) []program.Step { return w.reads(e.piece, append(within, "")...) })...)
}

// condition returns the reads of a string that is an expression by itself.
func (w *walker) condition(p piece) []program.Step {
	if !w.spend(1) {
		return nil
	}
	return w.readsOf(w.conditional(p.text()), p.place(), nil)
}

func (w *walker) readsOf(all []mention, at source.Place, within []string) []program.Step {
	var steps []program.Step
	for _, m := range all {
		if !w.spend(1) {
			return nil
		}
		if m.any {
			steps = append(steps, program.Step{Op: program.ReadAny, At: at, Progress: w.progress()})
			continue
		}
		read := w.read(m, at, within)
		if !m.certain {
			read = program.Perhaps(at, read)
		}
		steps = append(steps, read...)
	}
	return steps
}

// read returns the reads of one variable.
func (w *walker) read(m mention, at source.Place, within []string) []program.Step {
	top := m.path[0]
	if slices.Contains(within, top) || len(within) > maxWithin {
		return nil
	}
	own := lists.Flat(w.variables.made[top], func(p piece) []program.Step { return w.reads(p, append(slices.Clone(within), top)...) })
	if w.inputs.parts[top] == nil {
		if len(w.variables.made[top]) != 1 || w.variables.set[top] {
			own = program.Perhaps(at, own)
		}
		return own
	}
	names, certain := w.inputs.named(m)
	if !w.spend(len(names)) {
		return nil
	}
	steps := lists.Map(names, func(n string) program.Step {
		return program.Step{Op: program.ReadInput, Name: n, At: at, Progress: w.progress()}
	})
	if !certain {
		return program.Perhaps(at, append(steps, own...))
	}
	return steps
}
