package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/localheat"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
	"github.com/hotc-dev/hotc/runtime/live"
	"github.com/hotc-dev/hotc/runtime/localrun"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newRunCommand(s streams) *cobra.Command {
	var (
		r              = localRun{streams: s}
		in             compilation
		facts, secrets []string
		workdir, agent string
	)
	cmd := &cobra.Command{
		Use:   "run TEMPLATE",
		Short: "Run a template's roles on this machine, without a cloud",
		Long: `Compile a template and run its roles on this machine, without Heat and ZooKeeper: the
coordinator is in this process, and each server has an agent and a folder of its own.
Addresses (127.x.y.z), the names and ids of servers and stacks, and random strings are
made up; set other values that only Heat would know with --fact. If a role fails, the end
of its output is shown; --output shows all output as roles print it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := in.options(args[0])
			if err != nil {
				return err
			}
			o.WithoutHeat, o.Signal = true, contract.NobodySignals
			if o.SecretParameters, err = secretNames(secrets); err != nil {
				return err
			}
			if r.result, err = compileWith(cmd.Context(), o, s); err != nil {
				return err
			}
			r.started, r.width = time.Now(), longestRole(r.result.Built.Plan)
			given, err := parseFacts(facts, r.result.Program)
			if err != nil {
				return err
			}
			r.heat = localheat.New(string(localrun.Name), r.result, given)
			if r.setup.Given, err = readGifts(cmd.Context(), secrets, r.result.Built.Plan, s); err != nil {
				return err
			}
			if r.setup.Agent, err = findAgent(agent); err != nil {
				return err
			}
			return r.run(cmd.Context(), workdir)
		},
	}
	in.addTemplateFlags(cmd.Flags())
	in.signal, in.facts = "none", "run"
	cmd.Flags().StringArrayVar(&facts, "fact", nil, "set a value that Heat would know, as RESOURCE.ATTRIBUTE=VALUE: `FACT` (repeatable)")
	cmd.Flags().StringArrayVar(&secrets, "secret-param", nil, "read the value of a hidden parameter that only roles read, sealed: `NAME=FILE`; - is standard input (repeatable)")
	cmd.Flags().StringVar(&workdir, "workdir", "", "keep each role's files, output and status in `DIR`")
	cmd.Flags().StringVar(&agent, "agent", "", "hotc-agent `PROGRAM` to run (default: next to hotc, or on PATH)")
	cmd.Flags().BoolVar(&r.output, "output", false, "show roles' output while they run, with --json on standard error")
	cmd.Flags().BoolVar(&r.asJSON, "json", false, "print the result as JSON")
	return cmd
}

// localRun is one run of a template on this machine, and prints it.
type localRun struct {
	streams
	result  *emit.Result
	heat    *localheat.Heat
	setup   localrun.Setup
	asJSON  bool
	output  bool
	started time.Time
	width   int // of the longest role's key

	session *session
	running *localrun.Run
}

func (r *localRun) run(ctx context.Context, workdir string) error {
	built := r.result.Built
	if len(built.Plan.Servers) == 0 {
		return source.Fail(source.Usage, "no server of the template has roles", "write roles in a server's metadata under `hotc:`")
	}
	boots, lacking, err := r.heat.Boots()
	for i, d := range lacking {
		if i == len(lacking)-1 {
			return d
		}
		r.print(d)
	}
	if err != nil {
		return err
	}
	if r.setup.Workdir, err = makeWorkdir(workdir); err != nil {
		return err
	}
	if workdir == "" {
		defer os.RemoveAll(r.setup.Workdir)
	}
	r.setup.Plan, r.setup.Boots, r.setup.Files = built.Plan, boots, built.Files
	if r.setup.JSON, err = emitplan.Encode(built.Plan); err != nil {
		return err
	}
	r.setup.Changed, r.setup.Beside = r.changed, r.beside
	if r.output {
		r.setup.Printed = r.printed
	}
	r.session = &session{&live.Observer{Operator: &operate.Operator{Deployment: localrun.Name}}, &target{stack: string(localrun.Name)}}
	if r.running, err = localrun.Start(ctx, r.setup); err != nil {
		return r.explain(ctx, err)
	}
	defer r.running.Close()
	r.session.Operator = r.running.Operator
	result, err := r.running.Roles(ctx)
	if err != nil {
		return r.explain(ctx, err)
	}
	return r.report(result, workdir != "")
}

// explain says why a run failed. For one that was ended from outside, exit knows the reason: a
// signal, or output that could not be written.
func (r *localRun) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.session.explain(ctx, err)
}

func makeWorkdir(dir string) (string, error) {
	if dir == "" {
		made, err := os.MkdirTemp("", "hotc-work-")
		if err != nil {
			return "", source.Fail(source.OperationFailed, err.Error(), "")
		}
		return made, nil
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return "", source.Fail(source.OutputFolder, dir+" is not empty", "name a new folder with --workdir")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", source.Fail(source.OutputFolder, err.Error(), "")
	}
	return filepath.Abs(dir)
}

func findAgent(given string) (string, error) {
	if given == "" {
		if self, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(self), "hotc-agent")
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				return beside, nil
			}
		}
		given = "hotc-agent"
	}
	path, err := exec.LookPath(given)
	if err != nil {
		return "", source.Fail(source.NoAgent, fmt.Sprintf("hotc-agent not found: %v", err), "build it with `make`, put it next to hotc, or name it with --agent")
	}
	return path, nil
}

// parseFacts parses the flags --fact; a value is JSON, or otherwise a string. A resource of a
// nested stack is named by its path.
func parseFacts(given []string, p *program.Program) (localheat.Facts, error) {
	out := localheat.Facts{}
	known := map[string]bool{}
	if len(given) > 0 {
		p.Root.Walk(func(s *program.Stack) {
			for _, r := range s.Template.Resources {
				known[string(s.PathOf(r.Name))] = true
			}
		})
	}
	for _, text := range given {
		resource, attribute, said, err := splitFact(text)
		if err != nil {
			return nil, err
		}
		if !known[resource] {
			return nil, source.Fail(source.UnknownResource, fmt.Sprintf("--fact %s: the template has no resource %q", text, resource), "")
		}
		if out[resource] == nil {
			out[resource] = map[string]value.Value{}
		}
		v, err := yaml.DecodeJSON([]byte(said))
		if err != nil {
			v = said
		}
		out[resource][attribute] = v
	}
	return out, nil
}

// splitFact parses RESOURCE.ATTRIBUTE=VALUE; a resource's name may contain dots.
func splitFact(text string) (resource, attribute, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	dot := strings.LastIndexByte(key, '.')
	if !ok || dot <= 0 || dot == len(key)-1 {
		return "", "", "", usageError{fmt.Errorf("--fact takes RESOURCE.ATTRIBUTE=VALUE, not %q", text)}
	}
	return key[:dot], key[dot+1:], value, nil
}

// longestRole is the width of the longest role's key.
func longestRole(p *contract.Plan) int {
	width := 0
	for s, role := range p.EachRole() {
		width = max(width, len(s.Path.Role(role.Name)))
	}
	return width
}

// say prints a line about a role.
func (r *localRun) say(role contract.RoleKey, what string) {
	if !r.asJSON {
		fmt.Fprintf(r.out, "%7s  %-*s  %s\n", status.Age(time.Since(r.started)), r.width, role, what)
	}
}

// printed shows a line of a role's output, after the role's name.
func (r *localRun) printed(role contract.RoleKey, line []byte) {
	to := r.out
	if r.asJSON {
		to = r.err
	}
	fmt.Fprintf(to, "%7s  %-*s  | %s\n", "", r.width, role, line)
}

func (r *localRun) beside(role contract.RoleKey, c status.Cycle) {
	r.say(role, "continues in parallel with its read, in a dependency cycle that only it can end: "+c.String())
}

func (r *localRun) changed(role contract.RoleKey, old, now protocol.RoleState) {
	for _, e := range status.RoleEvents(role, old, now) {
		if e.Waited > 0 {
			e.Text += ", of which it waited " + status.Age(e.Waited)
		}
		r.say(role, e.Text)
	}
}
