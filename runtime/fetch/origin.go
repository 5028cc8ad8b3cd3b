package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hotc-dev/hotc/runtime/archive"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// Origin is where a tree of files comes from, as written by the compiler
// (compiler/driver/origin.go): a file of the plan, a URL, or a repository.
type Origin struct {
	File   string `json:"file,omitempty"` // digest of an archive
	URL    string `json:"url,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Git    string `json:"git,omitempty"`
	Branch string `json:"branch,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Commit string `json:"commit,omitempty"`
	// SSHKey is a path on the server, or {"input": NAME}.
	SSHKey json.RawMessage `json:"ssh_key,omitempty"`
	// KnownHosts are lines of ssh's known_hosts; without them a host's first key is trusted.
	KnownHosts string `json:"known_hosts,omitempty"`
	Proxy      string `json:"proxy,omitempty"`
	// Path selects a part of the tree.
	Path string `json:"path,omitempty"`
}

// Text is a file of the plan that a role runs without a tree.
type Text struct {
	File string `json:"file"` // digest
	Name string `json:"name"`
}

// Tree fetches a tree of files into a named folder of the job, and returns the path of the
// selected part. It reads the input with the ssh key, if any.
func Tree(ctx context.Context, job *driver.Job, o Origin, name string) (string, error) {
	folder := filepath.Join(job.Folder, name)
	if err := os.RemoveAll(folder); err != nil {
		return "", fmt.Errorf("clear %s: %w", name, err)
	}
	var err error
	packed := folder + ".archive"
	switch {
	case o.File != "":
		err = job.Fetch(ctx, o.File, "plan's file", packed, 0o600)
	case o.URL != "":
		err = Download{URL: o.URL, SHA256: o.SHA256, Proxy: o.Proxy}.To(ctx, packed)
	case o.Git != "":
		err = fromGit(ctx, job, o, folder)
	default:
		err = errors.New("the plan has no origin for it")
	}
	if err == nil && o.Git == "" {
		err = unpack(ctx, packed, folder)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return part(folder, o.Path)
}

// Trees fetches several; if there is more than one, their names are numbered from 1.
func Trees(ctx context.Context, job *driver.Job, origins []Origin, name string) ([]string, error) {
	paths := []string{}
	for i, o := range origins {
		own := name
		if len(origins) > 1 {
			own = fmt.Sprintf("%s-%d", name, i+1)
		}
		path, err := Tree(ctx, job, o, own)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// part is the path of the selected part of a tree. Nothing in the tree leads out of it,
// so neither does the path.
func part(folder, within string) (string, error) {
	if within == "" {
		return folder, nil
	}
	if !filepath.IsLocal(within) {
		return "", fmt.Errorf("the path %q is outside the tree", within)
	}
	path := filepath.Join(folder, within)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the fetched tree has no %s", within)
	}
	return path, nil
}

// unpack unpacks an archive and removes it.
func unpack(ctx context.Context, path, folder string) error {
	defer os.Remove(path)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return archive.Unpack(ctx, file, folder, archive.DefaultLimits)
}
