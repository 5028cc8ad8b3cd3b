package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// keptSecretFile is the file that `hotc up` keeps for a deployment, in the user's state folder.
const keptSecretFile = "secret"

// keptState is the deployment's folder there; "" if it cannot be determined. Its name depends on
// the coordinator's hosts, in any order: stacks of one name in two clouds have two secrets.
func (t *target) keptState() string {
	d, err := protocol.ParseDeployment(t.stack)
	url := store.ShownURL(t.coordinatorURL())
	if err != nil || url == "" {
		return ""
	}
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "state")
	}
	_, place, found := strings.Cut(url, "://")
	if !found {
		place = url
	}
	place, _, _ = strings.Cut(place, "?")
	hosts, root, _ := strings.Cut(place, "/")
	list := strings.Split(hosts, ",")
	slices.Sort(list)
	name, where := string(d), strings.Join(list, ",")+"/"+root
	if len(name) > longestKept {
		name, where = name[:longestKept], where+"/"+name
	}
	return filepath.Join(base, "hotc", name+"-"+protocol.Digest([]byte(where))[:8])
}

// longestKept is how much of a stack's name is in the folder's, which may have 255 bytes: as many
// as the stack's alone.
const longestKept = 200

func (t *target) keptSecret() string {
	if folder := t.keptState(); folder != "" {
		return filepath.Join(folder, keptSecretFile)
	}
	return ""
}

// makeState creates the deployment's folder, which only the user can read.
func (t *target) makeState() (string, error) {
	folder := t.keptState()
	if folder == "" {
		return "", source.Fail(source.OperationFailed, "no folder for the deployment's state: neither $XDG_STATE_HOME nor $HOME is set", "set one of them; --secret-file FILE sets only the secret's place")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", source.Fail(source.OperationFailed, "cannot keep the deployment's state: "+err.Error(), "")
	}
	return folder, nil
}

// makeSecret creates the deployment's secret unless it exists. created is the new file, or "".
func (t *target) makeSecret() (created string, err error) {
	path := t.secretPath()
	if path == "" {
		path = t.keptSecret()
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", nil // errors are reported when it is read
	}
	return path, writeSecret(path)
}
