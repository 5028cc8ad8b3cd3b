package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// place is a bed, and the environment of commands in it.
type place struct {
	bed         *bed.Bed
	zookeeper   *bed.Ensemble
	environment []string
}

// inBed creates a bed and runs a command in it, or a shell.
func inBed(members int, args []string) (int, error) {
	programs, err := programFolder()
	if err != nil {
		return 1, err
	}
	if err := bed.Enter(); err != nil {
		return 1, err
	}
	p, err := makePlace(programs, members)
	if err != nil {
		return 1, err
	}
	if len(args) > 0 && args[0] == "try" {
		return p.try(args[1], args[2:])
	}
	if len(args) == 0 {
		return p.shell()
	}
	return foreground(args, p.environment)
}

// programFolder is the folder of this program, with hotc and hotc-agent.
func programFolder() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(self)
	for _, name := range []string{"hotc", "hotc-agent"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("%s has to be in the folder of hotc-bed, where `make build` puts it: %w", name, err)
		}
	}
	return dir, nil
}

func makePlace(programs string, members int) (*place, error) {
	agent, err := os.ReadFile(filepath.Join(programs, "hotc-agent"))
	if err != nil {
		return nil, err
	}
	public, err := os.MkdirTemp("", "public")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(public, "hotc-agent"), agent, 0o755); err != nil {
		return nil, err
	}
	p := &place{}
	if p.bed, err = bed.New(bed.Options{Files: public}); err != nil {
		return nil, err
	}
	if p.zookeeper, err = p.bed.ZooKeeper(members); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(agent)
	url := p.zookeeper.URL("hotc")
	e := p.bed.Oracle.Endpoints
	p.environment = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "HOTC_COORDINATOR="+url,
		"HOTC_BED_FLAGS="+strings.Join([]string{"--coordinator", url, "--agent-url", p.bed.FilesURL + "/hotc-agent",
			"--agent-sha256", runtime.GOARCH + "=" + hex.EncodeToString(digest[:])}, " "),
		"OS_AUTH_URL="+e.AuthURL, "OS_USERNAME="+e.Username, "OS_PASSWORD="+e.Password, "OS_PROJECT_ID="+e.Project,
		"OS_USER_DOMAIN_NAME=Default", "OS_IDENTITY_API_VERSION=3")
	return p, nil
}

// shell runs the user's shell on a terminal, otherwise /bin/sh.
func (p *place) shell() (int, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return foreground([]string{"/bin/sh"}, p.environment)
	}
	name := os.Getenv("SHELL")
	if name == "" {
		name = "/bin/sh"
	}
	fmt.Fprintln(os.Stderr, "This shell runs in the bed; when it exits, everything in the bed is removed. `hotc-bed servers` lists servers.")
	return foreground([]string{name}, p.environment)
}
