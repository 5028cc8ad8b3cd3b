package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/live"
	"github.com/hotc-dev/hotc/runtime/operate"
	"github.com/hotc-dev/hotc/runtime/up"
)

// The environment's defaults for the flags that name a coordinator and a secret.
const (
	coordinatorVariable = "HOTC_COORDINATOR"
	secretFileVariable  = "HOTC_SECRET_FILE"
)

// target is the deployment that a command works on, as its flags name it.
type target struct {
	stack      string
	url        string
	secretFile string
	// rootKeyFile is set by commands that need the ROOT's key.
	rootKeyFile string
	// takeOver takes the deployment's lock from a command that holds it.
	takeOver bool
	timeout  time.Duration
	asJSON   bool
	// notices is where a command says what it waits for, nil for nowhere.
	notices func() io.Writer
}

// addFlags adds the flags that name a deployment; json is the usage of --json, "" in a command
// that has none or its own.
func (t *target) addFlags(cmd *cobra.Command, json string) {
	f := cmd.Flags()
	t.addName(cmd)
	f.StringVar(&t.secretFile, "secret-file", "", "`FILE` from \"hotc secret new\" (default: $"+secretFileVariable+")")
	t.addCoordinatorFlags(cmd, json)
}

func (t *target) addCoordinatorFlags(cmd *cobra.Command, json string) {
	t.notices = cmd.ErrOrStderr
	f := cmd.Flags()
	if json != "" {
		f.BoolVar(&t.asJSON, "json", false, json)
	}
	f.StringVar(&t.url, "coordinator", "", "`URL` of the coordinator: zk://HOST:PORT[,…]/ROOT or zk+tls://…?ca=FILE (default: $"+coordinatorVariable+")")
	f.DurationVar(&t.timeout, "timeout", 15*time.Second, "maximum `DURATION` to wait for the coordinator")
}

// open connects as the deployment's operator, and waits for one answer.
func (t *target) open(ctx context.Context) (*session, error) {
	d, err := t.named()
	if err != nil {
		return nil, err
	}
	secret, err := t.secret()
	if err != nil {
		return nil, err
	}
	store, err := t.dial(ctx, t.coordinatorURL(), d.Root(), secret.Operator(d))
	if err != nil {
		return nil, err
	}
	return t.session(store, d, secret), nil
}

// session is an operator's session with a deployment's coordinator.
type session struct {
	*live.Observer
	target *target
}

// named is the named deployment, if its coordinator is named, too. Every command asks for what
// it needs in one order: the stack, local files, the coordinator, the secret, the cloud.
func (t *target) named() (protocol.Deployment, error) {
	d, err := t.deployment()
	if err == nil && t.coordinatorURL() == "" {
		err = whichCoordinator()
	}
	return d, err
}

func (t *target) deployment() (protocol.Deployment, error) {
	if t.stack == "" {
		return "", source.Fail(source.Usage, "which stack?", "give its NAME as an argument, or with --stack NAME")
	}
	d, err := protocol.ParseDeployment(t.stack)
	if err != nil {
		err = source.Fail(source.Usage, err.Error(), "use the stack's name in Heat")
	}
	return d, err
}

// agentAway is three times the timeout of an agent's session.
const agentAway = 30 * time.Second

func (t *target) session(store store.Session, d protocol.Deployment, secret protocol.Secret) *session {
	o := &operate.Operator{Session: store, Deployment: d, Secret: secret, Timeout: t.timeout, Size: hot.DecidedSize, Away: agentAway, Command: t.command}
	return &session{&live.Observer{Operator: o, Coordinator: t.coordinatorName()}, t}
}

// operate runs a command in a session, and turns errors from the coordinator into diagnostics.
func (t *target) operate(do func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := t.open(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		return s.explain(cmd.Context(), do(cmd.Context(), s, args))
	}
}

func whichCoordinator() error {
	return source.Fail(source.Usage, "which coordinator?", "name it with --coordinator zk://HOST:PORT/ROOT, or in $"+coordinatorVariable)
}

func (t *target) coordinatorURL() string {
	return cmp.Or(t.url, os.Getenv(coordinatorVariable))
}

// coordinatorName is the coordinator's URL for messages.
func (t *target) coordinatorName() string { return store.ShownURL(t.coordinatorURL()) }

// secretPath is the file that is named, otherwise the one that `hotc up` keeps for the stack.
func (t *target) secretPath() string {
	if named := cmp.Or(t.secretFile, os.Getenv(secretFileVariable)); named != "" {
		return named
	}
	kept := t.keptSecret()
	if _, err := os.Lstat(kept); err != nil {
		return ""
	}
	return kept
}

// whichSecret asks for the secret if `hotc up` keeps none.
func (t *target) whichSecret() string {
	if t.stack == "" || t.coordinatorURL() == "" { // both are part of the kept secret's path
		return "which secret?"
	}
	return "which secret? Your state folder has none for the deployment " + t.stack
}

func (t *target) secret() (protocol.Secret, error) {
	path := t.secretPath()
	if path == "" {
		return protocol.Secret{}, source.Fail(source.Usage, t.whichSecret(),
			"name its file with --secret-file FILE, or in $"+secretFileVariable+"; \"hotc secret new FILE\" creates one")
	}
	return readSecretFile(path, "\"hotc secret new "+shellQuote(path)+"\" creates a secret")
}

// readSecretFile reads 64 hex digits; create is a hint which command writes such a file.
func readSecretFile(path, create string) (protocol.Secret, error) {
	text, err := readKeyFile(path, "the secret", create)
	if err != nil {
		return protocol.Secret{}, err
	}
	secret, err := protocol.ParseSecret(string(text))
	if err != nil {
		hint := "\"hotc secret new FILE\" creates a valid one"
		if _, fine := protocol.ParseSecret(strings.TrimSpace(string(text))); fine == nil {
			hint = "remove the line end: Heat would take it as part of the secret"
		}
		return protocol.Secret{}, source.Fail(source.BadSecret, path+": "+err.Error(), hint)
	}
	return secret, nil
}

// readKeyFile reads a file with a secret.
func readKeyFile(path, what, create string) ([]byte, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, source.Fail(source.BadSecret, "there is no file "+path, create)
	case err != nil:
		return nil, source.Fail(source.BadSecret, "cannot read "+what+": "+err.Error(), "")
	}
	return text, nil
}

// given joins pairs of flags and values, those that have a value.
func given(pairs ...string) (text string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			text += " " + pairs[i] + " " + shellQuote(pairs[i+1])
		}
	}
	return text
}

// command is a hotc command for the same deployment, with its flags as the user wrote them, quoted for
// a shell. The words are without the deployment's NAME.
func (t *target) command(words ...string) string {
	text, at := "hotc", 1
	if words[0] == "apply" {
		at = 2 // after DIR
	}
	for _, word := range slices.Concat(words[:at], []string{t.stack}, words[at:]) {
		text += " " + shellQuote(word)
	}
	text += given("--coordinator", t.url, "--secret-file", t.secretFile)
	if words[0] == "apply" || words[0] == "destroy" {
		text += given("--root-key-file", t.rootKeyFile)
	}
	return text
}

// explain turns an error from the coordinator into a diagnostic.
func (s *session) explain(ctx context.Context, err error) error {
	if _, done := source.AsDiagnostic(err); done || err == nil || errors.Is(err, errReported) || errors.As(err, &usageError{}) {
		return err
	}
	name := string(s.Deployment)
	var held *deploy.HeldError
	var changed *deploy.ChangedPlanError
	var lacking *deploy.NoUpdateHookError
	var running *deploy.RunningError
	var other *deploy.OtherEnrolmentError
	var shared *deploy.SharedTokenError
	var foreign *deploy.RightsError
	var early *operate.EarlyHookError
	var absent *operate.AbsentError
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case errors.Is(err, context.DeadlineExceeded):
		return s.target.unreachable(err)
	case errors.As(err, &held):
		return up.Locked(name, held)
	case errors.As(err, &changed):
		return source.Fail(source.ChangedPlan, "the deployment "+name+" is live with another plan",
			"servers, roles, outputs and reads can be changed in place; these cannot, since they are in the servers' user-data or in the form of published values (\"hotc rule H703\"): leave them as they were, use new names for what is new, or apply under another name").With(changed.Differences...)
	case errors.As(err, &running):
		return source.Fail(source.ChangedPlan, "the deployment "+name+" is live, and running roles cannot take the change", "nothing was written: \""+s.target.command("status", "--watch")+"\" shows when they have ended; then run the same command again. Or give the input a `default`, and apply that first").With(running.Lines...)
	case errors.As(err, &foreign):
		return source.Fail(source.NotOurs, "another user created the node "+string(foreign.Path)+" of the deployment "+name+", or changed its rights: "+foreign.Why,
			"nothing was written. Its creator could run anything on the servers: \""+s.target.command("destroy")+"\" deletes it if it may; otherwise apply under another name, or below another ROOT (\"hotc root\")")
	case errors.As(err, &lacking):
		return s.lacksHook(lacking)
	case errors.As(err, &early):
		return source.Fail(source.OperationFailed, early.Error(), "\""+s.target.command("status", "--watch")+"\" waits until they have")
	case errors.As(err, &absent):
		return source.Fail(source.OperationFailed, absent.Error(), "nothing was run; start them, or omit --run-hooks")
	case errors.Is(err, operate.ErrBusy):
		return source.Fail(source.OperationFailed, err.Error(), "try again")
	case errors.Is(err, deploy.ErrOvertaken):
		return source.Fail(source.OperationFailed, "another apply of "+name+" has started meanwhile", "wait until it has ended; if it applied another plan, run the same command again")
	case errors.As(err, &shared):
		return sharedTokens(shared)
	case errors.As(err, &other):
		return source.Fail(source.ChangedPlan, other.Error(), "--enrol is chosen when a deployment is created: apply without it, or under another name, or run \""+s.target.command("destroy")+"\" first")
	case errors.Is(err, deploy.ErrStands):
		return source.Fail(source.OperationFailed, "the deployment "+name+" exists: there is nothing to restore", "if it is an older state, \""+s.target.command("apply", "DIR")+"\" of the newest folder updates its plan, and its agents publish again what they have")
	case errors.Is(err, deploy.ErrNotOurs):
		return source.Fail(source.OperationFailed, err.Error(), "an administrator of the coordinator (in ZooKeeper, the super user) can delete it; \""+s.target.command("destroy")+"\" then deletes the rest")
	case errors.Is(err, deploy.ErrWrongSecret), errors.Is(err, store.ErrRefused):
		return source.Fail(source.BadSecret, "wrong secret: the deployment "+name+" was not applied with "+s.target.secretPath(),
			"use the file it was applied with; if the secret is lost, deploy under another stack name")
	case errors.Is(err, deploy.ErrNotApplied):
		return source.Fail(source.NoDeployment, "there is no deployment "+name+" on "+s.target.coordinatorName(),
			"\""+s.target.command("apply", "DIR")+"\" creates it; is this the right coordinator? If the coordinator has lost it, \""+s.target.command("apply", "DIR", "--restore", "--enrol=ENROL")+"\" of the same folder, with ENROL as before (once or always), restores it: its servers keep what they have done and published")
	case errors.Is(err, deploy.ErrUnfinished):
		return source.Fail(source.OperationFailed, "the deployment "+name+" is unfinished: "+deploy.ErrUnfinished.Error(),
			"if no one else is working on it, run \""+s.target.command("destroy")+"\", then apply again")
	default:
		return source.Fail(source.OperationFailed, err.Error(), "")
	}
}

func sharedTokens(e *deploy.SharedTokenError) error {
	return source.Fail(source.Usage, "nothing was applied: "+e.Error(), "apply it with --enrol=always")
}

// unreachable says why there is no session: the URL is wrong, or nothing answers there.
func (t *target) unreachable(err error) error {
	var wrong *store.URLError
	if errors.As(err, &wrong) {
		from := "--coordinator"
		if t.url == "" {
			from = "$" + coordinatorVariable
		}
		return source.Fail(source.Usage, from+" "+wrong.Error(), "")
	}
	message := "no answer from the coordinator " + t.coordinatorName()
	if err != context.DeadlineExceeded {
		message += ": " + strings.TrimSuffix(err.Error(), " ("+context.DeadlineExceeded.Error()+")") // no answer says that
	}
	return source.Fail(source.NoCoordinator, message, "check the address, that it is running, and that no firewall blocks it; --timeout waits longer")
}

func interrupted() error { return source.Fail(source.OperationFailed, "interrupted", "") }

// shellQuote quotes a string as one word of a POSIX shell.
func shellQuote(text string) string { return protocol.ShellWord(text) }
