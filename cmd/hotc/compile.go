package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/userdata"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newCompileCommand(s streams) *cobra.Command {
	var (
		in     compilation
		output string
		quiet  bool
	)
	cmd := &cobra.Command{
		Use:   "compile TEMPLATE -o DIR",
		Short: "Compile a template into a folder for stock Heat and `hotc apply`",
		Long: `Compile a template into a folder: stack.yaml for stock Heat with the files that it
names, plan.json and the roles' files for hotc apply. The folder is self-contained.
Nothing is written if there is an error.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usageError{fmt.Errorf("compile needs -o DIR")}
			}
			if in.coordinator == "" {
				in.coordinator = os.Getenv(coordinatorVariable)
			}
			o, err := in.options(args[0])
			if err != nil {
				return err
			}
			r, err := compileWith(cmd.Context(), o, s)
			if err != nil {
				return err
			}
			if err := r.Folder.Write(output); err != nil {
				return err
			}
			if !quiet {
				printCompiled(s, r, output, in.coordinator)
			}
			return nil
		},
	}
	in.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `DIR` to write")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only diagnostics")
	return cmd
}

// compilation holds the flags of the commands that compile.
type compilation struct {
	environments, parameters, limits, digests []string
	secretParameters                          []string
	coordinator, agentURL, signal, facts      string
	cloud                                     emit.Cloud
}

// autoSignal leaves to hotc who reports to Heat.
const autoSignal = "auto"

func (c *compilation) addFlags(f *pflag.FlagSet) {
	c.addSharedFlags(f)
	f.StringVar(&c.coordinator, "coordinator", "", "default `URL` of the parameter hotc_coordinator: zk://HOST:PORT[,…]/ROOT or zk+tls://…?ca=FILE (hotc compile: default $"+coordinatorVariable+")")
	f.StringVar(&c.signal, "signal", "heat", "who reports to Heat when roles are done: `heat|relay|none` (the servers; \"hotc relay\"; no one, and the stack does not wait for roles)")
	f.StringArrayVar(&c.secretParameters, "secret-param", nil, "`NAME` of a hidden parameter that \"hotc apply --secret-param\" supplies to roles and Heat does not get (repeatable)")
}

// addSharedFlags adds the flags that `hotc up` has as well.
func (c *compilation) addSharedFlags(f *pflag.FlagSet) {
	c.addTemplateFlags(f)
	f.StringVar(&c.agentURL, "agent-url", "", "default `URL` of the parameter hotc_agent_url, from which servers download the agent; {arch} and {version} are replaced (default: from the coordinator)")
	f.StringArrayVar(&c.digests, "agent-sha256", nil, "SHA-256 digest of the agent for an architecture such as amd64: `ARCH=HEX` (repeatable; default: of the agents next to hotc, or of its release)")
	f.StringArrayVar(&c.limits, "limit", nil, "limit of your cloud, template, resources, depth or user_data: `NAME=VALUE` (repeatable)")
	addCloudFlags(f, &c.cloud)
	f.StringVar(&c.facts, "facts", "run", "who supplies servers' addresses and ids to roles: `run|heat` (agents at run time, or Heat)")
}

func addCloudFlags(f *pflag.FlagSet, c *emit.Cloud) {
	f.StringVar(&c.Heat, "heat", "", "`RELEASE` of your cloud's Heat: zed, 2023.1, 19, … (default: what Debian's Heat 19 and most others support)")
	f.StringArrayVar(&c.Types, "types", nil, "`FILE` or folder with your cloud's own resource types, as \"openstack orchestration resource type show\" prints them (repeatable)")
}

func (c *compilation) addTemplateFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&c.environments, "environment", "e", nil, "environment `FILE` (repeatable)")
	f.StringArrayVarP(&c.parameters, "parameter", "P", nil, "set a parameter: `NAME=VALUE` (repeatable)")
}

// options converts the flags to the compiler's options.
func (c *compilation) options(template string) (emit.Options, error) {
	o := emit.Options{Template: template, Environments: c.environments, Parameters: map[string]string{},
		AgentURL: c.agentURL, SecretParameters: c.secretParameters, AgentDigests: map[userdata.Arch]string{}, Limits: emit.DefaultLimits, Drivers: drivers(), Version: version}
	if c.coordinator != "" {
		portable, err := dial.Portable(c.coordinator, true)
		if err != nil {
			return o, usageError{fmt.Errorf("--coordinator %w", err)}
		}
		o.Coordinator = portable
	}
	for _, p := range c.parameters {
		name, value, err := assignment("-P", p)
		if err != nil {
			return o, err
		}
		o.Parameters[name] = value
	}
	for _, name := range c.secretParameters {
		if strings.Contains(name, "=") { // what follows may be the secret itself
			return o, usageError{fmt.Errorf("--secret-param takes only the parameter's NAME here; pass its value to `hotc apply --secret-param NAME=FILE`")}
		}
	}
	for _, l := range c.limits {
		name, value, err := assignment("--limit", l)
		if err != nil {
			return o, err
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return o, usageError{fmt.Errorf("--limit %s: %q is not a positive whole number", name, value)}
		}
		if err := o.Limits.Set(name, n); err != nil {
			return o, usageError{err}
		}
	}
	for _, d := range c.digests {
		arch, hex, err := assignment("--agent-sha256", d)
		if err != nil {
			return o, err
		}
		if err := userdata.CheckDigest(userdata.Arch(arch), hex); err != nil {
			return o, usageError{fmt.Errorf("--agent-sha256: %w", err)}
		}
		o.AgentDigests[userdata.Arch(arch)] = hex
	}
	if len(o.AgentDigests) == 0 {
		for digest, a := range agentsBeside() {
			o.AgentDigests[a.arch] = digest
		}
	}
	if len(o.AgentDigests) == 0 {
		for arch, digest := range agentsReleased() {
			o.AgentDigests[arch] = digest
		}
	}
	o.AgentURL = strings.ReplaceAll(o.AgentURL, "{version}", version)
	var diags source.Diagnostics
	if o.Types = c.cloud.Catalogue(&diags); diags.Failed() {
		return o, diags.All()[0]
	}
	return o, c.choices(&o)
}

// choices parses the flags that take one of a few words.
func (c *compilation) choices(o *emit.Options) error {
	switch c.signal {
	case string(contract.AgentsSignal), string(contract.RelaySignals), string(contract.NobodySignals):
		o.Signal = contract.Signalling(c.signal)
	default:
		return usageError{fmt.Errorf("--signal is heat, relay or none (in \"hotc up\" and \"hotc lint\" also auto), not %q", c.signal)}
	}
	switch c.facts {
	case "run":
	case "heat":
		o.Facts = binding.FactsFromHeat
	default:
		return usageError{fmt.Errorf("--facts is run or heat, not %q", c.facts)}
	}
	if o.AgentURL == "" {
		return nil
	}
	if err := userdata.CheckURL(o.AgentURL); err != nil {
		return usageError{fmt.Errorf("--agent-url: %w", err)}
	}
	if len(o.AgentDigests) == 0 {
		return source.Fail(source.Usage, "--agent-url needs the agent's digest: servers do not run an agent that they cannot verify",
			"--agent-sha256 amd64=$(sha256sum hotc-agent | cut -d' ' -f1)")
	}
	return nil
}

func assignment(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", usageError{fmt.Errorf("%s takes NAME=VALUE, not %q", flag, text)}
	}
	return name, value, nil
}

func compileWith(ctx context.Context, o emit.Options, s streams) (*emit.Result, error) {
	r, _, err := interruptible(ctx, o, s, emit.Compile)
	return r, err
}

// interruptible runs the compiler, which looks at no context: a command that is interrupted ends its
// plug-ins, and the compiler ends with its process. sound says that there were no errors.
func interruptible(ctx context.Context, o emit.Options, s streams, compile func(emit.Options, *source.Diagnostics) *emit.Result) (r *emit.Result, sound bool, err error) {
	var diags source.Diagnostics
	plugins := &pluginMachine{ctx: ctx}
	o.Drivers = driversWith(plugins)
	made := make(chan *emit.Result, 1)
	mistake.Go(func() { made <- compile(o, &diags) })
	select {
	case r = <-made:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		plugins.ended()
		return nil, false, context.Cause(ctx)
	}
	s.print(diags.All()...)
	if r == nil {
		return nil, false, errReported
	}
	return r, !diags.Failed(), nil
}

func printCompiled(s streams, r *emit.Result, dir, coordinator string) {
	if coordinator == "" {
		coordinator = "zk://HOST:2181/hotc"
	}
	p := r.Built.Plan
	if len(p.Servers) == 0 {
		fmt.Fprintf(s.out, "%s: no server has roles; stack.yaml is the unchanged template\n", dir)
		return
	}
	count := 0
	for _, server := range p.Servers {
		count += len(server.Roles)
	}
	fmt.Fprintf(s.out, "%s: %s with %s, %s\n", dir, source.Counted(len(p.Servers), "server"), source.Counted(count, "role"), source.Counted(len(p.Cells), "cell"))
	if n := p.Undecided(); n > 0 {
		fmt.Fprintf(s.out, "  Heat decides whether to create %d of them\n", n)
	}
	if n := r.Emitted.Ignored; n > 0 {
		fmt.Fprintf(s.out, "  user_data_update_policy: IGNORE is set on %s: a change of user_data replaces none of them\n", source.Counted(n, "server"))
	}
	for _, line := range append(r.HeatCannotTell(), r.Unnoticed()...) {
		fmt.Fprintf(s.out, "  %s\n", line)
	}
	if line := r.ReachNobody(); line != "" {
		fmt.Fprintf(s.out, "  %s\n", line)
	}
	given := ""
	for _, secret := range p.Secrets {
		given += operate.SecretFlags(secret.Name)
	}
	fmt.Fprintf(s.out, "next: hotc secret new SECRET-FILE\n      hotc apply %s NAME --coordinator %s --secret-file SECRET-FILE%s\n", shellQuote(dir), shellQuote(coordinator), given)
}
