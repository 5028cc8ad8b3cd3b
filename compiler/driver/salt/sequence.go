package salt

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/driver/jinja"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
)

// When each phase ends, as a share of the run: rendering takes seconds, states minutes.
const (
	rendered = 0.1
	applied  = 1
)

// Bounds of the walk, counting each visit of a file. Beyond them the order of reads and
// writes is unknown.
const (
	maxFiles = 2_000
	maxBytes = 16 << 20
	maxPairs = 500_000 // pairs of a mention and an input
)

// sequence finds the order in which a run reads inputs and writes outputs; nil unless all
// states are beside the template.
//
// Salt renders all SLS files, and so evaluates their Jinja, before it runs any state. Then
// the states run in declaration order, and slots, `contents_pillar` and the templates of
// files read. Requisites change that order; with any, the states' reads and writes are
// taken to happen in any order.
func (l *lowering) sequence() *program.Sequence {
	if !l.visible || len(l.trees) == 0 {
		return nil
	}
	w := &walker{lowering: l, seen: map[string]bool{}, within: map[string]bool{}, found: map[string]bool{}}
	names := l.sls
	if len(names) == 0 {
		names = w.top()
	}
	for _, name := range names {
		w.sls(name, true)
	}
	if w.unknown {
		return nil
	}
	for _, o := range l.Role.Outputs {
		if !w.found[o.Name] && w.computed {
			w.run = append(w.run, program.Perhaps(o.At, []program.Step{{Op: program.WriteOutput, Name: o.Name, At: o.At}})...)
			w.anyOrder = true
		}
	}
	steps := append(l.Start(), program.Spread(w.render, 0, rendered)...)
	run := program.Spread(w.run, rendered, applied)
	if w.anyOrder && len(run) > 0 {
		run = []program.Step{{Op: program.AnyOrder, Ways: [][]program.Step{run}, Progress: applied}}
	}
	return &program.Sequence{Steps: append(steps, run...), Complete: !l.hasModules()}
}

// walker goes through the SLS files of a run.
type walker struct {
	*lowering
	seen        map[string]bool // SLS files
	within      map[string]bool // templates being walked
	found       map[string]bool // outputs with a visible write
	render, run []program.Step
	anyOrder    bool // requisites decide the order of states
	computed    bool // some state's ID, or a grain, is computed
	unknown     bool // something cannot be analysed
	files       int
	bytes       int
	pairs       int
}

// hasModules reports whether the trees contain Salt modules, which may read anything.
func (l *lowering) hasModules() bool {
	return slices.ContainsFunc(l.trees, func(t tree) bool {
		return t.single == nil && slices.ContainsFunc([]string{"_modules", "_states", "_renderers", "_utils", "_pillar", "_grains"}, func(folder string) bool {
			info, err := fs.Stat(t.files, folder)
			return err == nil && info.IsDir()
		})
	})
}

// top returns what top.sls applies to this server, or all that it names if its targets
// depend on the server.
func (w *walker) top() []string {
	f := w.open("top.sls")
	var targets map[string]map[string][]any
	if f == nil || strings.Contains(f.text, "{%") || strings.Contains(f.text, "{{") || yaml.Unmarshal([]byte(f.text), &targets) != nil {
		w.unknown = true
		return nil
	}
	var names []string
	for environment, of := range targets {
		for target, list := range of {
			for _, x := range list {
				name, isName := x.(string)
				if !isName || environment != "base" || target != "*" || !slsName.MatchString(name) {
					w.unknown = true // it depends on the server
					return nil
				}
				names = append(names, name)
			}
		}
	}
	return names
}

var (
	includes     = regexp.MustCompile(`(?m)^['"]?include['"]?:`)
	includeLines = regexp.MustCompile(`(?m)^include:[ \t]*\n((?:[ \t]*-[ \t]*\S+[ \t]*\n?)+)`)
	includedName = regexp.MustCompile(`-[ \t]*(\S+)`)
	// requisites matches what changes the order of states.
	requisites = regexp.MustCompile(`\b(require|watch|prereq|onchanges|onfail|listen|use)(_in|_any|_all)?\b|\border[:"' ]|\bparallel\b|\bextend:`)
	slots      = regexp.MustCompile(`__slot__:salt:([a-z_]+\.[a-z_]+)\(([^,()\n]*)`)
	contents   = regexp.MustCompile(`contents_pillar['"]?: *['"]?([^'"\s,}\]]+)`)
	sources    = regexp.MustCompile(`salt://([^\s'",}\]?|]+)`)
	// computedID matches a state's ID with Jinja in it.
	computedID = regexp.MustCompile(`(?m)^['"]?[^\s#{%-][^\n]*\{\{[^\n]*\}\}[^\n]*:[ \t]*(\{|$)|^['"]?\{\{[^\n]*\}\}[^\n]*:[ \t]*(\{|$)`)
)

// sls walks an SLS file, and those that it includes.
func (w *walker) sls(name string, certain bool) {
	f := w.find(name)
	if f == nil {
		w.unknown = true
		return
	}
	if w.seen[f.name] {
		return
	}
	w.seen[f.name] = true
	if line, _, _ := strings.Cut(f.text, "\n"); strings.HasPrefix(line, "#!") && !strings.Contains(line, "jinja") && !strings.Contains(line, "yaml") {
		w.add(&w.render, f, expressions(f.text, 0, false)) // Python
		w.anyOrder, w.computed = true, true
	} else {
		w.template(f, certain, &w.render)
	}
	w.states(f)
	lists := includeLines.FindAllStringSubmatch(f.text, -1)
	if len(lists) != len(includes.FindAllString(f.text, -1)) {
		w.unknown = true // in another notation
	}
	for _, m := range lists {
		for _, n := range includedName.FindAllStringSubmatch(m[1], -1) {
			included := strings.Trim(n[1], `'"`)
			if strings.HasPrefix(included, ".") || !slsName.MatchString(included) {
				w.unknown = true // relative, or of another environment
				return
			}
			w.sls(included, certain)
		}
	}
}

// template adds the reads of a file's Jinja.
func (w *walker) template(f *file, certain bool, to *[]program.Step) {
	w.files, w.bytes = w.files+1, w.bytes+len(f.text)
	w.unknown = w.unknown || w.files > maxFiles || w.bytes > maxBytes
	if w.unknown || w.within[f.name] { // a template that imports itself is an error in Jinja
		return
	}
	w.within[f.name] = true
	defer delete(w.within, f.name)
	for _, p := range jinja.Parts(f.text) {
		certain, text, offset := certain && p.Depth == 0, p.Text, p.Offset
		switch p.Statement {
		case "", "if", "do":
		case "set":
			if _, value, is := strings.Cut(text, "="); is {
				offset += len(text) - len(value)
				text = value
			}
		case "for":
			if _, items, is := strings.Cut(text, " in "); is {
				offset += len(text) - len(items)
				text = items
			}
		case "from", "import", "include", "import_yaml", "import_json", "import_text", "extends":
			w.imported(f, p, certain, to)
			continue
		default:
			certain = false
		}
		w.add(to, f, expressions(text, offset, certain))
	}
}

// imported walks another template.
func (w *walker) imported(f *file, p jinja.Part, certain bool, to *[]program.Step) {
	tokens := jinja.Tokens(p.Text)
	var other *file
	if len(tokens) > 0 && jinja.Quoted(tokens[0]) != "" {
		other = w.open(strings.TrimPrefix(strings.TrimPrefix(jinja.Quoted(tokens[0]), "salt://"), "./"))
	}
	if other == nil {
		*to = append(*to, program.Step{Op: program.ReadAny, At: f.place(p.Offset, p.Offset+len(p.Text))})
		return
	}
	w.template(other, certain, to)
}

// add adds the reads of mentions.
func (w *walker) add(to *[]program.Step, f *file, all []mention) {
	for _, m := range all {
		if w.pairs += 1 + len(w.Role.Inputs); w.pairs > maxPairs {
			w.unknown = true
			return
		}
		at := f.place(m.from, m.to)
		if m.any {
			*to = append(*to, program.Step{Op: program.ReadAny, At: at})
			continue
		}
		for _, in := range w.Role.Inputs {
			path := keys(in.Name)
			read := []program.Step{{Op: program.ReadInput, Name: in.Name, At: at}}
			short := min(len(path), len(m.path))
			whole := short == len(path)
			if !slices.Equal(path[:short], m.path[:short]) || !whole && m.inside {
				continue
			}
			if !whole || !m.certain {
				read = program.Perhaps(at, read)
			}
			*to = append(*to, read...)
		}
	}
}

// event is a read or write while states run.
type event struct {
	offset int
	steps  []program.Step
}

// states adds the reads and writes of an SLS file's states when they run.
func (w *walker) states(f *file) {
	w.anyOrder = w.anyOrder || requisites.MatchString(f.text)
	w.computed = w.computed || computedID.MatchString(f.text) || strings.Contains(f.text, "hotc-agent put")
	var events []event
	parts := jinja.Parts(f.text)
	read := func(from, to int, path string) {
		var steps []program.Step
		w.add(&steps, f, []mention{{path: strings.Split(strings.Trim(path, `'" `), ":"), from: from, to: to, certain: !inBranch(parts, from)}})
		events = append(events, event{from, steps})
	}
	for _, m := range slots.FindAllStringSubmatchIndex(f.text, -1) {
		if readers[f.text[m[2]:m[3]]] {
			read(m[0], m[1], f.text[m[4]:m[5]])
		}
	}
	for _, m := range contents.FindAllStringSubmatchIndex(f.text, -1) {
		read(m[0], m[1], f.text[m[2]:m[3]])
	}
	for _, m := range sources.FindAllStringSubmatchIndex(f.text, -1) {
		var steps []program.Step
		if name := f.text[m[2]:m[3]]; strings.Contains(name, "{") {
			steps = []program.Step{{Op: program.ReadAny, At: f.place(m[0], m[1])}}
		} else if other := w.open(name); other != nil {
			w.template(other, false, &steps)
		}
		events = append(events, event{m[0], steps})
	}
	for _, o := range w.Role.Outputs {
		from, to := written(f, o)
		if to == 0 {
			continue
		}
		w.found[o.Name] = true
		write := []program.Step{{Op: program.WriteOutput, Name: o.Name, At: f.place(from, to)}}
		if inBranch(parts, from) {
			write = program.Perhaps(write[0].At, write)
		}
		events = append(events, event{from, write})
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.offset - b.offset })
	w.run = append(w.run, lists.Flat(events, func(e event) []program.Step { return e.steps })...)
}

// inBranch reports whether a place of a template may not be reached.
func inBranch(parts []jinja.Part, offset int) bool {
	for _, p := range parts {
		if p.Offset > offset {
			return p.Depth > 0
		}
	}
	return false
}

// written returns where an SLS file declares the state that writes an output; to is 0 if
// it does not.
func written(f *file, o *program.Output) (from, to int) {
	grain := regexp.QuoteMeta(keys(o.Name)[0])
	patterns := []string{`\bgrains\.\w+[^\n]*(?:\n[^\n]+){0,6}?\b` + grain + `\b`, `(?m)^['"]?` + grain + `['"]?:[ \t]*\n?[ \t{]*grains\.`}
	name, _, isChange := strings.Cut(o.Name, changes)
	if o.Resource != "" {
		name = o.Resource
	}
	if o.Resource != "" || isChange {
		_, id := reference(name)
		id = regexp.QuoteMeta(id)
		patterns = []string{`(?m)^['"]?` + id + `['"]?:[ \t]*(?:\{|$)`, `(?m)\bname['"]?:[ \t]*['"]?` + id + `['"]?[ \t]*(?:[}\]]|$)`}
	}
	for _, p := range patterns {
		if m := regexp.MustCompile(p).FindStringIndex(f.text); m != nil {
			return m[0], m[1]
		}
	}
	return 0, 0
}
