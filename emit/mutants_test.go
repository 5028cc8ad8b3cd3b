package emit_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver/plugin"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// What one input may take. What is made in all, most of which is free again soon, does not
// depend on the machine. What is held at a time, and the processors' time, do: they are
// measured where many inputs are asked for (make fuzz, DURATION, SEEDS, SEED).
const (
	mostMade = 700 << 20
	mostHeld = 500 << 20
	mostTime = 5 * time.Second
)

// Templates, and what they name, are changed at random: whatever comes of it is compiled
// or refused, never a mistake of hotc's own, and takes no more than so much. SEEDS=n,
// SEED=n or DURATION=10m play others; HOTC_CORPUS=DIR adds templates, HOTC_MUTANTS=DIR
// keeps what fails, made as small as possible.
func TestMutants(t *testing.T) {
	c := newCorpus(t)
	measured := os.Getenv("DURATION")+os.Getenv("SEEDS")+os.Getenv("SEED") != ""
	known := map[string]bool{}
	counts := map[string]int{}
	for seed := range seedtest.Each(t, seedtest.Cases(3000, 150), 1621437317, 2349316972 /* an anchor in a group's own block */, 1777647469, /* a group whose members have no type */
		4232304718 /* white space before a template that is edited */, 4232305902 /* an argument that reads itself ever deeper */) {
		m := c.mutant(seed)
		o := m.compile()
		counts[o.kind()]++
		what := o.wrong(measured)
		if what == "" && measured && o.made > mostHeld {
			what = m.holds()
		}
		if what == "" || known[signature(what)] {
			continue
		}
		known[signature(what)] = true
		t.Errorf("%s\n%s%s", what, m.reduced(what).keep(t, seed), seedtest.Replay(t, seed))
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%7d %s", counts[kind], kind)
	}
	if n := counts["compiled"]; !seedtest.Few() && n < counts["refused"]/20 {
		t.Errorf("only %d were compiled: the others are stopped too early to show much", n)
	}
}

// mutant is a template among files in memory.
type mutant struct {
	corpus       *corpus
	files        map[string][]byte // those that were changed
	template     string
	environments []string
	options      func(*emit.Options)
}

// Read implements emit.Access.
func (m *mutant) Read(name string) ([]byte, error) {
	if text, changed := m.files[path.Clean(name)]; changed {
		return text, nil
	}
	if f := m.corpus.files[path.Clean(name)]; f != nil {
		return f.Data, nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Open implements emit.Access.
func (m *mutant) Open(name string) (fs.FS, error) {
	below := fstest.MapFS{}
	prefix := path.Clean(name) + "/"
	for _, where := range m.corpus.below(prefix) {
		file := *m.corpus.files[where]
		if text, changed := m.files[where]; changed {
			file.Data = text
		}
		below[strings.TrimPrefix(where, prefix)] = &file
	}
	if len(below) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return below, nil
}

// outcome is what came of an input.
type outcome struct {
	compiled bool
	found    string // the diagnostics
	panicked string
	internal string
	made     uint64
	time     time.Duration // of the processors
}

func (m *mutant) compile() (o outcome) {
	options := options(m.template)
	options.Access, options.Environments = m, m.environments
	options.Drivers = append(options.Drivers, plugin.Drivers(nil))
	m.options(&options)
	var diags source.Diagnostics
	begin := worked()
	defer func() {
		o.time = worked() - begin
		if p := recover(); p != nil {
			o.panicked = fmt.Sprintf("panic: %v %s", p, ownFrame(debug.Stack()))
		}
		for _, d := range diags.All() {
			if d.Code == source.Internal {
				o.internal = d.Message
			}
		}
	}()
	o.made = max(
		allocates(func() { o.compiled = emit.Compile(options, &diags) != nil }),
		allocates(func() { emit.Lint(options, &source.Diagnostics{}) }), // which goes on where the compiler stops
	)
	var text strings.Builder
	for _, d := range diags.All() { // as people see them
		source.Print(&text, d, source.Style{})
	}
	o.found = text.String()
	return o
}

// allocates says how many bytes some work takes of the heap.
func allocates(work func()) uint64 {
	const allocated = "/gc/heap/allocs:bytes"
	before := metric(allocated)
	work()
	return metric(allocated) - before
}

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// worked is the time that this process has had of the processors.
func worked() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// holds says what is wrong with the heap that a mutant takes while it is compiled, garbage
// included. Only one that makes more can hold too much.
func (m *mutant) holds() string {
	const objects = "/memory/classes/heap/objects:bytes"
	runtime.GC()
	before, done, peak := metric(objects), make(chan struct{}), make(chan uint64)
	go func() {
		most := before
		for {
			most = max(most, metric(objects))
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	m.compile()
	close(done)
	if held := <-peak - before; held > mostHeld {
		return fmt.Sprintf("more than %d MiB are held", mostHeld>>20)
	}
	return ""
}

var frame = regexp.MustCompile(`hotc-dev/hotc/(\S+)\(.*\n\t\S+/([^/]+:\d+)`)

// ownFrame is where hotc has panicked.
func ownFrame(stack []byte) string {
	_, after, _ := bytes.Cut(stack, []byte("panic("))
	if at := frame.FindSubmatch(after); at != nil {
		return string(at[1]) + " " + string(at[2])
	}
	return ""
}

func (o outcome) kind() string {
	switch {
	case o.compiled:
		return "compiled"
	}
	code := regexp.MustCompile(`error\[(H\d+)\]`).FindStringSubmatch(o.found)
	if code == nil {
		return "refused"
	}
	return "refused" + code[1]
}

// wrong is what may not be.
func (o outcome) wrong(measured bool) string {
	switch {
	case o.panicked != "":
		return o.panicked
	case o.internal != "":
		return o.internal
	case o.made > mostMade:
		return fmt.Sprintf("more than %d MiB are made", mostMade>>20)
	case measured && o.time > mostTime:
		return fmt.Sprintf("more than %v", mostTime)
	}
	return ""
}

var names = regexp.MustCompile(`"[^"]*"|'[^']*'|[0-9]+|/\S+|\S+\.ya?ml\S*`)

// signature is what mistakes of one kind have in common.
func signature(what string) string {
	if strings.HasPrefix(what, "panic") {
		return what
	}
	return names.ReplaceAllString(what, "…")
}

// reduced is a mutant that is as wrong with fewer lines.
func (m *mutant) reduced(what string) *mutant {
	still := func(name string, text []byte) bool {
		smaller := *m
		smaller.files = maps.Clone(m.files)
		smaller.files[name] = text
		if strings.HasSuffix(what, "held") {
			return smaller.holds() == what
		}
		return signature(smaller.compile().wrong(strings.HasPrefix(what, "more"))) == signature(what)
	}
	until := time.Now().Add(30 * time.Second)
	for name := range m.files {
		lines := bytes.SplitAfter(m.files[name], []byte("\n"))
		for size := max(1, len(lines)/2); size > 0; size /= 2 {
			for at := 0; at < len(lines) && time.Now().Before(until); {
				end := min(at+size, len(lines))
				fewer := slices.Concat(lines[:at], lines[end:])
				if still(name, bytes.Join(fewer, nil)) {
					lines = fewer
				} else {
					at = end
				}
			}
		}
		m.files[name] = bytes.Join(lines, nil)
	}
	return m
}

// keep writes a mutant down where that is wished, and shows it.
func (m *mutant) keep(t *testing.T, seed uint64) string {
	var shown strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		fmt.Fprintf(&shown, "--- %s\n%.3000q\n", name, m.files[name])
		if dir := os.Getenv("HOTC_MUTANTS"); dir != "" {
			where := filepath.Join(dir, fmt.Sprint(seed), filepath.Base(name))
			if err := os.MkdirAll(filepath.Dir(where), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(where, m.files[name], 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	fmt.Fprintf(&shown, "--- of %s %v\n", m.template, m.environments)
	return shown.String()
}

// corpus are the files that mutants are made of.
type corpus struct {
	files     fstest.MapFS
	names     []string // of all files, in order
	templates []string
	texts     []string // that are YAML
}

func newCorpus(t *testing.T) *corpus {
	t.Helper()
	c := &corpus{files: fstest.MapFS{}}
	dirs := map[string]string{"../testdata": "examples", "testdata": "emit", "graph/testdata": "graph", "../cmd/hotc/testdata": "commands"}
	if dir := os.Getenv("HOTC_CORPUS"); dir != "" {
		dirs[dir] = "more"
	}
	for dir, as := range dirs {
		if err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			if len(text) < 100_000 {
				c.files[path.Join(as, filepath.ToSlash(rel))] = &fstest.MapFile{Data: text, Mode: 0o644}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	c.names = slices.Sorted(maps.Keys(c.files))
	for _, name := range c.names {
		text := c.files[name].Data
		if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
			c.texts = append(c.texts, name)
			if bytes.Contains(text, []byte("emplate_version")) || bytes.Contains(text, []byte("TemplateFormatVersion")) {
				c.templates = append(c.templates, name)
			}
		}
	}
	return c
}

// below are the files of a folder.
func (c *corpus) below(prefix string) []string {
	first, _ := slices.BinarySearch(c.names, prefix)
	last := first
	for last < len(c.names) && strings.HasPrefix(c.names[last], prefix) {
		last++
	}
	return c.names[first:last]
}

// mutant makes one; the same seed gives the same.
func (c *corpus) mutant(seed uint64) *mutant {
	g := &mutation{Rand: rand.New(rand.NewPCG(seed, 15)), corpus: c}
	m := &mutant{corpus: c, files: map[string][]byte{}, template: pick(g, c.templates)}
	if beside := c.environmentsBeside(m.template); len(beside) > 0 && g.IntN(3) > 0 {
		m.environments = []string{pick(g, beside)}
	}
	named := append([]string{m.template, m.template, m.template}, append(m.environments, c.named(m)...)...)
	for range 1 + g.IntN(2) {
		name := pick(g, named)
		text, changed := m.files[name]
		if !changed {
			text = bytes.Clone(c.files[name].Data)
		}
		m.files[name] = g.change(name, text)
	}
	kind := g.IntN(8)
	m.options = func(o *emit.Options) {
		o.Signal = []contract.Signalling{contract.NobodySignals, contract.AgentsSignal, contract.RelaySignals}[kind%3]
		o.WithoutHeat = kind == 1
		if kind == 2 {
			o.Facts = binding.FactsFromHeat
		}
	}
	return m
}

func (c *corpus) environmentsBeside(template string) []string {
	var out []string
	for _, name := range c.below(path.Dir(template) + "/") {
		if text := c.files[name].Data; bytes.Contains(text, []byte("resource_registry:")) || bytes.Contains(text, []byte("parameter_defaults:")) {
			out = append(out, name)
		}
	}
	return out
}

// noting notes what is read.
type noting struct {
	*mutant
	named map[string]bool
}

func (r noting) Read(name string) ([]byte, error) {
	text, err := r.mutant.Read(name)
	r.named[path.Clean(name)] = err == nil
	return text, err
}

func (r noting) Open(name string) (fs.FS, error) {
	for _, where := range r.corpus.below(path.Clean(name) + "/") {
		r.named[where] = true
	}
	return r.mutant.Open(name)
}

// named are the files that a template names as it is.
func (c *corpus) named(m *mutant) []string {
	o := options(m.template)
	r := noting{m, map[string]bool{}}
	o.Access, o.Environments = r, m.environments
	func() {
		defer func() { _ = recover() }()
		emit.Compile(o, &source.Diagnostics{})
	}()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.named)) {
		if r.named[name] && c.files[name] != nil {
			out = append(out, name)
		}
	}
	return out
}

func pick[T any](g *mutation, from []T) T { return from[g.IntN(len(from))] }
