package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/contract/check"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newApplyCommand(io streams) *cobra.Command {
	var (
		t     target
		a     = application{target: &t}
		wait  bool
		cloud string
	)
	cmd := &cobra.Command{
		Use:        "apply DIR NAME",
		SuggestFor: []string{"diff", "plan"}, // --dry-run
		Short:      "Put a compiled deployment on the coordinator",
		Long: `Publish a compiled deployment on the coordinator: its plan, files, cells and rights. Do
this before, while or after Heat creates the stack; agents that are waiting go on as soon
as it is done. Applying the same plan again changes nothing.

A different plan updates a live deployment: servers, roles, outputs and reads may be added
or removed, and roles may change. A role that has run is updated by its update hook, which
its agent runs once for the change. If it has none, the role runs again if it is
idempotent; otherwise the plan is refused. A role that has not run, or is retried, runs as
changed. The delete hooks of removed roles and servers run first. --dry-run shows what
would happen.

Secrets that roles read from hidden parameters (hotc compile --secret-param) are supplied
with --secret-param and sealed for the servers of these roles. A new value updates the
roles that have run with the old one, as a different plan does.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.dir = args[0]
			result, err := a.run(cmd.Context(), io)
			if err == nil {
				err = printResult(io.out, t.asJSON, result, func() { result.print(io, &t) })
			}
			if err != nil || !wait || a.dryRun {
				return err
			}
			key, err := t.relayKey("")
			if err != nil {
				return err
			}
			return t.relay(cmd.Context(), io, key, cloud, true)
		},
	}
	t.addFlags(cmd, "print the result as JSON")
	t.addRootKeyFlag(cmd)
	t.addLockFlag(cmd)
	cmd.Flags().StringArrayVar(&a.secrets, "secret-param", nil, "read the value of a parameter compiled with --secret-param: `NAME=FILE`; - is standard input (repeatable)")
	cmd.Flags().StringVar(&a.enrol, "enrol", "", "how often a server's token admits a machine: `once|always` (default: always, or as the deployment was created)")
	cmd.Flags().BoolVar(&a.restore, "restore", false, "restore a deployment that the coordinator has lost: servers that have run their roles go on (needs the original --enrol)")
	cmd.Flags().BoolVar(&a.skipHooks, "skip-hooks", false, "remove roles and servers without running their delete hooks")
	cmd.Flags().BoolVar(&wait, "wait", false, "then relay, like \"hotc relay --once\", until Heat has created or updated the stack")
	cmd.Flags().StringVar(&cloud, "cloud", "", "for --wait: the cloud's `NAME` in clouds.yaml (default: $OS_CLOUD)")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.MarkFlagsMutuallyExclusive("wait", "json")
	return cmd
}

// application is one run of `hotc apply`.
type application struct {
	target *target
	dir    string
	dryRun bool
	// secrets are the flags NAME=FILE.
	secrets []string
	enrol   string // "once", "always" or ""
	restore bool
	// warned says that the warning of an open ROOT was printed.
	warned bool
	// skipHooks removes roles without running their delete hooks.
	skipHooks bool
	say       func(string) // nil: standard error
	// up is the command whose part it is, if any, which locks the deployment: lock is nil if there
	// is none yet.
	up   bool
	lock *deploy.Lock
}

// applied is the result of `hotc apply` (docs/json.md).
type applied struct {
	Stack   string `json:"stack"`
	Outcome string `json:"outcome"` // created, unchanged, resumed, updated
	// Restored says that a lost deployment was restored.
	Restored bool      `json:"restored,omitempty"`
	DryRun   bool      `json:"dry_run"`
	Plan     string    `json:"plan"` // sha256 of plan.json
	Created  time.Time `json:"created"`
	Servers  int       `json:"servers"`
	Roles    int       `json:"roles"`
	Cells    int       `json:"cells"`
	Files    int       `json:"files"`
	Nodes    int       `json:"nodes"`
	Bytes    int       `json:"bytes"`
	// Changes are the roles that the plan changes in a live deployment.
	Changes []changedRole `json:"changes"`
	// Shape lists what else is added or removed: servers and reads.
	Shape []string `json:"shape"`
	// Preview is which runs that causes; of a dry run.
	Preview *preview.Preview `json:"preview,omitempty"`
	// Given are the secret parameters that were supplied now, or would be.
	Given []string `json:"given"`
	// Same are those that already had the supplied value.
	Same []string `json:"same"`
	// Again are those to be supplied again, since not all readers can open them.
	Again []string `json:"again"`
	Enrol string   `json:"enrol"` // once, always
	// Next are the commands that come next, ready for a shell.
	Next []string `json:"next"`
	// Parameters are the template's parameters without a default.
	Parameters []string `json:"parameters"`

	published deploy.Published
}

func (a *application) run(ctx context.Context, io streams) (result *applied, err error) {
	if _, err := a.target.deployment(); err != nil {
		return nil, err
	}
	if a.say == nil {
		a.say = func(text string) { fmt.Fprintln(io.err, text) }
	}
	planJSON, p, err := readPlanFile(filepath.Join(a.dir, "plan.json"))
	if err != nil {
		return nil, err
	}
	if err := checkFiles(a.dir, p); err != nil {
		return nil, err
	}
	enrol, err := a.enrolment(p)
	if err != nil {
		return nil, err
	}
	gifts, err := readGifts(ctx, a.secrets, p, io)
	if err != nil {
		return nil, err
	}
	s, err := a.target.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer func() { err = s.explain(ctx, err) }()
	root, closed, err := s.enterRoot(ctx)
	if err != nil {
		return nil, err
	}
	if !a.warned {
		s.warnOpenRoot(io, root)
	}
	a.warned = true
	lock, isNew, unlocked := a.lock, a.lock == nil, error(nil)
	if !a.dryRun && !a.up {
		var held *deploy.HeldError
		lock, err = s.lock(ctx, "hotc apply")
		isNew = errors.Is(err, deploy.ErrNotApplied)
		switch {
		case err == nil:
			defer lock.Release()
		case errors.As(err, &held):
			return nil, err
		case !isNew && !errors.Is(err, deploy.ErrUnfinished):
			unlocked = err // nothing is changed without the lock; a rehearsal may say better what is wrong
		}
	}
	if !a.dryRun && unlocked == nil {
		if err := s.putAgents(ctx, a.say, a.dir, root, agentsBeside()); err != nil {
			return nil, err
		}
	}
	done, err := s.Apply(ctx, operate.Application{Secrets: gifts, DryRun: a.dryRun || unlocked != nil, SkipHooks: a.skipHooks, Say: a.say,
		Publication: deploy.Publication{Deployment: s.Deployment, Secret: s.Secret, Plan: p, JSON: planJSON,
			Files: filesOf(a.dir), Now: time.Now(), Enrol: enrol, Restore: a.restore, Root: closed, Lock: lock, New: isNew}})
	if err != nil && ctx.Err() != nil {
		return nil, source.Fail(source.OperationFailed, "interrupted", "run the same command again: it continues where this one stopped")
	}
	if err = cmp.Or(err, unlocked); err != nil {
		return nil, err
	}
	result = &applied{
		published: done.Published,
		Changes:   changedRoles(done.Changes), Shape: append([]string{}, done.Shape...),
		Given: done.Given, Same: done.Same, Again: done.Again, Enrol: enrolName(done.Record.Enrol),
		Stack: string(s.Deployment), Outcome: string(done.Outcome), Restored: a.restore, DryRun: a.dryRun,
		Plan: done.Record.Plan, Created: done.Record.Created,
		Servers: len(p.Servers), Cells: len(p.Cells), Files: len(p.Files), Nodes: done.Nodes, Bytes: done.Bytes,
	}
	for _, server := range p.Servers {
		result.Roles += len(server.Roles)
	}
	if a.dryRun && (done.Outcome == deploy.Updated || len(done.Changes) > 0) {
		if result.Preview, err = s.preview(ctx, p, done.Changes); err != nil {
			return nil, err
		}
	}
	result.Next, result.Parameters = nextCommands(a.dir, a.target, p.Signal == contract.RelaySignals || done.Untold)
	if done.Outcome == deploy.Updated || a.restore { // the stack exists
		result.Next, result.Parameters = result.Next[1:], []string{}
	}
	return result, nil
}

// enrolment parses --enrol; nil keeps the deployment's setting. A plan that cannot enrol once
// is refused before the coordinator is asked.
func (a *application) enrolment(p *contract.Plan) (*protocol.Enrolment, error) {
	switch a.enrol {
	case "":
		if a.restore {
			return nil, usageError{errors.New("--restore needs --enrol once or --enrol always, whichever the deployment was created with: otherwise its tokens could become valid for more than before")}
		}
		return nil, nil
	case "once":
		var shared *deploy.SharedTokenError
		if errors.As(deploy.CheckEnrolment(p, protocol.EnrolOnce), &shared) {
			return nil, sharedTokens(shared)
		}
		return new(protocol.EnrolOnce), nil
	case "always":
		return new(protocol.EnrolAlways), nil
	}
	return nil, usageError{fmt.Errorf("--enrol is once or always, not %q", a.enrol)}
}

func (r *applied) print(io streams, t *target) {
	say := map[string]string{
		"created":   "%s is " + r.done("applied") + ": %s.\n",
		"unchanged": "%s is already applied with this plan: %s.\n",
		"resumed":   "%s is " + r.done("applied") + "; an interrupted apply is finished: %s.\n",
		"updated":   "%s has a new plan: %s.\n",
	}
	if r.DryRun {
		say = map[string]string{
			"created":   "%s would be " + r.done("created") + ": %s.\n",
			"unchanged": "%s is already applied with this plan: %s.\n",
			"resumed":   "an interrupted apply of %s would be finished: %s.\n",
			"updated":   "%s is live and would get a new plan: %s.\n",
		}
	}
	what := strings.Join([]string{
		source.Counted(r.Servers, "server"), source.Counted(r.Roles, "role"), source.Counted(r.Cells, "cell"), source.Counted(r.Files, "file"),
		fmt.Sprintf("%s of %s", source.Counted(r.Nodes, "node"), size(r.Bytes)),
	}, ", ")
	fmt.Fprintf(io.out, say[r.Outcome], r.Stack, what)
	updated := r.Outcome == string(deploy.Updated) || len(r.Changes) > 0
	if updated {
		printChanges(io, r.Shape, r.Changes, t)
		printPreview(io.out, r.Preview)
	} else if r.DryRun && r.Outcome == string(deploy.Unchanged) && len(r.Given) == 0 {
		fmt.Fprintln(io.out, "Nothing would change.")
	}
	if len(r.Given) > 0 {
		verb := "supplied, sealed for its readers"
		if r.DryRun {
			verb = "would be supplied"
		}
		fmt.Fprintf(io.out, "%s: %s.\n", verb, strings.Join(r.Given, ", "))
	}
	if len(r.Same) > 0 {
		fmt.Fprintf(io.out, "already supplied with this value: %s.\n", strings.Join(r.Same, ", "))
	}
	if len(r.Again) > 0 {
		fmt.Fprintf(io.out, "to be supplied again with --secret-param, since not all of its readers can open it: %s.\n", strings.Join(r.Again, ", "))
	}
	if r.DryRun {
		return
	}
	if r.Restored {
		fmt.Fprint(io.out, "\nIts servers rejoin by themselves and publish again what they had published. Heat needs no action.\n")
	}
	if r.published.Untold {
		fmt.Fprintf(io.out, "\nExisting servers have no credentials to report this to Heat. Keep a relay running while Heat updates\nthe stack; it reports in their place (\"hotc up\" has its own):\n\n  %s\n", t.command("relay"))
	}
	if updated || r.Restored {
		fmt.Fprintf(io.out, "\nTo watch its progress:\n\n  %s\n", r.Next[len(r.Next)-1])
		return
	}
	fmt.Fprint(io.out, "\nNext, unless the stack exists already:\n\n")
	for i, command := range r.Next {
		if i == len(r.Next)-1 {
			fmt.Fprint(io.out, "\nand to watch its progress:\n\n")
		}
		fmt.Fprintf(io.out, "  %s\n", command)
		if i == 0 && len(r.Parameters) > 0 {
			fmt.Fprintf(io.out, "\nThe template has no default for %s: add an -e FILE or --parameter NAME=VALUE for each.\n", strings.Join(r.Parameters, ", "))
		}
	}
}

// done is the word for what was done to a deployment that was not there.
func (r *applied) done(word string) string {
	if r.Restored {
		return "restored"
	}
	return word
}

func enrolName(e protocol.Enrolment) string {
	if e == protocol.EnrolOnce {
		return "once"
	}
	return "always"
}

func size(bytes int) string {
	switch {
	case bytes < 10_000:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 10_000_000:
		return fmt.Sprintf("%d kB", bytes/1000)
	default:
		return fmt.Sprintf("%d MB", bytes/1_000_000)
	}
}

func readPlanFile(path string) ([]byte, *contract.Plan, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, source.Fail(source.BadPlan, "there is no "+path, "apply takes the folder that \"hotc compile -o DIR\" wrote")
	}
	if err != nil {
		return nil, nil, source.Fail(source.BadPlan, "cannot read the plan: "+err.Error(), "")
	}
	p, err := check.Plan(data)
	if err != nil {
		return nil, nil, source.Fail(source.BadPlan, path+" is not a plan that this version of hotc can read", "compile again with this version of hotc").With(strings.Split(err.Error(), "\n")...)
	}
	return data, p, nil
}

// filesOf reads the files next to a plan.
func filesOf(dir string) deploy.Files {
	return func(digest string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, "files", digest)) }
}

// checkFiles checks the files next to a plan before the coordinator is asked anything.
func checkFiles(dir string, p *contract.Plan) error {
	var total int64
	for _, f := range p.Files {
		path := filepath.Join(dir, "files", f.Digest)
		info, err := os.Stat(path)
		if err != nil {
			return source.Fail(source.BadPlan, fmt.Sprintf("the file of %s is missing: %v", f.Name, err), "compile again: the folder is incomplete")
		}
		if total += info.Size(); total > deploy.MaxFiles {
			return source.Fail(source.BadPlan, fmt.Sprintf("the roles' files have more than %s in total", size(deploy.MaxFiles)),
				"the coordinator is not a place for large files: let the role fetch them")
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return source.Fail(source.BadPlan, fmt.Sprintf("cannot read the file of %s: %v", f.Name, err), "")
		}
		if protocol.Digest(content) != f.Digest {
			return source.Fail(source.BadPlan, path+" has changed since it was compiled", "compile again")
		}
	}
	return nil
}
