package ansible

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// keywords are the keys of a task that are not its module (the keywords of playbooks
// in Ansible's documentation).
var keywords = []string{"name", "when", "loop", "loop_control", "vars", "register", "notify", "listen", "tags", "become", "become_user", "become_method",
	"become_exe", "become_flags", "environment", "delegate_to", "delegate_facts", "run_once", "ignore_errors", "ignore_unreachable", "changed_when",
	"failed_when", "until", "retries", "delay", "async", "poll", "no_log", "args", "check_mode", "diff", "connection", "remote_user", "port",
	"any_errors_fatal", "throttle", "timeout", "module_defaults", "collections", "debugger", "block", "rescue", "always", "first_available_file"}

// factless are Ansible's own modules that return no facts.
var factless = strings.Fields(`add_host apt apt_key apt_repository assemble assert async_status blockinfile command copy cron deb822_repository
	debconf debug dnf dpkg_selections expect fail fetch file find get_url git group group_by hostname iptables known_hosts lineinfile
	meta pause ping pip raw reboot replace rpm_key script service set_stats shell slurp stat subversion systemd systemd_service sysvinit tempfile template
	unarchive uri user validate_argument_spec wait_for wait_for_connection yum yum_repository`)

// task returns the steps of a task or a block.
func (w *walker) task(p piece, at where) []program.Step {
	if !w.spend(1) || !w.spend(p.size()) || w.depth > maxWithin {
		return nil
	}
	if p.get("block").there() {
		return w.guarded(p, w.block(p, at))
	}
	w.tasks++
	steps := w.reads(p.get("name"))
	module, args := moduleOf(p)
	loops, certain := w.loop(p)
	steps = append(steps, loops...)
	body := lists.Flat([]string{"environment", "delegate_to", "become_user", "args"}, func(key string) []program.Step { return w.reads(p.get(key)) })
	body = append(body, w.run(module, args, p, at)...)
	body = append(body, lists.Flat([]string{"until", "changed_when", "failed_when"}, func(key string) []program.Step { return w.conditions(p.get(key)) })...)
	body = append(body, w.writes(module, args, p, at)...)
	for _, name := range p.get("notify").texts() {
		w.notified[name] = true
		w.any = w.any || isTemplate(name)
	}
	if !certain {
		body = program.Perhaps(p.place(), body)
	}
	return append(steps, w.guarded(p, body)...)
}

// guarded puts the body of a task or block behind its conditions and tags.
func (w *walker) guarded(p piece, body []program.Step) []program.Step {
	if tags := p.get("tags").texts(); w.tagged || slices.Contains(tags, "never") {
		body = program.Perhaps(p.place(), body)
	}
	if when := p.get("when"); when.there() && when.text() != "true" {
		return append(w.conditions(when), program.Perhaps(p.place(), body)...)
	}
	return body
}

// conditions returns the reads of a list of conditions; evaluation stops at the first
// false one.
func (w *walker) conditions(p piece) []program.Step {
	if !p.there() {
		return nil
	}
	items := p.items()
	if items == nil {
		return w.condition(p)
	}
	var steps []program.Step
	for i, x := range items {
		more := w.condition(x)
		if i > 0 {
			more = program.Perhaps(x.place(), more)
		}
		steps = append(steps, more...)
	}
	return steps
}

// loop returns the reads of what a task loops over; certain is set if it runs at least
// once.
func (w *walker) loop(p piece) (steps []program.Step, certain bool) {
	certain = true
	for _, e := range p.entries() {
		if e.name != "loop" && !strings.HasPrefix(e.name, "with_") {
			continue
		}
		steps = append(steps, w.reads(e.piece)...)
		items := e.items()
		certain = len(items) > 0 && e.name != "with_first_found" && e.name != "with_fileglob" &&
			!slices.ContainsFunc(items, func(x piece) bool {
				return e.name != "loop" && (isTemplate(x.text()) || x.node.Kind != yaml.ScalarNode)
			})
	}
	return steps, certain
}

// moduleOf returns the module that a task runs, without the prefix of Ansible's own collection.
func moduleOf(p piece) (name string, args piece) {
	for _, e := range p.entries() {
		if slices.Contains(keywords, e.name) || strings.HasPrefix(e.name, "with_") {
			continue
		}
		if e.name == "action" || e.name == "local_action" {
			if m := e.get("module").text(); m != "" {
				return strings.TrimPrefix(m, builtin), e.piece
			}
			name, _, _ = strings.Cut(strings.TrimSpace(e.text()), " ")
			return strings.TrimPrefix(name, builtin), e.piece
		}
		return strings.TrimPrefix(strings.TrimPrefix(e.name, builtin), "ansible.legacy."), e.piece
	}
	return "", piece{file: p.file}
}

// block returns the steps of a block. With a rescue, any task may be the last.
func (w *walker) block(p piece, at where) []program.Step {
	w.depth++
	defer func() { w.depth-- }()
	list := func(key string) []program.Step {
		return lists.Flat(p.get(key).items(), func(t piece) []program.Step { return w.task(t, at) })
	}
	steps := list("block")
	if p.get("rescue").there() {
		loose := lists.Flat(steps, func(s program.Step) []program.Step { return program.Perhaps(s.At, []program.Step{s}) })
		steps = append(loose, program.Perhaps(p.get("rescue").place(), list("rescue"))...)
	}
	return append(steps, list("always")...)
}

// run returns the reads of a module's arguments, or the steps of what it includes.
func (w *walker) run(module string, args, p piece, at where) []program.Step {
	first := func(keys ...string) string {
		for _, key := range keys {
			if t := args.get(key).text(); t != "" {
				return t
			}
		}
		return args.text()
	}
	switch module {
	case "include_tasks", "import_tasks", "include":
		return append(w.reads(args), w.included(first("file"), p, at)...)
	case "include_role", "import_role":
		tasks := cmp.Or(args.get("tasks_from").text(), "main")
		return append(w.reads(args), w.aRole(first("name", "role"), tasks, p, at)...)
	case "meta":
		switch args.text() {
		case "flush_handlers":
			return w.flush()
		case "end_play", "end_host", "end_batch":
			w.ends = true
		}
		return nil
	case "debug":
		return append(w.reads(args), w.condition(args.get("var"))...)
	case "assert":
		return append(w.reads(args), w.conditions(args.get("that"))...)
	case "template":
		return append(w.reads(args), w.template(first("src"), p, at)...)
	}
	return w.reads(args)
}

// included returns the steps of another task file.
func (w *walker) included(name string, p piece, at where) []program.Step {
	if name == "" || isTemplate(name) {
		return w.unknown(p.place())
	}
	name, _, _ = strings.Cut(name, " ")
	names := []string{path.Join(path.Dir(at.file), name)}
	if at.role != "" {
		names = append(names, path.Join(at.base, "tasks", name))
	}
	_, found := at.tree.firstOf(names...)
	tasks := at.tree.parse(found)
	if tasks.node == nil {
		return w.unknown(p.place())
	}
	w.depth++
	defer func() { w.depth-- }()
	at.file = found
	return lists.Flat(tasks.items(), func(t piece) []program.Step { return w.task(t, at) })
}

// template returns the reads of a template file.
func (w *walker) template(name string, p piece, at where) []program.Step {
	if name == "" || isTemplate(name) {
		return w.anything(p.place())
	}
	var names []string
	if at.role != "" {
		names = append(names, path.Join(at.base, "templates", name), path.Join(at.base, name))
	}
	names = append(names, path.Join(path.Dir(at.file), "templates", name), path.Join(path.Dir(at.file), name))
	file, _ := at.tree.firstOf(names...)
	if file == nil {
		if file, _ = w.tree.firstOf(path.Join(path.Dir(w.playbooks[0]), "templates", name), path.Join(path.Dir(w.playbooks[0]), name)); file == nil {
			return w.anything(p.place())
		}
	}
	return w.readsOf(w.mentions(string(file.Text)), source.Place{File: file}, nil)
}

func (w *walker) anything(at source.Place) []program.Step {
	return []program.Step{{Op: program.ReadAny, At: at, Progress: w.progress()}}
}

// writes returns what a task writes when it succeeds.
func (w *walker) writes(module string, args, p piece, at where) []program.Step {
	var names []string
	switch {
	case module == "set_fact":
		names = factNames(args)
	case module == "include_vars":
		name := args.text()
		_, found := at.tree.firstOf(path.Join(path.Dir(at.file), name), path.Join(at.base, "vars", name), path.Join(path.Dir(at.file), "vars", name))
		names = lists.Map(at.tree.parse(found).entries(), func(e entry) string { return e.name })
		if name == "" || found == "" {
			return append([]program.Step{w.mayWrite(p.place(), someFacts)}, w.written(p, at, nil)...)
		}
	case strings.HasPrefix(module, "include") || strings.HasPrefix(module, "import"), slices.Contains(factless, module):
	default:
		return append([]program.Step{w.mayWrite(p.place(), someFacts)}, w.written(p, at, nil)...)
	}
	return w.written(p, at, names)
}

// written returns the writes of a task: the given variables, the one that it registers,
// and its own success.
func (w *walker) written(p piece, at where, names []string) []program.Step {
	if r := p.get("register").text(); r != "" {
		names = append(names, r)
	}
	var steps []program.Step
	name := p.get("name").text()
	for _, o := range w.Role.Outputs {
		top, _, _ := strings.Cut(o.Name, ".")
		is := o.Resource == "" && slices.Contains(names, top)
		if o.Resource != "" {
			is = name != "" && (name == o.Resource || at.role != "" && at.role+" : "+name == o.Resource) || slices.Contains(p.get("listen").texts(), o.Resource)
		}
		if !is {
			continue
		}
		write := []program.Step{{Op: program.WriteOutput, Name: o.Name, At: p.place(), Progress: w.progress()}}
		if o.Resource != "" && p.get("ignore_errors").there() {
			write = program.Perhaps(p.place(), write)
		}
		steps = append(steps, write...)
	}
	if slices.ContainsFunc(names, isTemplate) {
		steps = append(steps, w.mayWrite(p.place(), anyOutput))
	}
	return steps
}

// unknown returns steps that may read and write anything.
func (w *walker) unknown(at source.Place) []program.Step {
	return append(w.anything(at), w.mayWrite(at, anyOutput))
}
