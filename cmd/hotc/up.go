package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/operate"
	"github.com/hotc-dev/hotc/runtime/relay"
	"github.com/hotc-dev/hotc/runtime/up"
)

func newUpCommand(s streams) *cobra.Command {
	a := ascent{conduct: conduct{io: s}}
	cmd := &cobra.Command{
		Use:   "up TEMPLATE NAME",
		Short: "Create or update a stack from a template, and follow it",
		Long: `Compile a template, publish its plan on the coordinator, let Heat create or update the
stack, and show what Heat and the roles do until everything is done or something has
failed. If the stack exists already, hotc shows the changes and asks for confirmation.

Ctrl-C stops only the display: Heat and the servers go on, and the same command returns to
them, even after kill -9. A role that has failed runs again, and Heat gets the template
again.

The first hotc up creates the deployment's secret and keeps it in your state folder
($XDG_STATE_HOME/hotc, usually ~/.local/state/hotc), where hotc's other commands find it,
or in --secret-file. It uses your Heat credentials: $OS_CLOUD names a cloud in
clouds.yaml, otherwise the OS_* variables are used.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.begin(cmd, args, a.hides)
			return a.run(cmd.Context(), args[0])
		},
	}
	a.target.addFlags(cmd, "")
	a.addRootKeyFlag(cmd)
	a.addLockFlag(cmd)
	a.compilation.addSharedFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&a.signal, "signal", autoSignal, "who reports to Heat when roles are done: `auto|relay|heat|none` (relay: this command while it runs, and \"hotc relay\"; heat: the servers; auto: relay)")
	f.StringArrayVar(&a.secrets, "secret-param", nil, "read the value of a hidden parameter that only roles, not Heat, get: `NAME=FILE`; - is standard input (repeatable)")
	f.BoolVar(&a.skipHooks, "skip-hooks", false, "remove roles and servers without running their delete hooks")
	f.StringVar(&a.enrol, "enrol", "", "how often a server's token admits a machine: `once|always` (default: always)")
	f.IntVar(&a.timeoutMinutes, "stack-timeout", 0, "`MINUTES` that Heat waits for the stack, including its roles (default: Heat's own, usually 60)")
	a.addConductFlags(f, "do not ask before changing an existing stack")
	return cmd
}

// conduct is what `hotc up` and `down` share: the cloud, and how they talk to the user.
type conduct struct {
	io     streams
	cloud  string
	yes    bool
	asJSON bool
	json   io.Writer // nil without --json
	// typed is the command line, quoted for a shell, without the values of hidden parameters.
	typed func() string
}

func (c *conduct) addConductFlags(f *pflag.FlagSet, yes string) {
	f.StringVar(&c.cloud, "cloud", "", "the cloud's `NAME` in clouds.yaml (default: $OS_CLOUD)")
	f.BoolVar(&c.yes, "yes", false, yes)
	f.BoolVar(&c.asJSON, "json", false, "print the result as JSON, and progress to standard error")
}

func (c *conduct) begin(cmd *cobra.Command, args []string, hides func(parameter string) bool) {
	c.typed = func() string { return commandLine(cmd, args, hides) }
	if c.asJSON {
		c.json, c.io.out = c.io.out, c.io.err
	}
}

// ascent is one run of `hotc up`.
type ascent struct {
	target
	compilation
	conduct
	secrets   []string
	enrol     string
	skipHooks bool
	// timeoutMinutes is the stack's; 0 is Heat's own.
	timeoutMinutes int

	relaying atomic.Bool // this command reports to Heat
	relays   int         // that go on when this command has ended
	// published are the stack's outputs as the roles have published them.
	published map[string]operate.Output
	compiled  *emit.Result
	folder    string
	view      *upView
}

// betweenHeatsLooks is the interval at which Heat is polled.
const betweenHeatsLooks = time.Second

// commandLine is a command with its flags, quoted for a shell. In place of a hidden parameter's value
// it has a word that no shell accepts, since the line is also copied, and kept in the logs of CI.
func commandLine(cmd *cobra.Command, args []string, hides func(parameter string) bool) string {
	words := append([]string{cmd.CommandPath()}, lists.Map(args, shellQuote)...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, v := range values {
			word := "--" + f.Name
			if f.Value.Type() == "bool" && v == "true" {
				words = append(words, word)
				continue
			}
			quoted := shellQuote(v)
			if name, _, _ := strings.Cut(v, "="); f.Name == "parameter" && hides(name) {
				quoted = shellQuote(name+"=") + "<hidden>"
			}
			words = append(words, word+" "+quoted)
		}
	})
	return strings.Join(words, " ")
}

// elsewhere is the hint if the compiled folder cannot be written.
const elsewhere = "set $TMPDIR to another folder"

func (a *ascent) run(ctx context.Context, template string) error {
	if err := a.check(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "hotc-up-") // its own: another run for the same stack may be at work
	if err != nil {
		return source.Fail(source.OperationFailed, "cannot write the compiled folder: "+err.Error(), elsewhere)
	}
	defer os.RemoveAll(folder)
	a.folder = filepath.Join(folder, "made")
	if err := a.compile(ctx, template); err != nil {
		return err
	}
	cloud, err := heat.Connect(ctx, heat.Options{Cloud: a.conduct.cloud})
	if err != nil {
		os.Remove(a.keptState()) // only if empty
		return a.ended(ctx, err)
	}
	a.warnRestricted(cloud)
	created, err := a.prepareSecret(ctx, cloud)
	if err != nil {
		return a.ended(ctx, err)
	}
	result, view, err := a.ascend(ctx, cloud)
	if d, is := source.AsDiagnostic(err); created != "" && err != nil && (is && d.Code == source.BadSecret || a.nothingIs(ctx, cloud)) {
		os.Remove(created) // no deployment uses it
		os.Remove(created + environmentSuffix)
	}
	if err != nil {
		os.Remove(a.keptState()) // only if empty
		return a.ended(ctx, err)
	}
	return a.report(ctx, cloud, time.Since(view.began), result)
}

// nothingIs reports whether there is neither a stack nor a deployment for sure.
func (a *ascent) nothingIs(ctx context.Context, cloud *heat.Client) bool {
	s, err := a.target.open(ctx)
	if err != nil {
		return false
	}
	defer s.Close()
	within, stop := s.Within(ctx)
	defer stop()
	_, there, errDeployment := s.Stat(within, s.Deployment.Root())
	_, errStack := cloud.Stack(within, a.stack)
	return errDeployment == nil && !there && errors.Is(errStack, heat.ErrNotFound)
}

// check refuses wrong flags before anything is done.
func (a *ascent) check() error {
	if _, err := a.deployment(); err != nil {
		return err
	}
	a.compilation.coordinator = a.coordinatorURL()
	if a.timeoutMinutes < 0 {
		return source.Fail(source.Usage, fmt.Sprintf("--stack-timeout %d: Heat takes whole minutes, at least 1", a.timeoutMinutes), "")
	}
	if a.signal == autoSignal {
		a.signal = string(contract.RelaySignals)
	}
	var err error
	a.secretParameters, err = secretNames(a.secrets)
	return err
}

// compile writes the compiled folder, and creates the state folder once the coordinator is named.
func (a *ascent) compile(ctx context.Context, template string) error {
	o, err := a.compilation.options(template)
	if err != nil {
		return err
	}
	if a.compiled, err = compileWith(ctx, o, a.io); err != nil {
		return err
	}
	if err := a.compiled.Folder.Write(a.folder); err != nil {
		return source.WithHint(err, elsewhere)
	}
	if err := a.checkParameters(); err != nil {
		return err
	}
	if _, err := a.named(); err != nil {
		return err
	}
	_, err = a.makeState()
	return err
}

// checkParameters asks for parameters that have no value.
func (a *ascent) checkParameters() error {
	o, set := a.stackOptions(""), a.environmentValues()
	var missing []string
	for _, p := range a.compiled.Program.Template.Parameters {
		_, hidden := o.Parameters[p.Name]
		_, given := o.Given[p.Name]
		if _, known := set[p.Name]; p.Default == nil && !hidden && !given && !known {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return source.Fail(source.Usage, "the template has no default for "+strings.Join(missing, ", "), "set each with -P NAME=VALUE, or in an environment file with -e FILE")
}

// stackOptions are the parameters for Heat. Values of hidden ones are not in the folder, and
// are passed so that Heat hides them.
func (a *ascent) stackOptions(secret string) heat.StackOptions {
	o := heat.StackOptions{TimeoutMinutes: a.timeoutMinutes, Parameters: map[string]json.RawMessage{}, Defaults: map[string]json.RawMessage{}, Given: map[string]json.RawMessage{}}
	if slices.Contains(openParameters(filepath.Join(a.folder, "stack.yaml")), contract.SecretParameter) {
		o.Parameters[contract.SecretParameter] = text(secret)
	}
	root := a.compiled.Program.Template
	for name, set := range a.compiled.Environment.Parameters {
		if a.hides(name) && root.Parameter(name) != nil {
			o.Parameters[name] = value.EncodeJSON(set.Value)
		}
	}
	for name, set := range a.compiled.Environment.Defaults {
		if a.hides(name) {
			o.Defaults[name] = value.EncodeJSON(set.Value)
		}
	}
	for _, p := range a.parameters {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case root.Parameter(name) == nil || slices.Contains(a.secretParameters, name):
		case a.hides(name):
			o.Parameters[name] = text(value)
		default:
			o.Given[name] = text(value)
		}
	}
	for _, name := range a.secretParameters {
		delete(o.Parameters, name)
		delete(o.Defaults, name)
	}
	return o
}

// hides reports whether a parameter is hidden in any template. Until they are read, all are.
func (a *ascent) hides(name string) bool {
	if a.compiled == nil {
		return true
	}
	for _, t := range a.compiled.Templates {
		if t != nil && t.Parameter(name) != nil && t.Parameter(name).Hidden {
			return true
		}
	}
	return false
}

// conceal removes the values of hidden parameters from a message of Heat's, which quotes what its
// constraints refuse. Values of less than four bytes stay: other words contain them.
func (a *ascent) conceal(said string) string {
	o := a.stackOptions("")
	var values []string
	for _, v := range slices.Concat(slices.Collect(maps.Values(o.Parameters)), slices.Collect(maps.Values(o.Defaults))) {
		var plain string
		if json.Unmarshal(v, &plain) == nil {
			values = append(values, plain)
		}
		values = append(values, strings.Trim(string(v), `"`)) // as JSON quotes it
	}
	slices.SortFunc(values, func(x, y string) int { return len(y) - len(x) }) // one may contain another
	for _, v := range values {
		if len(v) >= 4 {
			said = strings.ReplaceAll(said, v, "<hidden>")
		}
	}
	return said
}

// environmentValues are the environments' values of the root's parameters; null for those that
// only roles get.
func (a *ascent) environmentValues() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, section := range []map[string]environment.Setting{a.compiled.Environment.Defaults, a.compiled.Environment.Parameters} {
		for name, set := range section {
			all[name] = value.EncodeJSON(set.Value)
		}
	}
	for _, name := range a.secretParameters {
		all[name] = nil
	}
	return all
}

func text(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string cannot fail
	return b
}

// warnRestricted warns of what a restricted application credential cannot do.
func (a *ascent) warnRestricted(cloud *heat.Client) {
	if !cloud.Restricted() {
		return
	}
	source.Print(a.io.err, &source.Diagnostic{Code: source.HeatRefused, Severity: source.Warning,
		Message: "the application credential is restricted: Heat cannot create trusts with it, which most clouds need for stacks with wait conditions, software deployments or scaling groups, like this one",
		Hint:    "if Heat refuses: openstack application credential create --unrestricted NAME"}, a.io.errStyle())
}

// prepareSecret creates the secret on first use. If the stack exists, the secret must, too.
func (a *ascent) prepareSecret(ctx context.Context, cloud *heat.Client) (created string, err error) {
	path := a.secretPath()
	if path == "" {
		path = a.keptSecret()
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && len(a.compiled.Built.Plan.Servers) > 0 {
		switch s, err := cloud.Stack(ctx, a.stack); {
		case err == nil && s.Parameters[contract.SecretParameter] == "": // not hotc's: such a stack has one, which Heat shows as asterisks
		case err == nil:
			return "", source.Fail(source.BadSecret, "the stack "+a.stack+" exists, but its secret does not: there is no "+path, "name its file with --secret-file FILE, or in $"+secretFileVariable)
		case !errors.Is(err, heat.ErrNotFound):
			return "", err
		}
	}
	return a.makeSecret()
}

// ascend creates or updates the stack.
func (a *ascent) ascend(ctx context.Context, cloud *heat.Client) (*up.Result, *upView, error) {
	secret, err := a.secret()
	if err != nil {
		return nil, nil, err
	}
	environments := lists.Map(a.compiled.Environments, func(name string) string { return filepath.Join(a.folder, filepath.FromSlash(name)) })
	t, err := heat.ReadTemplate(ctx, filepath.Join(a.folder, "stack.yaml"), environments...)
	if err != nil {
		return nil, nil, err
	}
	d := &cloudDeployment{command: "hotc up", target: &a.target, io: a.io, yes: a.yes,
		apply: application{target: &a.target, up: true, dir: a.folder, secrets: a.secrets, enrol: a.enrol, skipHooks: a.skipHooks}}
	defer d.close()
	view := newUpView(ctx, a.io, &a.target, a.compiled.Built.Plan, a.yes)
	view.compiled, view.conceal, a.view = a.compiled, a.conceal, view
	d.say, d.apply.say = view.Say, view.Say
	defer view.clear()
	var on up.Deployment = d
	if len(a.compiled.Built.Plan.Servers) == 0 {
		on = noDeployment{}
	}
	u := &up.Up{Cloud: cloud, Deployment: on, View: view, Name: a.stack, Template: t, Plan: a.compiled.Built.Plan, Options: a.stackOptions(secret.Hex()), Values: a.environmentValues(), Key: []byte(secret.Hex()), SkipHooks: a.skipHooks, Look: betweenHeatsLooks}
	if a.signal != string(contract.NobodySignals) && on == d {
		key, err := secret.Relay(protocol.Deployment(a.stack))
		if err != nil {
			return nil, nil, err
		}
		u.TakesOver = a.signal == string(contract.RelaySignals)
		ask, over := make(chan chan struct{}), make(chan struct{})
		u.Relay = func(ctx context.Context) error {
			defer close(over)
			a.relaying.Store(u.TakesOver)
			return a.relayBy(ctx, &relay.Relay{Heat: cloud, Going: view.Say, Ask: ask}, key)
		}
		u.Renew = func(ctx context.Context) {
			done := make(chan struct{})
			select {
			case ask <- done:
				select {
				case <-done:
				case <-over:
				case <-ctx.Done():
				}
			case <-over:
			case <-ctx.Done():
			}
		}
	}
	result, err := u.Run(ctx)
	if err == nil && u.Relay != nil {
		if v, _ := d.Status(ctx); v != nil { // ours has ended
			a.relays = v.Relays
		}
	}
	if err == nil && result.OK() {
		a.published = d.outputs(ctx)
	}
	return result, view, err
}

// ended adds to an error how to return to the stack, and to one of Heat's the position in the
// template.
func (a *ascent) ended(ctx context.Context, err error) error {
	if errors.Is(err, errUnanswered) {
		return err
	}
	if ctx.Err() != nil {
		said, hint := "interrupted: what has started goes on without hotc", "return to it with the same command: "+a.typed()
		if a.relaying.Load() {
			said = "interrupted: Heat and the servers go on, but nothing reports to Heat how the roles end"
			hint += "; or run a relay, which only reports: " + a.relayCommand()
		}
		return source.Fail(source.OperationFailed, said, hint)
	}
	if e, is := errors.AsType[*heat.Error](err); is && a.compiled != nil {
		d, _ := source.AsDiagnostic(err)
		placed := *d
		placed.Message = a.conceal(d.Message)
		if placed.At = placeNamed(a.compiled, e.Said); errors.Is(err, heat.ErrUnreachable) {
			placed.Hint = "what has started goes on; return to it with the same command: " + a.typed()
		}
		return &placed
	}
	return err
}

func (a *ascent) report(ctx context.Context, cloud *heat.Client, took time.Duration, r *up.Result) error {
	x := a.reportOf(r, took)
	if x.OK {
		a.readOutputs(ctx, cloud, x)
		a.printWell(x, took)
	} else {
		a.printFailed(x, r, took)
	}
	if a.json != nil {
		if err := printJSON(a.json, x); err != nil {
			return err
		}
	}
	if !x.OK {
		return errFailed
	}
	return nil
}
