package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hotc-dev/hotc/compiler/driver"
	compiled "github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// scriptInputs are the inputs of the scripts in these tests.
var scriptInputs = map[string]string{"db": "10.0.0.7", "port": "8080", "name": "web one", "items": "a b c", "empty": "", "n": "3", "multi": "l1\nl2"}

var scriptOutputs = []string{"count", "out", "url"}

const scriptStdin = "first line\nsecond line\nthird\n"

// A script does the same before and after hotc has put waits into it.
func TestScriptCorpus(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/shell/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	taken := append(shells, []string{"busybox", "sh"}, []string{"ksh"})
	if testing.Short() {
		taken = shells[:2] // the plainest, and the one with most of its own
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			sideBySide(t, string(file.Data), taken)
		})
	}
}

// … and so do scripts that nobody has thought of.
func TestScriptGenerated(t *testing.T) {
	seedtest.SkipShort(t)
	for seed := range seedtest.Each(t, 60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := generator{rand: rand.New(rand.NewPCG(seed, 14))}
			sideBySide(t, g.script(), shells)
		})
	}
}

// shells take a script that names none; some of them are /bin/sh somewhere.
var shells = [][]string{{"dash"}, {"bash"}, {"bash", "--posix"}, {"mksh"}}

func sideBySide(t *testing.T, text string, shells [][]string) {
	rewritten := rewrittenScript(t, text)
	if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "#!/bin/") {
		shells = [][]string{{strings.TrimPrefix(line, "#!/bin/")}}
	}
	for _, shell := range shells {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			if _, err := exec.LookPath(shell[0]); err != nil {
				t.Skipf("SKIPPED: %s is not here: %v", shell[0], err)
			}
			original := runScript(t, shell, text, nil)
			for _, arrived := range []bool{true, false} {
				here := runScript(t, shell, rewritten, &arrived)
				if shell[0] == "bash" && strings.Contains(text, "eval ") {
					original.seen, here.seen = bashLine.ReplaceAllString(original.seen, "s: "), bashLine.ReplaceAllString(here.seen, "s: ")
				}
				if original.seen != here.seen {
					t.Errorf("values arrived: %v\n--- script\n%s\n--- rewritten\n%s\n--- does\n%s\n--- should do\n%s", arrived, text, rewritten, here.seen, original.seen)
				}
				if last, is := here.files["final"]; is && strings.HasPrefix(here.seen, "exit 0\n") && last != here.kept["out"] {
					t.Errorf("out is %q at the end, kept is %q\n%s\n--- rewritten\n%s", last, here.kept["out"], text, rewritten)
				}
			}
		})
	}
}

// bashLine is the line of an error of bash's: in a command substitution that has called eval, which
// waiting for an input does, too, it counts wrongly.
var bashLine = regexp.MustCompile(`(?m)^s: line \d+: `)

func rewrittenScript(t *testing.T, text string) string {
	role := driver.Role{Name: "r", Source: text}
	for _, name := range slices.Sorted(maps.Keys(scriptInputs)) {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	for _, name := range scriptOutputs {
		role.Outputs = append(role.Outputs, &program.Output{Name: name})
	}
	diags := &source.Diagnostics{}
	meaning := compiled.Driver.Lower(role, diags)
	if meaning == nil || meaning.Finish == nil {
		t.Fatalf("not taken: %v\n%s", diags, text)
	}
	_, files := meaning.Finish(slices.Sorted(maps.Keys(scriptInputs)))
	return string(files[0].Data)
}

// did is what a run left behind.
type did struct {
	seen        string
	files, kept map[string]string
}

// runScript runs a script with its inputs in the environment (arrived is nil) or
// as the agent would give them: in files, or asked for.
func runScript(t *testing.T, shell []string, text string, arrived *bool) did {
	work, private := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(work, "s"), text)
	cmd := exec.CommandContext(context.Background(), shell[0], append(slices.Clone(shell[1:]), "s")...)
	cmd.Dir, cmd.Stdin, cmd.Env = work, strings.NewReader(scriptStdin), []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if arrived == nil {
		for name, value := range scriptInputs {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	} else {
		s := script.Shell{Folder: private, Inputs: map[string]string{}, Outputs: map[string]string{}, OutputsPrefix: filepath.Join(private, "output")}
		s.Agent = []string{"sh", filepath.Join(private, "ask")}
		write(s.Agent[1], `cat "${0%ask}answer.$1"`+"\n")
		for _, name := range scriptOutputs {
			s.Outputs[name] = name
		}
		for name := range scriptInputs {
			s.Inputs[name] = name
		}
		if err := s.Write(); err != nil {
			t.Fatal(err)
		}
		for name, value := range scriptInputs {
			quoted, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			write(filepath.Join(private, "answer."+name), script.Assignment(name, name, quoted))
			if *arrived {
				if err := s.Arrive(name, quoted); err != nil {
					t.Fatal(err)
				}
			}
		}
		cmd.Env = append(cmd.Env, "hotc_shell="+filepath.Join(private, "shell"))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	d := did{files: filesIn(t, work), kept: filesIn(t, filepath.Join(private, "kept"))}
	delete(d.files, "s")
	d.seen = fmt.Sprintf("exit %d\nstdout:\n%sstderr:\n%sfiles: %q", cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), d.files)
	return d
}

func filesIn(t *testing.T, folder string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[name] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// generator writes scripts that end.
type generator struct {
	rand      *rand.Rand
	functions int
	loops     int
	files     int
}

func (g *generator) script() string {
	var b strings.Builder
	b.WriteString(g.of("", "", "set -e\n", "set -u\n", "set -eu\n", "trap 'echo \"bye $? $db\"' EXIT\n", "exec 2>&1\n"))
	for range 3 + g.rand.IntN(5) {
		b.WriteString(g.statement(3) + "\n")
	}
	b.WriteString("printf %s \"${out-}\" >final\n")
	return b.String()
}

func (g *generator) of(texts ...string) string { return texts[g.rand.IntN(len(texts))] }

// file is a name that nothing else in the script writes to: what a pipeline writes in the background
// would come before or after it.
func (g *generator) file() string {
	g.files++
	return fmt.Sprintf("file%d", g.files)
}

func (g *generator) word() string {
	return g.of("$db", `"$port"`, `"$name"`, "$items", "${empty:-d}", "$n", `"$multi"`, "$?", `"$(echo $db; false)"`, "$((n + 1))", "x",
		"${out-none}", "${url:-$port}", `"${count:-0}"`, "$LINENO", "`echo $port`", "$#", "${fresh:=$n}")
}

func (g *generator) test() string {
	return g.of("true", "false", `[ "$n" = 3 ]`, `[ -n "$empty" ]`, `test "$db"`, "! true", `echo "$port" | grep -q 8`, "(exit $n)", `[ "${out-}" ]`)
}

func (g *generator) list(depth int) string {
	var list []string
	for range 1 + g.rand.IntN(2) {
		list = append(list, g.statement(depth))
	}
	return strings.Join(list, "\n")
}

func (g *generator) statement(depth int) string {
	if depth == 0 {
		return g.simple()
	}
	inner := func() string { return g.list(depth - 1) }
	switch g.rand.IntN(15) {
	case 0:
		return "if " + g.test() + "; then\n" + inner() + "\nelse " + inner() + "\nfi"
	case 1:
		return "for i in " + g.of("1 2", "$items", `"$db" $port`) + "; do\n" + inner() + "\n" + g.of(":", "false", "[ $i = b ] && break", "continue") + "\ndone"
	case 2:
		return "case " + g.word() + " in 10*) " + inner() + "\n;;\n$port | x) " + inner() + "\n;;\n*) " + inner() + "\nesac"
	case 3:
		return "{ " + inner() + "\n}" + g.of("", " >"+g.file(), " 2>/dev/null", " | cat", " || echo $?")
	case 4:
		return "( " + inner() + "\n)" + g.of("", " >"+g.file(), " && echo $name", " | sort", " || echo $?")
	case 5:
		g.functions++
		name := fmt.Sprintf("f%d", g.functions)
		return name + "() {\n" + inner() + "\n" + g.of("return 3", ":", "echo $1", "false") + "\n}\n" + name + " " + g.word() + g.of("", " || echo $?", "; "+name, " | cat")
	case 6:
		return g.test() + " && " + g.simple() + " || " + g.simple()
	case 7:
		return "x=$(:\n" + inner() + "\n)\necho \"$? $x\""
	case 8:
		return "cat <<E" + g.of("", " | tr a-z A-Z", " >"+g.file(), " && echo $n") + "\n" + g.word() + " $(echo $db) $((port + n))\nE"
	case 9:
		g.loops++
		v := fmt.Sprintf("k%d", g.loops)
		return v + "=0\nwhile [ $" + v + " -lt " + g.of("2", "$n") + " ]; do " + v + "=$((" + v + " + 1))\n" + inner() + "\ndone"
	case 10:
		file := g.file()
		return "{ " + inner() + "\n} >" + file + " & wait $!\necho $?\ncat " + file
	case 11:
		return g.test() + "\necho $?\n" + g.simple()
	case 12:
		return "printf '%s\\n' " + g.word() + " | while read -r line; do " + inner() + "\necho \"$line\"; done"
	}
	return g.simple()
}

func (g *generator) simple() string {
	switch g.rand.IntN(14) {
	case 0:
		return "out=" + g.of(`"$db"`, `"$(echo $port)"`, "$?", `"${out-}x"`, "1")
	case 1:
		return "url=" + g.of(`"http://$db:$port"`, "$(false)", "x")
	case 2:
		return "count=$((n + 1))"
	case 3:
		return "eval 'echo \"$" + g.of("db", "port", "name") + "\"'"
	case 4:
		return g.of("db=own", "unset port", "read -r name", "n=2", "db=x sh -c 'echo $db'", "export url=e", ": ${empty:=full}", "set -- $items")
	case 5:
		return g.test()
	case 6:
		return "sh -c 'echo \"$db ${port-gone} $n\"'"
	case 7:
		return "echo 'echo lib $name; out=lib' >lib.sh; . ./lib.sh"
	case 8:
		return "(exit " + g.of("0", "3", "$n") + ")"
	}
	return "echo " + g.word() + " " + g.word()
}
