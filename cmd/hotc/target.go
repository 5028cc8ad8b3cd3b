package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// The environment's defaults for the flags that name a coordinator and a secret.
const (
	coordinatorVariable = "HOTC_COORDINATOR"
	secretFileVariable  = "HOTC_SECRET_FILE"
)

// target is the deployment that an operator's command is about, as the flags name it.
type target struct {
	stack      string
	url        string
	secretFile string
	// rootKeyFile is there where a command needs the ROOT's key.
	rootKeyFile string
	timeout     time.Duration
	asJSON      bool
	// notices is where a command says what it waits for, nil for nowhere.
	notices func() io.Writer
}

// addFlags adds the flags that name a deployment; json is what the flag of that name does, "" in
// a command that has none, or one of its own.
func (t *target) addFlags(cmd *cobra.Command, json string) {
	f := cmd.Flags()
	f.StringVar(&t.stack, "stack", "", "the stack's `NAME`, which is the deployment's")
	f.StringVar(&t.secretFile, "secret-file", "", "the `FILE` made by \"hotc secret new\" (default: $"+secretFileVariable+")")
	t.addCoordinatorFlags(cmd, json)
}

func (t *target) addCoordinatorFlags(cmd *cobra.Command, json string) {
	t.notices = cmd.ErrOrStderr
	f := cmd.Flags()
	if json != "" {
		f.BoolVar(&t.asJSON, "json", false, json)
	}
	f.StringVar(&t.url, "coordinator", "", "the coordinator's `URL`, zk://HOST:PORT[,…]/ROOT, or zk+tls://…?ca=FILE (default: $"+coordinatorVariable+")")
	f.DurationVar(&t.timeout, "timeout", 15*time.Second, "how long to wait for the coordinator's answer")
}

// open connects as the deployment's operator, and makes sure that somebody answers.
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
	*operate.Operator
	target *target
}

// named is the deployment that is named, and its coordinator is, too. What every command asks for
// comes in one order: the stack, what lies on this machine, the coordinator, the secret, the cloud.
func (t *target) named() (coordinator.Deployment, error) {
	d, err := t.deployment()
	if err == nil && t.coordinatorURL() == "" {
		err = whichCoordinator()
	}
	return d, err
}

func (t *target) deployment() (coordinator.Deployment, error) {
	if t.stack == "" {
		return "", source.Fail(source.Usage, "which stack?", "name it with --stack NAME")
	}
	d, err := coordinator.ParseDeployment(t.stack)
	if err != nil {
		err = source.Fail(source.Usage, err.Error(), "it is the name that the stack has, or is to have, in Heat")
	}
	return d, err
}

// agentAway is three times as long as a session lives that its agent does not keep up.
const agentAway = 30 * time.Second

func (t *target) session(store coordinator.Store, d coordinator.Deployment, secret coordinator.Secret) *session {
	return &session{&operate.Operator{Store: store, Deployment: d, Secret: secret, Timeout: t.timeout, Size: hot.DecidedSize, Away: agentAway, Command: t.command}, t}
}

// operate makes a command's run of what it does in a session. What goes wrong on the
// coordinator becomes a diagnostic here.
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
func (t *target) coordinatorName() string { return coordinator.ShownURL(t.coordinatorURL()) }

// secretPath is the file that is named, or else the one that `hotc up` keeps for the stack.
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

// whichSecret asks for it where `hotc up` has kept none.
func (t *target) whichSecret() string {
	if t.stack == "" || t.coordinatorURL() == "" { // its name is a part of where it is kept
		return "which secret?"
	}
	return "which secret? Your state folder has none of a deployment " + t.stack
}

func (t *target) secret() (coordinator.Secret, error) {
	path := t.secretPath()
	if path == "" {
		return coordinator.Secret{}, source.Fail(source.Usage, t.whichSecret(),
			"name its file with --secret-file FILE, or in $"+secretFileVariable+"; \"hotc secret new FILE\" makes one")
	}
	return readSecretFile(path, "\"hotc secret new "+shellQuote(path)+"\" makes a secret")
}

// readSecretFile reads 64 hex digits; make says what makes such a file.
func readSecretFile(path, make string) (coordinator.Secret, error) {
	text, err := readKeyFile(path, "the secret", make)
	if err != nil {
		return coordinator.Secret{}, err
	}
	secret, err := coordinator.ParseSecret(string(text))
	if err != nil {
		hint := "\"hotc secret new FILE\" makes one that is right"
		if _, fine := coordinator.ParseSecret(strings.TrimSpace(string(text))); fine == nil {
			hint = "it would be right without its line end, which Heat would take for a part of it"
		}
		return coordinator.Secret{}, source.Fail(source.BadSecret, path+": "+err.Error(), hint)
	}
	return secret, nil
}

// readKeyFile reads a file with what nobody else may know.
func readKeyFile(path, what, make string) ([]byte, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, source.Fail(source.BadSecret, "there is no file "+path, make)
	case err != nil:
		return nil, source.Fail(source.BadSecret, what+" cannot be read: "+err.Error(), "")
	}
	return text, nil
}

// flags are those that lead another command to the same deployment, as the user gave them.
func (t *target) flags() string {
	return "--stack " + shellQuote(t.stack) + given("--coordinator", t.url, "--secret-file", t.secretFile)
}

// given are the flags of some names and values, those that have a value.
func given(pairs ...string) (text string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			text += " " + pairs[i] + " " + shellQuote(pairs[i+1])
		}
	}
	return text
}

// command is one of hotc's for the same deployment, ready for a shell.
func (t *target) command(words ...string) string {
	text := "hotc"
	for _, word := range words {
		text += " " + shellQuote(word)
	}
	text += " " + t.flags()
	if words[0] == "apply" || words[0] == "destroy" {
		text += given("--root-key-file", t.rootKeyFile)
	}
	return text
}

// explain makes a diagnostic of what went wrong on the coordinator.
func (s *session) explain(ctx context.Context, err error) error {
	if _, done := source.AsDiagnostic(err); done || err == nil || errors.Is(err, errReported) || errors.As(err, &usageError{}) {
		return err
	}
	name := string(s.Deployment)
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
	case errors.As(err, &changed):
		return source.Fail(source.ChangedPlan, "the deployment "+name+" is live with another plan",
			"servers, roles, outputs and what reads what can be changed in place, these not, since they lie in the servers' user-data, or in the form of what was published (\"hotc rule H703\"): leave them as they were, give new things new names, or apply under another --stack").With(changed.Differences...)
	case errors.As(err, &running):
		return source.Fail(source.ChangedPlan, "the deployment "+name+" is live, and roles that run now cannot take the change", "nothing was written: \""+s.target.command("status", "--watch")+"\" says when they have ended; then the same command again. Or give the input a `default`, and apply that first").With(running.Lines...)
	case errors.As(err, &foreign):
		return source.Fail(source.NotOurs, "somebody else made the node "+string(foreign.Path)+" of the deployment "+name+", or changed its rights: "+foreign.Why,
			"nothing was written. Who made it could run anything on the servers: \""+s.target.command("destroy")+"\" deletes it if it may; else apply under another --stack, or below another ROOT (\"hotc root\")")
	case errors.As(err, &lacking):
		return s.lacksHook(lacking)
	case errors.As(err, &early):
		return source.Fail(source.OperationFailed, early.Error(), "\""+s.target.command("status", "--watch")+"\" waits for that")
	case errors.As(err, &absent):
		return source.Fail(source.OperationFailed, absent.Error(), "nothing was run; start them, or leave --run-hooks out")
	case errors.Is(err, operate.ErrBusy):
		return source.Fail(source.OperationFailed, err.Error(), "try again")
	case errors.Is(err, deploy.ErrOvertaken):
		return source.Fail(source.OperationFailed, "another apply of "+name+" has begun meanwhile", "one of the two is enough: the same command again, when that has ended, finds its plan live")
	case errors.As(err, &shared):
		return sharedTokens(shared)
	case errors.As(err, &other):
		return source.Fail(source.ChangedPlan, other.Error(), "--enrol can be chosen when a deployment is made: apply without it; or under another --stack; or \""+s.target.command("destroy")+"\" first")
	case errors.Is(err, deploy.ErrStands):
		return source.Fail(source.OperationFailed, "the deployment "+name+" is there: nothing has to be put back", "if an older state stands there, \""+s.target.command("apply", "DIR")+"\" of the newest folder brings its plan up to date, and its agents publish again what they have")
	case errors.Is(err, deploy.ErrNotOurs):
		return source.Fail(source.OperationFailed, err.Error(), "an administrator of the coordinator can delete it (in ZooKeeper: the super user); \""+s.target.command("destroy")+"\" then deletes what is left")
	case errors.Is(err, deploy.ErrWrongSecret), errors.Is(err, coordinator.ErrRefused):
		return source.Fail(source.BadSecret, "wrong secret: the deployment "+name+" was applied with another one than "+s.target.secretPath(),
			"give the file it was applied with; if the secret is lost, deploy under another stack name")
	case errors.Is(err, deploy.ErrNotApplied):
		return source.Fail(source.NoDeployment, "there is no deployment "+name+" on "+s.target.coordinatorName(),
			"\""+s.target.command("apply", "DIR")+"\" makes it; is this the right coordinator? If it was here, and the coordinator has lost it, \""+s.target.command("apply", "DIR", "--restore")+"\" of the same folder puts it back: its servers hold what they have done and published")
	case errors.Is(err, deploy.ErrUnfinished):
		return source.Fail(source.OperationFailed, "the deployment "+name+" is unfinished: "+deploy.ErrUnfinished.Error(),
			"when nobody else works on it: \""+s.target.command("destroy")+"\", then apply again")
	default:
		return source.Fail(source.OperationFailed, err.Error(), "")
	}
}

func sharedTokens(e *deploy.SharedTokenError) error {
	return source.Fail(source.Usage, "nothing is applied: "+e.Error(), "apply it with --enrol=always")
}

// unreachable says why there is no session: something is wrong with the URL, or nobody
// answers there.
func (t *target) unreachable(err error) error {
	var wrong *coordinator.URLError
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
	return source.Fail(source.NoCoordinator, message, "is the address right, does it run, and does a firewall let you through? --timeout waits longer")
}

func interrupted() error { return source.Fail(source.OperationFailed, "interrupted", "") }
