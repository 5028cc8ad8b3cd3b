package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
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
names, plan.json and the roles' files for hotc apply. The folder needs nothing
from where it was made. Nothing is written if there is an error.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
			r, err := compileWith(o, s)
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
	cmd.Flags().StringVarP(&output, "output", "o", "", "the folder to write")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only diagnostics")
	return cmd
}

// compilation are the flags of the commands that compile.
type compilation struct {
	environments, parameters, limits, digests []string
	secretParameters                          []string
	coordinator, agentURL, signal, facts      string
	cloud                                     emit.Cloud
}

func (c *compilation) addFlags(f *pflag.FlagSet) {
	c.addShapeFlags(f)
	f.StringVar(&c.coordinator, "coordinator", "", "the `URL` that is the default of the parameter hotc_coordinator: zk://HOST:PORT[,…]/ROOT, or zk+tls://…?ca=FILE (hotc compile: default $"+coordinatorVariable+")")
	f.StringVar(&c.signal, "signal", "heat", "heat: the stack completes when every role has, and servers tell it; relay: \"hotc relay\" tells it; none: leave Heat out")
	f.StringArrayVar(&c.secretParameters, "secret-param", nil, "`NAME` of a hidden parameter that \"hotc apply --secret-param\" gives to roles, and Heat does not get (several times)")
}

// addShapeFlags are those that `hotc up` has as well.
func (c *compilation) addShapeFlags(f *pflag.FlagSet) {
	c.addTemplateFlags(f)
	f.StringVar(&c.agentURL, "agent-url", "", "default of the parameter hotc_agent_url: where servers get the agent, {arch} and {version} are replaced; without it from the coordinator")
	f.StringArrayVar(&c.digests, "agent-sha256", nil, "ARCH=HEX, digest of the agent for amd64, arm64, … (several times; default: of the agents beside hotc, or of its release)")
	f.StringArrayVar(&c.limits, "limit", nil, "NAME=VALUE, a limit of your cloud: template, resources, depth or user_data (several times)")
	addCloudFlags(f, &c.cloud)
	f.StringVar(&c.facts, "facts", "run", "who gives servers' addresses and ids to roles: run (agents) or heat")
}

func addCloudFlags(f *pflag.FlagSet, c *emit.Cloud) {
	f.StringVar(&c.Heat, "heat", "", "the `RELEASE` of your cloud's Heat: zed, 2023.1, 19, … (default: what Debian's Heat 19 and most others know)")
	f.StringArrayVar(&c.Types, "types", nil, "`FILE` or folder with your cloud's own resource types, as \"openstack orchestration resource type show\" prints them (several times)")
}

func (c *compilation) addTemplateFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&c.environments, "environment", "e", nil, "an environment file (several times)")
	f.StringArrayVarP(&c.parameters, "parameter", "P", nil, "NAME=VALUE, a parameter's value known now (several times)")
}

// options makes the compiler's options of the flags.
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
		if strings.Contains(name, "=") { // what stands behind it may be the secret itself
			return o, usageError{fmt.Errorf("--secret-param takes a parameter's NAME here; its value is for `hotc apply --secret-param NAME=FILE`")}
		}
	}
	for _, l := range c.limits {
		name, value, err := assignment("--limit", l)
		if err != nil {
			return o, err
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return o, usageError{fmt.Errorf("--limit %s: %q is not a number", name, value)}
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

// choices reads the flags that take one of a few words.
func (c *compilation) choices(o *emit.Options) error {
	switch c.signal {
	case string(contract.AgentsSignal), string(contract.RelaySignals), string(contract.NobodySignals):
		o.Signal = contract.Signalling(c.signal)
	default:
		return usageError{fmt.Errorf("--signal is heat, relay or none, or in \"hotc up\" auto, and not %q", c.signal)}
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
		return source.Fail(source.Usage, "--agent-url needs the agent's digest: a server does not run what it cannot check",
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

func compileWith(o emit.Options, s streams) (*emit.Result, error) {
	var diags source.Diagnostics
	r := emit.Compile(o, &diags)
	s.print(diags.All()...)
	if r == nil {
		return nil, errReported
	}
	return r, nil
}

func printCompiled(s streams, r *emit.Result, dir, coordinator string) {
	if coordinator == "" {
		coordinator = "zk://HOST:2181/hotc"
	}
	p := r.Built.Plan
	if len(p.Servers) == 0 {
		fmt.Fprintf(s.out, "%s: no server has roles; stack.yaml is the template as it was\n", dir)
		return
	}
	count := 0
	for _, server := range p.Servers {
		count += len(server.Roles)
	}
	fmt.Fprintf(s.out, "%s: %s with %s, %s\n", dir, source.Counted(len(p.Servers), "server"), source.Counted(count, "role"), source.Counted(len(p.Cells), "cell"))
	if n := p.Undecided(); n > 0 {
		fmt.Fprintf(s.out, "  Heat decides whether to make %d of them\n", n)
	}
	if n := r.Emitted.Ignored; n > 0 {
		fmt.Fprintf(s.out, "  user_data_update_policy: IGNORE is set on %s, so that no change of user_data replaces one\n", source.Counted(n, "server"))
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
	fmt.Fprintf(s.out, "next: hotc secret new SECRET-FILE\n      hotc apply %s --stack NAME --coordinator %s --secret-file SECRET-FILE%s\n", shellQuote(dir), shellQuote(coordinator), given)
}
