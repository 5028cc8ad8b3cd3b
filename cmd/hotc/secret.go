package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// environmentSuffix names the environment for the openstack client next to a secret.
const environmentSuffix = ".env.yaml"

func newSecretCommand(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Create a deployment's secret",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSecretNewCommand(io))
	return cmd
}

func newSecretNewCommand(io streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new FILE",
		Short: "Create a secret in FILE, and an environment with it for Heat",
		Long: `Write a new secret, 64 hex digits without a line end, to FILE, and an environment that
passes it to the stack's hidden parameter to FILE` + environmentSuffix + `. Only you can read these
files, and no existing file is overwritten.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := writeSecret(args[0]); err != nil {
				return err
			}
			environment := args[0] + environmentSuffix
			return printResult(io.out, asJSON, map[string]string{"file": args[0], "environment": environment}, func() {
				fmt.Fprintf(io.out, "%s holds a new secret; pass it to hotc with --secret-file.\n%s passes it to Heat: openstack stack create -e %s …\n",
					args[0], environment, shellQuote(environment))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the names of the files as JSON")
	return cmd
}

func writeSecret(path string) error {
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		return source.Fail(source.OperationFailed, err.Error(), "")
	}
	environment := "# Passes hotc's secret to Heat: openstack stack create -e THIS-FILE …\nparameters:\n  hotc_secret: \"" + secret.Hex() + "\"\n"
	if err := writeNew(path, secret.Hex()); err != nil {
		return err
	}
	if err := writeNew(path+environmentSuffix, environment); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// writeNew writes a new file that only its owner may read, completely or not at all.
func writeNew(path, text string) error {
	failed := func(err error) error {
		return source.Fail(source.BadSecret, "cannot write the secret: "+err.Error(), "")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-") // with mode 0600
	if err != nil {
		return failed(err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return failed(err)
	}
	err = os.Link(f.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return source.Fail(source.BadSecret, path+" exists and is not overwritten", "a deployment may depend on it: use another name")
	}
	if err == nil { // a name is on the disk when its folder is
		var folder *os.File
		if folder, err = os.Open(filepath.Dir(path)); err == nil {
			err = errors.Join(folder.Sync(), folder.Close())
		}
		if err != nil {
			os.Remove(path)
		}
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
