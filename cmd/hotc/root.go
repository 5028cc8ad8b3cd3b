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
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// rootKeyVariable is the environment's default for --root-key-file.
const rootKeyVariable = "HOTC_ROOT_KEY_FILE"

func newRootNodeCommand(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "root",
		Short: "Create or show a ROOT of your own",
		Long: `A coordinator's URL names a ROOT, zk://HOST:PORT/ROOT, below which deployments are stored.
A ROOT created by hotc apply is open: anyone who reaches the coordinator can create and
list deployments there, take the name of a stack, and fill the coordinator's memory. A
ROOT created by "hotc root new" belongs to the holder of its key: no one else can create
or list deployments there, and each deployment has a quota, if the coordinator enforces
quotas. With a ROOT for each project, stacks of the same name do not collide.

apply and destroy then need the key (--root-key-file, or $` + rootKeyVariable + `); agents
and read-only commands do not.`,
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
	// Holders are the ROOT's access rights.
	Holders []rootHolder `json:"holders,omitempty"`
	// Deployments counts them, in an open ROOT or one's own.
	Deployments int `json:"deployments"`
	// Nodes and Bytes are a deployment's quota.
	Nodes int64 `json:"nodes,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Enforced says that the coordinator refuses more than the quota; it was tried.
	Enforced *bool `json:"enforced,omitempty"`
	// AroundOpen says that anyone may create nodes next to the ROOT.
	AroundOpen bool `json:"around_open"`
}

type rootHolder struct {
	User string `json:"user"` // "": anyone
	May  string `json:"may"`
}

func newRootNewCommand(io streams) *cobra.Command {
	var (
		t     target
		limit store.Limit
	)
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Create a ROOT that only the holder of its key can use",
		Long: `Create a ROOT in which only the holder of its key can create and list deployments. The
key is created, too, unless its file exists. Run again, the command changes the quota of
deployments created from then on.`,
		Args: cobra.NoArgs,
		RunE: t.inRoot(true, func(ctx context.Context, s *rootSession, _ []string) (err error) {
			if s.root, err = deploy.MakeRoot(ctx, s, *s.key, limit, time.Now()); err != nil {
				return err
			}
			return s.report(ctx, io)
		}),
	}
	t.addRootFlags(cmd, "print the result as JSON")
	cmd.Flags().Int64Var(&limit.Nodes, "max-nodes", deploy.DefaultLimit.Nodes, "quota of `NODES` for each deployment; 0: unlimited")
	cmd.Flags().Int64Var(&limit.Bytes, "max-bytes", deploy.DefaultLimit.Bytes, "quota of `BYTES` for each deployment; 0: unlimited")
	return cmd
}

func newRootShowCommand(io streams) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show who owns a ROOT",
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
	cmd.Flags().StringVar(&t.rootKeyFile, "root-key-file", "", "`FILE` with the ROOT's key, from \"hotc root new\" (default: $"+rootKeyVariable+")")
}

func (t *target) rootKeyPath() string {
	return cmp.Or(t.rootKeyFile, os.Getenv(rootKeyVariable))
}

// rootKey reads the key; nil is none. With create it writes a new one if the file is missing.
func (t *target) rootKey(create bool) (*protocol.Secret, error) {
	path := t.rootKeyPath()
	if path == "" {
		return nil, nil
	}
	if _, err := os.Lstat(path); create && errors.Is(err, fs.ErrNotExist) {
		key, err := protocol.NewSecret(rand.Reader)
		if err == nil {
			err = writeNew(path, key.Hex())
		}
		if err != nil {
			return nil, err
		}
	}
	key, err := readSecretFile(path, "\"hotc root new\" with --root-key-file creates one")
	return &key, err
}

// rootSession is a session for a ROOT, without a deployment.
type rootSession struct {
	store.Session
	target *target
	key    *protocol.Secret
	root   deploy.Root // as last read
}

// inRoot runs a command in such a session.
func (t *target) inRoot(create bool, do func(context.Context, *rootSession, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := t.openRoot(cmd.Context(), create)
		if err != nil {
			return err
		}
		defer s.Close()
		return t.rootError(cmd.Context(), s.root, do(cmd.Context(), s, args))
	}
}

func (t *target) openRoot(ctx context.Context, create bool) (*rootSession, error) {
	url := t.coordinatorURL()
	if url == "" {
		return nil, whichCoordinator()
	}
	key, err := t.rootKey(create)
	if err != nil {
		return nil, err
	}
	if key == nil && create {
		return nil, source.Fail(source.Usage, "which key?", "name its file with --root-key-file FILE, or in $"+rootKeyVariable+"; it is created if it does not exist")
	}
	store, err := t.dial(ctx, url, "")
	if err != nil {
		return nil, err
	}
	return &rootSession{Session: store, target: t, key: key}, nil
}

// quietFor is how long a command waits for the coordinator without saying so.
const quietFor = 2 * time.Second

// dial opens a session, and makes sure that the coordinator answers, whether or not the node exists.
func (t *target) dial(ctx context.Context, url string, node store.Path, creds ...store.Credential) (store.Session, error) {
	within, stop := context.WithTimeout(ctx, t.timeout)
	var waits sync.WaitGroup
	defer waits.Wait()
	defer stop()
	mistake.GoIn(&waits, func() {
		select {
		case <-within.Done():
		case <-time.After(quietFor):
			if t.notices != nil {
				fmt.Fprintf(t.notices(), "waiting up to %v for %s to answer\n", t.timeout, store.ShownURL(url))
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

// rootError turns an error about a ROOT into a diagnostic.
func (t *target) rootError(ctx context.Context, root deploy.Root, err error) error {
	if _, done := source.AsDiagnostic(err); done || err == nil || errors.Is(err, errReported) {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case root.State == deploy.RootOpen:
		return source.Fail(source.NotOurs, "the ROOT of "+t.coordinatorName()+" exists and is open: "+holdersText(root.Holders),
			"only ZooKeeper's super user can close it: name another ROOT, as in …/hotc/PROJECT")
	case root.State == deploy.RootClosed:
		return source.Fail(source.BadSecret, "the ROOT of "+t.coordinatorName()+" belongs to the holder of another key", "name its file with --root-key-file FILE, or in $"+rootKeyVariable)
	}
	return source.Fail(source.OperationFailed, err.Error(), "")
}

func holdersText(holders []store.Grant) string {
	return strings.Join(lists.Map(holders, func(h store.Grant) string {
		return fmt.Sprintf("%s may %v", cmp.Or(h.To.Name, "anyone"), h.May)
	}), "; ")
}

// report reads what is in and around a ROOT and prints it.
func (s *rootSession) report(ctx context.Context, io streams) error {
	root := s.root
	r := rootReport{Coordinator: s.target.coordinatorName(), State: string(root.State), Nodes: root.Record.Limit.Nodes, Bytes: root.Record.Limit.Bytes}
	r.Holders = lists.Map(root.Holders, func(h store.Grant) rootHolder { return rootHolder{h.To.Name, h.May.String()} })
	if names, err := s.Children(ctx, ""); err == nil {
		for _, name := range names {
			if _, err := protocol.ParseDeployment(name); err == nil {
				r.Deployments++
			}
		}
	}
	may, err := s.Surroundings(ctx)
	if err != nil {
		return err
	}
	r.AroundOpen = may&store.MayCreateChildren != 0
	if root.State == deploy.RootOurs {
		enforced, err := deploy.Enforces(ctx, s.Session, *s.key)
		if err != nil {
			return err
		}
		r.Enforced = &enforced
	}
	return printResult(io.out, s.target.asJSON, r, func() { r.print(io, s.target) })
}

func (r *rootReport) print(io streams, t *target) {
	fmt.Fprintf(io.out, "%s: %s\n", r.Coordinator, map[string]string{
		"absent": "this ROOT does not exist; hotc apply would create an open one.",
		"open":   "open. Anyone who reaches the coordinator may take the name of any stack.",
		"closed": "closed, with another key.",
		"ours":   "closed. Only the holder of " + t.rootKeyPath() + " may create and list there.",
	}[r.State])
	if r.State == "closed" && t.rootKeyPath() == "" {
		fmt.Fprintln(io.out, "Name the file with its key: --root-key-file FILE.")
	}
	if r.State == "open" {
		for _, h := range r.Holders {
			fmt.Fprintf(io.out, "  %s may %s\n", cmp.Or(h.User, "anyone"), h.May)
		}
	}
	if r.State == "ours" || r.State == "open" {
		fmt.Fprintf(io.out, "%s.\n", source.Counted(r.Deployments, "deployment"))
	}
	if r.State == "ours" && (r.Nodes != 0 || r.Bytes != 0) {
		fmt.Fprintf(io.out, "A deployment may have %s there%s.\n", limitText(store.Limit{Nodes: r.Nodes, Bytes: r.Bytes}), map[bool]string{true: ", and the coordinator refuses more"}[r.Enforced != nil && *r.Enforced])
	}
	if r.Enforced != nil && !*r.Enforced {
		fmt.Fprintln(io.out, "But this ZooKeeper does not enforce it: that takes version 3.7 or later, with enforceQuota=true in zoo.cfg.")
	}
	if r.AroundOpen {
		fmt.Fprintln(io.out, "Anyone who reaches this ZooKeeper can create nodes next to the ROOT and fill its memory (docs/security.md shows how to prevent that).")
	}
}

func limitText(l store.Limit) string {
	switch {
	case l.Bytes == 0:
		return source.Counted(int(l.Nodes), "node")
	case l.Nodes == 0:
		return size(int(l.Bytes))
	}
	return fmt.Sprintf("%s of %s", source.Counted(int(l.Nodes), "node"), size(int(l.Bytes)))
}

// enterRoot finds out who owns the ROOT in which a deployment is created or destroyed. It
// refuses another user's, and an open one where a key was supplied. closed is what Publish
// needs for a closed one.
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
		err = source.Fail(source.NotOurs, "the ROOT of "+name+" does not exist yet", "\""+s.target.rootCommand("new")+"\" creates it")
	default:
		err = s.target.rootError(ctx, root, store.ErrRights)
	}
	return root, nil, err
}

// rootCommand is a `hotc root` command for the same ROOT.
func (t *target) rootCommand(word string) string {
	key := t.rootKeyFile
	if t.rootKeyPath() == "" {
		key = "FILE"
	}
	return "hotc root " + word + given("--coordinator", t.url, "--root-key-file", key)
}

// openToAll says that anyone may create nodes in the ROOT, or that it does not exist: hotc apply
// would create it so.
func (t *target) openToAll(root deploy.Root) bool {
	open := root.State == deploy.RootAbsent
	for _, h := range root.Holders {
		open = open || h.To.Name == "" && h.May&store.MayCreateChildren != 0
	}
	return open && !strings.HasPrefix(t.coordinatorURL(), "unix:") // a socket is its owner's
}

// warnOpenRoot warns that an open ROOT is about to be created. It cannot be closed later; from
// then on "hotc list" and "hotc root show" say that it is open.
func (s *session) warnOpenRoot(io streams, root deploy.Root) {
	if root.State != deploy.RootAbsent || !s.target.openToAll(root) {
		return
	}
	source.Print(io.err, &source.Diagnostic{Code: source.NotOurs, Severity: source.Warning,
		Message: "the ROOT of " + s.target.coordinatorName() + " does not exist yet. This deployment creates it, open for good: anyone who reaches the coordinator can take the names of stacks there, and fill its memory",
		Hint:    "for a ROOT of your own, create it first: \"" + s.target.rootCommand("new") + "\""}, io.errStyle())
}
