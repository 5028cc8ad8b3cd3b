package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/up"
)

func newDownCommand(s streams) *cobra.Command {
	d := descent{conduct: conduct{io: s}}
	cmd := &cobra.Command{
		Use:   "down NAME",
		Short: "Delete a stack, after its roles' delete hooks, and its deployment",
		Long: `Run the roles' delete hooks, delete the stack NAME, and remove its deployment from the coordinator. If the command is interrupted, run it again: it continues
where it stopped, and follows a deletion that Heat has started.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.begin(cmd, args, nil)
			return d.run(cmd.Context())
		},
	}
	d.addFlags(cmd, "")
	d.addRootKeyFlag(cmd)
	d.addLockFlag(cmd)
	f := cmd.Flags()
	f.BoolVar(&d.skipHooks, "skip-hooks", false, "do not run delete hooks")
	d.addConductFlags(f, "do not ask for confirmation")
	return cmd
}

// descent is one run of `hotc down`.
type descent struct {
	target
	conduct
	skipHooks bool
}

type downReport struct {
	Format     int    `json:"format"`
	Stack      string `json:"stack"`
	HadStack   bool   `json:"had_stack"`
	Deployment bool   `json:"had_deployment"`
}

func (d *descent) report(gone up.Gone, what string) error {
	fmt.Fprintln(d.io.out, what)
	if d.json == nil {
		return nil
	}
	return printJSON(d.json, downReport{upFormat, d.stack, gone.Stack, gone.Deployment})
}

func (d *descent) run(ctx context.Context) error {
	if _, err := d.named(); err != nil {
		return err
	}
	cloud, err := heat.Connect(ctx, heat.Options{Cloud: d.cloud})
	if err != nil {
		return err
	}
	if _, err := d.secret(); err != nil {
		if _, missing := cloud.Stack(ctx, d.stack); d.secretPath() == "" && errors.Is(missing, heat.ErrNotFound) {
			return d.report(up.Gone{}, "There is no stack "+d.stack+", and your state folder has no secret of a deployment with that name.")
		}
		return source.WithHint(err, "name its file with --secret-file FILE, or in $"+secretFileVariable+"; without it \"openstack stack delete "+shellQuote(d.stack)+"\" deletes the stack, and \"hotc gc\" then its deployment, with the ROOT's key")
	}
	if !d.yes {
		if err := confirm(ctx, d.io, fmt.Sprintf("Delete the stack %s and its deployment on %s?", d.stack, d.coordinatorName())); err != nil {
			return err
		}
	}
	view := newUpView(ctx, d.io, &d.target, nil, true)
	view.width = widestName / 2
	defer view.clear()
	on := &cloudDeployment{command: "hotc down", target: &d.target, io: d.io, say: view.Say}
	defer on.close()
	gone, err := (&up.Down{Cloud: cloud, Deployment: on, View: view, Name: d.stack, SkipHooks: d.skipHooks, Look: betweenHeatsLooks}).Run(ctx)
	switch {
	case ctx.Err() != nil:
		return source.Fail(source.OperationFailed, "interrupted: what has started goes on without hotc, but Heat may wait for it", "run the same command again: "+d.typed())
	case err != nil:
		return err
	}
	d.forget()
	view.clear()
	what := "There is no stack " + d.stack + ", and no deployment."
	switch {
	case gone.Stack && gone.Deployment:
		what = d.stack + " is deleted: the stack and the deployment."
	case gone.Stack:
		what = "The stack " + d.stack + " is deleted; there was no deployment."
	case gone.Deployment:
		what = "The deployment " + d.stack + " is deleted; there was no stack."
	}
	return d.report(gone, what)
}

// forget removes the secret that `hotc up` kept.
func (d *descent) forget() {
	folder := d.keptState()
	if folder == "" {
		return
	}
	for _, name := range []string{keptSecretFile, keptSecretFile + environmentSuffix} {
		os.Remove(filepath.Join(folder, name))
	}
	os.Remove(folder) // only if empty
}
