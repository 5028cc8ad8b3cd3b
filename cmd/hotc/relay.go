package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	corelay "github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/relay"
)

const relayKeyVariable = "HOTC_RELAY_KEY_FILE"

// relayEvery is the interval at which a relay polls Heat.
const relayEvery = time.Second

func newRelayCommand(s streams) *cobra.Command {
	t, cloud, keyFile, once := &target{}, "", "", false
	cmd := &cobra.Command{
		Use:   "relay NAME",
		Short: "Report to Heat for a stack's servers how their roles end",
		Long: `Report to Heat, for a stack compiled with --signal=relay, when the roles of its servers are
done, or which has failed. Run it where both Heat and the coordinator can be reached, as
long as the stack is to be created, updated or scaled; with --once it ends when nothing is
in progress. It may be killed and started elsewhere at any time, and several relays do no
harm.

It uses your Heat credentials: $OS_CLOUD names a cloud in clouds.yaml, or the OS_*
variables are set. With a key written by "hotc relay key" it does not need the secret.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keyFile == "" && t.secretFile == "" {
				keyFile = os.Getenv(relayKeyVariable)
			}
			if keyFile == "" {
				if _, err := t.named(); err != nil {
					return err
				}
			}
			key, err := t.relayKey(keyFile)
			if err != nil {
				return err
			}
			return t.relay(cmd.Context(), s, key, cloud, once)
		},
	}
	t.addFlags(cmd, "")
	f := cmd.Flags()
	f.StringVar(&keyFile, "key-file", "", "`FILE` from \"hotc relay key\", in place of the secret (default: $"+relayKeyVariable+")")
	f.StringVar(&cloud, "cloud", "", "the cloud's `NAME` in clouds.yaml (default: $OS_CLOUD)")
	f.BoolVar(&once, "once", false, "end when the stack is neither being created nor updated")
	cmd.AddCommand(newRelayKeyCommand(s))
	return cmd
}

func newRelayKeyCommand(s streams) *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:   "key FILE NAME",
		Short: "Write the key for a stack's relay to FILE",
		Long: `Write to FILE a key that "hotc relay" can use in place of the stack's secret. Its holder
can report the stack's state to Heat and to readers on the coordinator, and read the plan,
but cannot run anything on its servers or read a secret. Only you can read the file.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := t.relayKey("")
			if err != nil {
				return err
			}
			if err := writeNew(args[0], string(key.File())); err != nil {
				return err
			}
			fmt.Fprintf(s.out, "%s holds the relay key of %s; pass it to hotc relay with --key-file.\n", args[0], t.stack)
			return nil
		},
	}
	f := cmd.Flags()
	t.addName(cmd)
	f.StringVar(&t.secretFile, "secret-file", "", "`FILE` from \"hotc secret new\" (default: $"+secretFileVariable+")")
	return cmd
}

// relayKey is the key of the deployment's relay, read from a file or derived from the secret.
func (t *target) relayKey(file string) (protocol.RelayKey, error) {
	var none protocol.RelayKey
	if file != "" {
		key, err := readRelayKey(file)
		if err == nil && t.stack != "" && t.stack != string(key.Deployment) {
			err = source.Fail(source.BadSecret, fmt.Sprintf("%s is the key of %s, not of %s", file, key.Deployment, t.stack), "each stack has its own key: \"hotc relay key\" writes it")
		}
		t.stack = string(key.Deployment)
		return key, err
	}
	d, err := t.deployment()
	if err != nil {
		return none, err
	}
	if t.secretPath() == "" {
		return none, source.Fail(source.Usage, t.whichSecret(),
			"name the secret's file with --secret-file FILE, or in $"+secretFileVariable+"; hotc relay also takes a key from \"hotc relay key\": --key-file FILE, or $"+relayKeyVariable)
	}
	secret, err := t.secret()
	if err != nil {
		return none, err
	}
	return secret.Relay(d)
}

func readRelayKey(file string) (protocol.RelayKey, error) {
	text, err := readKeyFile(file, "the relay's key", "\"hotc relay key "+shellQuote(file)+"\" writes it, on the machine that has the secret")
	if err != nil {
		return protocol.RelayKey{}, err
	}
	key, err := protocol.ParseRelayKey(text)
	if err != nil {
		return key, source.Fail(source.BadSecret, file+": "+err.Error(), "\"hotc relay key\" writes a valid one, on the machine that has the secret")
	}
	return key, nil
}

// relay relays until the command is ended, or with once until nothing is in progress.
func (t *target) relay(ctx context.Context, s streams, key protocol.RelayKey, cloud string, once bool) error {
	if t.coordinatorURL() == "" {
		return whichCoordinator()
	}
	client, err := heat.Connect(ctx, heat.Options{Cloud: cloud})
	if err != nil {
		return err
	}
	r := &relay.Relay{Heat: client, Once: once, Say: func(text string) {
		fmt.Fprintf(s.out, "%s %s\n", time.Now().Format(time.TimeOnly), terminal.Visible(text))
	}}
	err = t.relayBy(ctx, r, key)
	if err != nil && ctx.Err() != nil && !once {
		return nil // ended on purpose
	}
	return err
}

// relayBy opens a relay's session and runs it.
func (t *target) relayBy(ctx context.Context, r *relay.Relay, key protocol.RelayKey) error {
	store, err := t.dial(ctx, t.coordinatorURL(), key.Deployment.Root(), key.Credential())
	if err != nil {
		return err
	}
	defer store.Close()
	host, _ := os.Hostname() // only shown to people
	r.Store, r.Key, r.Name, r.Every = store, key, rand.Text(), relayEvery
	r.Presence = protocol.RelayPresence{Host: host, Version: version, Since: time.Now().UTC()}
	return t.explainRelay(ctx, key, r.Run(ctx))
}

// explainRelay turns the error that ended a relay into a diagnostic.
func (t *target) explainRelay(ctx context.Context, key protocol.RelayKey, err error) error {
	if _, done := source.AsDiagnostic(err); done || err == nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case errors.Is(err, relay.ErrFailed):
		return source.Fail(source.StackFailed, err.Error(), "\""+t.command("why")+"\" shows the root cause; fix it, and update the stack")
	case errors.Is(err, relay.ErrGone):
		return source.Fail(source.StackFailed, err.Error(), "\""+t.command("destroy")+"\" removes its deployment")
	case errors.Is(err, corelay.ErrWrongKey):
		return source.Fail(source.BadSecret, "the deployment "+string(key.Deployment)+" was applied with another secret than this relay key's", "write the key again with \"hotc relay key\"")
	}
	return source.Fail(source.OperationFailed, err.Error(), "")
}
