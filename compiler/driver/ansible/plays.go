package ansible

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/jinja"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// walker finds the order in which playbooks read inputs and write outputs.
//
// It walks plays, roles and tasks as Ansible does. What certainly happens is a plain
// step; what depends on a condition, a loop, a notification or a failure is a fork.
// Behind anything opaque (a module that may return facts, an include whose name is
// computed, a role from elsewhere) anything may be read or written. An output that
// several tasks write is published after the last of them, as the run-time half does.
type walker struct {
	*lowering
	variables variables
	inputs    *part
	budget    int
	tasks     int // so far, and in total
	allTasks  int
	depth     int
	mine      bool            // some play targets this server, or may
	others    []piece         // the hosts of plays that are not
	seen      map[string]bool // roles that have run in this play
	handlers  []handler
	notified  map[string]bool
	any       bool            // any handler may have been notified
	ends      bool            // the play may have ended
	defined   map[string]bool // variable files already read
	memory    driver.Memory   // of the mentions in texts
	gathered  map[*yaml.Node]bool
	makes     map[*yaml.Node]bool // variable maps already read
}

type handler struct {
	task  piece
	where where
}

// where is the context of a task.
type where struct {
	file string // of the task, in its tree
	tree *tree
	role string // "" outside of roles
	base string // the role's folder
}

// builtin prefixes the full names of Ansible's own modules.
const builtin = "ansible.builtin."

func newWalker(l *lowering) *walker {
	names := lists.Map(l.Role.Inputs, func(in *program.Input) string { return in.Name })
	w := &walker{lowering: l, inputs: inputTree(names), budget: maxPieces, defined: map[string]bool{}, gathered: map[*yaml.Node]bool{}, makes: map[*yaml.Node]bool{},
		variables: variables{made: map[string][]piece{}, set: map[string]bool{}}}
	w.gather(l.tree)
	for _, t := range l.roleTrees {
		w.gather(t)
	}
	if w.budget > 0 {
		w.budget = maxSteps
	}
	for _, v := range l.vars {
		w.variables.made[v.name] = append(w.variables.made[v.name], v.piece)
	}
	return w
}

// spend takes pieces from the budget and reports whether any is left.
func (w *walker) spend(pieces int) bool {
	w.budget = max(0, w.budget-pieces)
	return w.budget > 0
}

// Memory keys: a template, and a string that is an expression by itself.
type (
	anyText   string
	condition string
)

// mentions returns the mentions in a template.
func (w *walker) mentions(text string) []mention {
	return driver.Once(&w.memory, anyText(text), func() []mention { return mentions(text) })
}

// conditional returns the mentions in a string that is an expression by itself.
func (w *walker) conditional(text string) []mention {
	return driver.Once(&w.memory, condition(text), func() []mention {
		return append(expression(jinja.Without(text)), mentions(text)...)
	})
}

func (w *walker) progress() float64 {
	return float64(w.tasks) / float64(max(1, w.allTasks, w.tasks))
}

// sequence walks the playbooks twice, as the number of tasks is known only after the
// first time. It returns nil if the budget is exceeded.
func (w *walker) sequence(playbooks []string) *program.Sequence {
	var steps []program.Step
	for range 2 {
		w.allTasks, w.tasks = w.tasks, 0
		steps = lists.Flat(playbooks, w.playbook)
	}
	if w.budget <= 0 {
		return nil
	}
	if !w.mine && len(w.others) > 0 {
		hosts := strings.Join(w.others[0].texts(), ",")
		w.Diags.Error(source.BadSource, w.others[0].place(), fmt.Sprintf("no play of role %q targets this server, %s in the inventory: nothing would run", w.Role.Name, w.host),
			fmt.Sprintf("set the server's groups in the role's source, `groups: [%s]`, or use `hosts: all`", hosts))
	}
	return &program.Sequence{Steps: w.settle(steps), Complete: true}
}

func (w *walker) playbook(name string) []program.Step {
	plays := w.tree.parse(name)
	if plays.node == nil || w.depth > maxWithin || !w.spend(1) {
		w.mine = true // perhaps
		return w.unknown(source.Place{})
	}
	w.depth++
	defer func() { w.depth-- }()
	return lists.Flat(plays.items(), func(play piece) []program.Step { return w.play(play, name) })
}

func (w *walker) play(play piece, file string) []program.Step {
	if !w.spend(1) || !w.spend(play.size()) {
		return nil
	}
	for _, key := range []string{"import_playbook", builtin + "import_playbook"} {
		if other := play.get(key); other.there() {
			if isTemplate(other.text()) {
				w.mine = true // perhaps
				return w.unknown(play.place())
			}
			steps := w.playbook(path.Join(path.Dir(file), other.text()))
			if play.get("when").there() {
				steps = append(program.Perhaps(play.place(), w.conditions(play.get("when"))), program.Perhaps(play.place(), steps)...)
			}
			return steps
		}
	}
	steps := w.reads(play.get("hosts"))
	mine, certain := w.isMine(play.get("hosts"))
	if !mine && certain {
		w.others = append(w.others, play.get("hosts"))
		return steps
	}
	w.mine = true
	body := w.playBody(play, where{file: file, tree: w.tree})
	if !certain {
		body = program.Perhaps(play.place(), body)
	}
	return append(steps, body...)
}

// isMine reports whether a play targets this server.
func (w *walker) isMine(hosts piece) (mine, certain bool) {
	certain = true
	for _, pattern := range hosts.texts() {
		for name := range strings.SplitSeq(pattern, ",") {
			name = strings.TrimSpace(name)
			switch {
			case name == "all" || name == "*" || name == w.host || slices.Contains(w.groups, name):
				mine = true
			case !groupName.MatchString(name) || name == "localhost" || name == "ungrouped":
				certain = false
			}
		}
	}
	if w.variables.set[otherGroups] {
		certain = certain && mine
	}
	return mine, certain
}

func (w *walker) playBody(play piece, at where) []program.Step {
	w.handlers = lists.Map(play.get("handlers").items(), func(h piece) handler { return handler{h, at} })
	w.notified, w.any, w.ends, w.seen = map[string]bool{}, false, false, map[string]bool{}
	for _, name := range play.get("vars_files").texts() {
		if !holdsVariables(path.Dir(name)) && !w.defined[name] {
			w.defined[name] = true
			w.define(w.tree.parse(path.Join(path.Dir(at.file), name)))
		}
	}
	steps := program.Perhaps(play.place(), w.reads(play.get("environment")))
	if g := play.get("gather_facts"); g.text() != "false" && g.text() != "no" && g.text() != "False" {
		steps = append(steps, w.mayWrite(play.place(), someFacts))
	}
	add := func(more []program.Step) {
		if w.ends {
			more = program.Perhaps(play.place(), more)
		}
		steps = append(steps, more...)
	}
	list := func(key string) {
		for _, t := range play.get(key).items() {
			add(w.task(t, at))
		}
	}
	list("pre_tasks")
	add(w.flush())
	for _, r := range play.get("roles").items() {
		add(w.roleEntry(r, at))
	}
	list("tasks")
	add(w.flush())
	list("post_tasks")
	add(w.flush())
	return steps
}

// flush returns the steps of the handlers that may have been notified, in order.
func (w *walker) flush() []program.Step {
	var steps []program.Step
	notified, any := w.notified, w.any
	w.notified, w.any = map[string]bool{}, false
	for i := 0; i < len(w.handlers); i++ {
		h := w.handlers[i]
		if !w.spend(1) {
			return nil
		}
		names := append(h.task.get("listen").texts(), h.task.get("name").text())
		if h.where.role != "" {
			names = append(names, h.where.role+" : "+h.task.get("name").text())
		}
		if any || slices.ContainsFunc(names, func(n string) bool { return notified[n] || isTemplate(n) }) {
			steps = append(steps, program.Perhaps(h.task.place(), w.task(h.task, h.where))...)
		}
	}
	return steps
}

// roleEntry runs an entry of a play's `roles`.
func (w *walker) roleEntry(p piece, at where) []program.Step {
	name := p.text()
	for _, key := range []string{"role", "name"} {
		if n := p.get(key).text(); n != "" {
			name = n
		}
	}
	steps := w.aRole(name, "main", p, at)
	if when := p.get("when"); when.there() {
		return append(w.conditions(when), program.Perhaps(p.place(), steps)...)
	}
	return steps
}

var rolesPath = regexp.MustCompile(`(?m)^\s*roles_path\s*[=:]\s*(\S+)`)

// findRole returns the tree and folder of a role.
func (w *walker) findRole(name string, at where) (*tree, string) {
	if isTemplate(name) || name == "" {
		return nil, ""
	}
	there := func(t *tree, folder string) bool {
		f, _ := t.firstOf(folder+"/tasks/main.yml", folder+"/tasks/main.yaml", folder+"/tasks/main", folder+"/meta/main.yml", folder+"/defaults/main.yml", folder+"/handlers/main.yml", folder+"/vars/main.yml")
		return f != nil
	}
	folders := []string{path.Join(path.Dir(w.playbooks[0]), "roles", name)}
	if at.tree == w.tree && at.role == "" {
		folders = append([]string{path.Join(path.Dir(at.file), "roles", name)}, folders...)
	}
	for _, cfg := range []string{path.Join(path.Dir(w.playbooks[0]), "ansible.cfg"), "ansible.cfg"} {
		if f := w.tree.read(cfg); f != nil {
			if m := rolesPath.FindSubmatch(f.Text); m != nil {
				for dir := range strings.SplitSeq(string(m[1]), ":") {
					folders = append(folders, path.Join(path.Dir(cfg), dir, name))
				}
			}
			break
		}
	}
	for _, folder := range folders {
		if there(w.tree, folder) {
			return w.tree, folder
		}
	}
	for _, t := range w.roleTrees {
		if there(t, name) {
			return t, name
		}
	}
	return nil, ""
}

// aRole runs a role: its dependencies, then its tasks.
func (w *walker) aRole(name, tasks string, p piece, at where) []program.Step {
	t, folder := w.findRole(name, at)
	if t == nil || w.depth > maxWithin || isTemplate(tasks) || !w.spend(1) {
		return w.unknown(p.place())
	}
	w.depth++
	defer func() { w.depth-- }()
	var steps []program.Step
	if _, meta := t.firstOf(folder+"/meta/main.yml", folder+"/meta/main.yaml"); meta != "" {
		for _, d := range t.parse(meta).get("dependencies").items() {
			steps = append(steps, w.roleEntry(d, where{file: meta, tree: t, role: name, base: folder})...)
		}
	}
	for _, h := range w.tasksOf(t, folder+"/handlers/main") {
		if !w.seen[folder] {
			w.handlers = append(w.handlers, handler{h, where{file: folder + "/handlers/main.yml", tree: t, role: name, base: folder}})
		}
	}
	again := w.seen[folder]
	w.seen[folder] = true
	own := where{file: folder + "/tasks/main.yml", tree: t, role: name, base: folder}
	body := lists.Flat(w.tasksOf(t, folder+"/tasks/"+strings.TrimSuffix(strings.TrimSuffix(tasks, ".yml"), ".yaml")), func(task piece) []program.Step { return w.task(task, own) })
	if again { // Ansible runs a role once, unless its parameters differ
		body = program.Perhaps(p.place(), body)
	}
	return append(steps, body...)
}

func (w *walker) tasksOf(t *tree, name string) []piece {
	_, found := t.firstOf(name+".yml", name+".yaml", name)
	return t.parse(found).items()
}

func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}
