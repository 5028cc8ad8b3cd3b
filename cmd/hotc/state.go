package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
)

// keptSecretFile is what `hotc up` keeps of a deployment between its runs, in the user's state
// folder.
const keptSecretFile = "secret"

// keptState is the deployment's folder there; "" where that cannot be told. The coordinator's
// hosts are in its name, in any order: stacks of one name in two clouds have two secrets.
func (t *target) keptState() string {
	d, err := coordinator.ParseDeployment(t.stack)
	url := coordinator.ShownURL(t.coordinatorURL())
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
	return filepath.Join(base, "hotc", name+"-"+coordinator.Digest([]byte(where))[:8])
}

// longestKept is how much of a stack's name stands in that of its folder, which has up to 255 bytes: so
// many has the stack's already.
const longestKept = 200

func (t *target) keptSecret() string {
	if folder := t.keptState(); folder != "" {
		return filepath.Join(folder, keptSecretFile)
	}
	return ""
}

// makeState makes the deployment's folder, which is the user's alone.
func (t *target) makeState() (string, error) {
	folder := t.keptState()
	if folder == "" {
		return "", source.Fail(source.OperationFailed, "there is no place for the deployment's state: neither $XDG_STATE_HOME nor $HOME is set", "set one of them; the secret alone can be placed with --secret-file FILE")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", source.Fail(source.OperationFailed, "the deployment's state cannot be kept: "+err.Error(), "")
	}
	return folder, nil
}

// makeSecret makes the deployment's secret unless it is there. made is the file if it was.
func (t *target) makeSecret() (made string, err error) {
	path := t.secretPath()
	if path == "" {
		path = t.keptSecret()
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", nil // who reads it says what is wrong with it
	}
	return path, writeSecret(path)
}
