package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/localheat"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

func newRunCommand(s streams) *cobra.Command {
	var (
		in      compilation
		facts   []string
		secrets []string
		workdir string
		agent   string
		asJSON  bool
		output  bool
	)
	cmd := &cobra.Command{
		Use:   "run TEMPLATE",
		Short: "Run all roles of a template on this machine, without Heat and ZooKeeper",
		Long: `Compile a template and run its roles for real on this machine: a coordinator in this
process, and for each server an agent of its own with a folder of its own. Addresses
(127.x.y.z), the names and ids of servers and stacks, and random strings are made up; what
else only Heat would know is given with --fact. Of a role that fails the last lines are shown,
with --output all that roles print, as it comes.`,
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
			result, err := compileWith(o, s)
			if err != nil {
				return err
			}
			r := &localRun{streams: s, result: result, asJSON: asJSON, output: output, started: time.Now()}
			given, err := parseFacts(facts, result.Program)
			if err != nil {
				return err
			}
			r.heat = localheat.New(string(deploymentName), result, given)
			if r.gifts, err = readGifts(cmd.Context(), secrets, result.Built.Plan, s); err != nil {
				return err
			}
			if r.agent, err = findAgent(agent); err != nil {
				return err
			}
			return r.run(cmd.Context(), workdir)
		},
	}
	in.addTemplateFlags(cmd.Flags())
	in.signal, in.facts = "none", "run"
	cmd.Flags().StringArrayVar(&facts, "fact", nil, "RESOURCE.ATTRIBUTE=VALUE, what Heat would know (several times)")
	cmd.Flags().StringArrayVar(&secrets, "secret-param", nil, "`NAME=FILE`, the value of a hidden parameter that only roles read, given sealed; - is standard input (several times)")
	cmd.Flags().StringVar(&workdir, "workdir", "", "keep everything in this `DIR`: what a role wrote, its stdout, stderr and status")
	cmd.Flags().StringVar(&agent, "agent", "", "the hotc-agent to run (default: beside hotc, or on PATH)")
	cmd.Flags().BoolVar(&output, "output", false, "show what roles print while they run, with --json on standard error")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// localRun is one run of a template on this machine.
type localRun struct {
	streams
	result  *emit.Result
	heat    *localheat.Heat
	gifts   []gift
	agent   string // path of hotc-agent
	asJSON  bool
	output  bool
	started time.Time

	workdir string
	session *session
	url     string
	broken  []status.Cycle // that were found while it ran
}

// deploymentName is the name of the deployment where there is no stack.
const deploymentName coordinator.Deployment = "run"

func (r *localRun) run(ctx context.Context, workdir string) error {
	if len(r.result.Built.Plan.Servers) == 0 {
		return source.Fail(source.Usage, "no server of the template has roles", "roles stand in a server's metadata under `hotc:`")
	}
	boots, lacking, err := r.heat.Boots()
	for i, d := range lacking {
		if i == len(lacking)-1 {
			return d
		}
		source.Print(r.err, d, r.errStyle())
	}
	if err != nil {
		return err
	}
	kept := workdir != ""
	if r.workdir, err = makeWorkdir(workdir); err != nil {
		return err
	}
	if !kept {
		defer os.RemoveAll(r.workdir)
	}
	runtime, err := os.MkdirTemp("", "hotc-run-") // a socket's path must be short
	if err != nil {
		return source.Fail(source.OperationFailed, err.Error(), "")
	}
	defer os.RemoveAll(runtime)
	if err := r.serve(ctx, filepath.Join(runtime, "coordinator")); err != nil {
		return err
	}
	defer r.session.Close()
	for i := range boots {
		boots[i].Coordinator = r.url
		boots[i].Token = r.session.Secret.ServerToken(deploymentName, boots[i].Server)
	}
	states, err := r.runAgents(ctx, boots)
	if err != nil {
		return err
	}
	return r.report(states, kept)
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

// serve starts the coordinator and publishes the plan on it.
func (r *localRun) serve(ctx context.Context, socket string) error {
	secret, err := coordinator.NewSecret(rand.Reader)
	if err != nil {
		return err
	}
	tree := memory.New()
	server, err := startServing(ctx, tree, socket)
	if err != nil {
		return source.Fail(source.NoCoordinator, "the local coordinator cannot listen: "+err.Error(), "")
	}
	r.url = "unix://" + socket
	store := &servedStore{Store: tree.Open(secret.Operator(deploymentName)), server: server}
	r.session = (&target{stack: string(deploymentName), url: r.url, timeout: time.Minute}).session(store, deploymentName, secret)
	text, err := emitplan.Encode(r.result.Built.Plan)
	if err != nil {
		return err
	}
	files := func(digest string) ([]byte, error) {
		data, ok := r.result.Built.Files[digest]
		if !ok {
			return nil, fmt.Errorf("no file %s", digest)
		}
		return data, nil
	}
	_, err = deploy.Publish(ctx, store, deploy.Publication{Deployment: deploymentName, Secret: secret, Plan: r.result.Built.Plan, JSON: text, Files: files, Now: time.Now()})
	if err == nil {
		err = r.session.give(ctx, r.result.Built.Plan, r.gifts)
	}
	return r.session.explain(ctx, err)
}

// serving is the coordinator's server on the socket.
type serving struct {
	stop  context.CancelFunc
	ended chan error
}

// startServing returns when agents can connect. The server outlives Ctrl-C: agents
// report over it how they end.
func startServing(ctx context.Context, tree *memory.Tree, socket string) (*serving, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &serving{stop: stop, ended: make(chan error, 1)}
	go func() {
		defer mistake.Ends()
		s.ended <- memory.Serve(ctx, tree, socket)
	}()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return s, conn.Close()
		}
		select {
		case err := <-s.ended:
			stop()
			return nil, err
		case <-time.After(time.Millisecond):
		}
	}
}

// Close ends the server.
func (s *serving) Close() error {
	s.stop()
	return <-s.ended
}

// servedStore closes the server together with the operator's own session.
type servedStore struct {
	coordinator.Store
	server *serving
}

// Close ends the session and the server.
func (s *servedStore) Close() error {
	err := s.Store.Close()
	if closing := s.server.Close(); err == nil {
		err = closing
	}
	return err
}

// findAgent looks for the agent's binary.
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
		return "", source.Fail(source.NoAgent, fmt.Sprintf("hotc-agent is not found: %v", err), "build it with `make`, put it beside hotc, or name it with --agent")
	}
	return path, nil
}

// parseFacts reads the flags --fact; a value is JSON, or else a string. A resource of
// a nested stack is named by its path.
func parseFacts(given []string, p *program.Program) (localheat.Facts, error) {
	out := localheat.Facts{}
	known := map[string]bool{}
	if len(given) > 0 {
		p.Root.Walk(func(s *program.Stack) {
			for _, r := range s.Template.Resources {
				known[s.PathOf(r.Name)] = true
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

// splitFact reads RESOURCE.ATTRIBUTE=VALUE; a resource's name may hold dots.
func splitFact(text string) (resource, attribute, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	dot := strings.LastIndexByte(key, '.')
	if !ok || dot <= 0 || dot == len(key)-1 {
		return "", "", "", usageError{fmt.Errorf("--fact takes RESOURCE.ATTRIBUTE=VALUE, not %q", text)}
	}
	return key[:dot], key[dot+1:], value, nil
}
