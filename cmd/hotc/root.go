package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/dial"
)

// rootKeyVariable is the environment's default for --root-key-file.
const rootKeyVariable = "HOTC_ROOT_KEY_FILE"

func newRootNodeCommand(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "root",
		Short: "Make or show a ROOT of your own",
		Long: `A coordinator's URL names a ROOT, zk://HOST:PORT/ROOT, below which deployments lie. One
that hotc apply makes is open: whoever reaches the coordinator can create and list there,
take the name of a stack, and fill the coordinator's memory. One that "hotc root new" makes
belongs to the holder of its key: nobody else can create or list there, and each deployment
in it has a quota, if the coordinator enforces quotas. With a ROOT for each project, stacks
of the same name do not meet.

apply and destroy then need the key (--root-key-file, or $` + rootKeyVariable + `); agents,
and the commands that look, do not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRootNewCommand(io), newRootShowCommand(io))
	return cmd
}

// rootReport is what `hotc root` prints (docs/json.md).
type rootReport struct {
	Coordinator string `json:"coordinator"`
	State       string `json:"state"` // absent, open, closed, ours
	// Holders are who may do what there.
	Holders []rootHolder `json:"holders,omitempty"`
	// Deployments are how many there are; of an open ROOT, or one's own.
	Deployments int `json:"deployments"`
	// Nodes and Bytes are what a deployment may have there.
	Nodes int64 `json:"nodes,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Enforced says that the coordinator refuses what is over that, as it was tried.
	Enforced *bool `json:"enforced,omitempty"`
	// AroundOpen says that everybody may create nodes beside the ROOT.
	AroundOpen bool `json:"around_open"`
}

type rootHolder struct {
	User string `json:"user"` // "" is everybody
	May  string `json:"may"`
}

func newRootNewCommand(io streams) *cobra.Command {
	var (
		t     target
		limit coordinator.Limit
	)
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a ROOT in which only the holder of its key can create and list",
		Long: `Make a ROOT in which only the holder of its key can create and list. The key is made, too,
unless its file exists. Given again, the command changes the quota of deployments that are
made there from then on.`,
		Args: cobra.NoArgs,
		RunE: t.inRoot(true, func(ctx context.Context, s *rootSession, _ []string) (err error) {
			if s.root, err = deploy.MakeRoot(ctx, s, *s.key, limit, time.Now()); err != nil {
				return err
			}
			return s.report(ctx, io)
		}),
	}
	t.addRootFlags(cmd, "print the result as JSON")
	cmd.Flags().Int64Var(&limit.Nodes, "max-nodes", deploy.DefaultLimit.Nodes, "how many `NODES` a deployment may have there; 0 is any number")
	cmd.Flags().Int64Var(&limit.Bytes, "max-bytes", deploy.DefaultLimit.Bytes, "how many `BYTES` it may have; 0 is any number")
	return cmd
}

func newRootShowCommand(io streams) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Say whose a ROOT is",
		Args:  cobra.NoArgs,
		RunE: t.inRoot(false, func(ctx context.Context, s *rootSession, _ []string) (err error) {
			if s.root, err = deploy.LookAtRoot(ctx, s, s.key); err != nil {
				return err
			}
			return s.report(ctx, io)
		}),
	}
	t.addRootFlags(cmd, "print the result as JSON")
	return cmd
}

func (t *target) addRootFlags(cmd *cobra.Command, json string) {
	t.addCoordinatorFlags(cmd, json)
	t.addRootKeyFlag(cmd)
}

func (t *target) addRootKeyFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.rootKeyFile, "root-key-file", "", "the `FILE` with the ROOT's key, made by \"hotc root new\" (default: $"+rootKeyVariable+")")
}

func (t *target) rootKeyPath() string {
	return cmp.Or(t.rootKeyFile, os.Getenv(rootKeyVariable))
}

// rootKey reads the key; nil is none. With make a file that is not there is made.
func (t *target) rootKey(make bool) (*coordinator.Secret, error) {
	path := t.rootKeyPath()
	if path == "" {
		return nil, nil
	}
	if _, err := os.Lstat(path); make && errors.Is(err, fs.ErrNotExist) {
		key, err := coordinator.NewSecret(rand.Reader)
		if err == nil {
			err = writeNew(path, key.Hex())
		}
		if err != nil {
			return nil, err
		}
	}
	key, err := readSecretFile(path, "\"hotc root new\" with --root-key-file makes one")
	return &key, err
}

// rootSession is a session about a ROOT alone.
type rootSession struct {
	coordinator.Store
	target *target
	key    *coordinator.Secret
	root   deploy.Root // as it was last looked at
}

// inRoot makes a command's run of what it does in such a session.
func (t *target) inRoot(make bool, do func(context.Context, *rootSession, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := t.openRoot(cmd.Context(), make)
		if err != nil {
			return err
		}
		defer s.Close()
		return t.rootError(cmd.Context(), s.root, do(cmd.Context(), s, args))
	}
}

func (t *target) openRoot(ctx context.Context, make bool) (*rootSession, error) {
	url := t.coordinatorURL()
	if url == "" {
		return nil, whichCoordinator()
	}
	key, err := t.rootKey(make)
	if err != nil {
		return nil, err
	}
	if key == nil && make {
		return nil, source.Fail(source.Usage, "which key?", "name its file with --root-key-file FILE, or in $"+rootKeyVariable+"; it is made if it is not there")
	}
	store, err := t.dial(ctx, url, "")
	if err != nil {
		return nil, err
	}
	return &rootSession{Store: store, target: t, key: key}, nil
}

// quietFor is how long a command waits for the coordinator without saying so.
const quietFor = 2 * time.Second

// dial opens a session, and makes sure that the coordinator answers, whether or not the node exists.
func (t *target) dial(ctx context.Context, url string, node coordinator.Path, creds ...coordinator.Credential) (coordinator.Store, error) {
	within, stop := context.WithTimeout(ctx, t.timeout)
	var waits sync.WaitGroup
	defer waits.Wait()
	defer stop()
	mistake.GoIn(&waits, func() {
		select {
		case <-within.Done():
		case <-time.After(quietFor):
			if t.notices != nil {
				fmt.Fprintf(t.notices(), "waiting up to %v for %s to answer\n", t.timeout, coordinator.ShownURL(url))
			}
		}
	})
	store, err := dial.Open(within, url, creds...)
	if err == nil {
		if _, _, err = store.Stat(within, node); err != nil {
			store.Close()
		}
	}
	switch {
	case err == nil:
		return store, nil
	case ctx.Err() != nil:
		return nil, interrupted()
	}
	return nil, t.unreachable(err)
}

// rootError makes a diagnostic of what went wrong about a ROOT.
func (t *target) rootError(ctx context.Context, root deploy.Root, err error) error {
	if _, done := source.AsDiagnostic(err); done || err == nil || errors.Is(err, errReported) {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case root.State == deploy.RootOpen:
		return source.Fail(source.NotOurs, "the ROOT of "+t.coordinatorName()+" stands, and is open: "+holdersText(root.Holders),
			"nobody can close it any more but ZooKeeper's super user: name another ROOT, as in …/hotc/PROJECT")
	case root.State == deploy.RootClosed:
		return source.Fail(source.BadSecret, "the ROOT of "+t.coordinatorName()+" belongs to the holder of another key", "name its file with --root-key-file FILE, or in $"+rootKeyVariable)
	}
	return source.Fail(source.OperationFailed, err.Error(), "")
}

func holdersText(holders []coordinator.Grant) string {
	return strings.Join(lists.Map(holders, func(h coordinator.Grant) string {
		return fmt.Sprintf("%s may %v", cmp.Or(h.To.User, "everybody"), h.May)
	}), "; ")
}

// report looks at what is around a ROOT and prints it.
func (s *rootSession) report(ctx context.Context, io streams) error {
	root := s.root
	r := rootReport{Coordinator: s.target.coordinatorName(), State: string(root.State), Nodes: root.Record.Limit.Nodes, Bytes: root.Record.Limit.Bytes}
	r.Holders = lists.Map(root.Holders, func(h coordinator.Grant) rootHolder { return rootHolder{h.To.User, h.May.String()} })
	if names, err := s.Children(ctx, ""); err == nil {
		for _, name := range names {
			if _, err := coordinator.ParseDeployment(name); err == nil {
				r.Deployments++
			}
		}
	}
	if around, is := s.Store.(coordinator.Limiter); is {
		may, err := around.Surroundings(ctx)
		if err != nil {
			return err
		}
		r.AroundOpen = may&coordinator.MayCreateChildren != 0
		if root.State == deploy.RootOurs {
			enforced, err := deploy.Enforces(ctx, s.Store, *s.key)
			if err != nil {
				return err
			}
			r.Enforced = &enforced
		}
	}
	return printResult(io.out, s.target.asJSON, r, func() { r.print(io, s.target) })
}

func (r *rootReport) print(io streams, t *target) {
	fmt.Fprintf(io.out, "%s: %s\n", r.Coordinator, map[string]string{
		"absent": "nobody has made this ROOT; hotc apply would make an open one.",
		"open":   "open. Who reaches the coordinator may take the name of any stack.",
		"closed": "closed, and this is not its key.",
		"ours":   "closed. Only the holder of " + t.rootKeyPath() + " may create and list there.",
	}[r.State])
	if r.State == "closed" && t.rootKeyPath() == "" {
		fmt.Fprintln(io.out, "Name the file with its key: --root-key-file FILE.")
	}
	if r.State == "open" {
		for _, h := range r.Holders {
			fmt.Fprintf(io.out, "  %s may %s\n", cmp.Or(h.User, "everybody"), h.May)
		}
	}
	if r.State == "ours" || r.State == "open" {
		fmt.Fprintf(io.out, "%s.\n", source.Counted(r.Deployments, "deployment"))
	}
	if r.State == "ours" && (r.Nodes != 0 || r.Bytes != 0) {
		fmt.Fprintf(io.out, "A deployment may have %s there%s.\n", limitText(coordinator.Limit{Nodes: r.Nodes, Bytes: r.Bytes}), map[bool]string{true: ", and the coordinator refuses what is over it"}[r.Enforced != nil && *r.Enforced])
	}
	if r.Enforced != nil && !*r.Enforced {
		fmt.Fprintln(io.out, "But this ZooKeeper does not refuse more: that takes version 3.7 or later, with enforceQuota=true in zoo.cfg.")
	}
	if r.AroundOpen {
		fmt.Fprintln(io.out, "Everybody who reaches this ZooKeeper can create nodes beside the ROOT, and fill its memory (docs/security.md says what closes it).")
	}
}

func limitText(l coordinator.Limit) string {
	switch {
	case l.Bytes == 0:
		return source.Counted(int(l.Nodes), "node")
	case l.Nodes == 0:
		return size(int(l.Bytes))
	}
	return fmt.Sprintf("%s of %s", source.Counted(int(l.Nodes), "node"), size(int(l.Bytes)))
}

// enterRoot finds out whose the ROOT is in which a deployment is made or destroyed, and
// refuses one that is somebody else's, or open where a key was given. It returns what
// Publish is to know of a closed one.
func (s *session) enterRoot(ctx context.Context) (root deploy.Root, closed *deploy.InRoot, err error) {
	key, err := s.target.rootKey(false)
	if err != nil {
		return root, nil, err
	}
	within, stop := s.Within(ctx)
	defer stop()
	root, err = deploy.LookAtRoot(within, s, key)
	name := s.target.coordinatorName()
	switch {
	case err != nil:
		return root, nil, err
	case root.State == deploy.RootOurs:
		return root, &deploy.InRoot{Key: *key, Root: root}, nil
	case root.State == deploy.RootClosed && key == nil:
		err = source.Fail(source.BadSecret, "the ROOT of "+name+" is closed: only the holder of its key can create or delete there", "name the key's file with --root-key-file FILE, or in $"+rootKeyVariable)
	case key == nil:
	case root.State == deploy.RootAbsent:
		err = source.Fail(source.NotOurs, "nobody has made the ROOT of "+name+" yet", "\""+s.target.rootCommand("new")+"\" makes it")
	default:
		err = s.target.rootError(ctx, root, coordinator.ErrRights)
	}
	return root, nil, err
}

// rootCommand is one of `hotc root`, about the same ROOT.
func (t *target) rootCommand(word string) string {
	key := t.rootKeyFile
	if t.rootKeyPath() == "" {
		key = "FILE"
	}
	return "hotc root " + word + given("--coordinator", t.url, "--root-key-file", key)
}

// openToAll says that everybody may create nodes in the ROOT, or that nobody has made it: who
// does, makes it so.
func openToAll(store coordinator.Store, root deploy.Root) bool {
	open := root.State == deploy.RootAbsent
	for _, h := range root.Holders {
		open = open || h.To.User == "" && h.May&coordinator.MayCreateChildren != 0
	}
	_, shared := store.(coordinator.Limiter) // a socket is its owner's
	return open && shared
}

// warnOpenRoot says that an open ROOT is about to be made. Once it stands it cannot be closed;
// then "hotc list" and "hotc root show" say what it is.
func (s *session) warnOpenRoot(io streams, root deploy.Root) {
	if root.State != deploy.RootAbsent || !openToAll(s.Store, root) {
		return
	}
	source.Print(io.err, &source.Diagnostic{Code: source.NotOurs, Severity: source.Warning,
		Message: "nobody has made the ROOT of " + s.target.coordinatorName() + " yet. With this deployment it will be there, and open for good: anybody who reaches the coordinator can take the names of stacks there, and fill its memory",
		Hint:    "for a ROOT of your own, make it first: \"" + s.target.rootCommand("new") + "\""}, io.errStyle())
}
