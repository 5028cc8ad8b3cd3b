package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// try compiles, applies and creates a template, printing each command before it runs, and then
// starts a shell if there is a terminal.
func (p *place) try(template string, flags []string) (int, error) {
	template, err := filepath.Abs(template)
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "try")
	if err != nil {
		return 1, err
	}
	if err := os.Chdir(dir); err != nil {
		return 1, err
	}
	// in the environment, to keep the printed commands short
	p.environment = append(p.environment, "HOTC_SECRET_FILE=secret", "TEMPLATE="+template)
	status, err := p.steps(
		`hotc secret new secret`,
		strings.TrimSpace(`hotc compile "$TEMPLATE" -o made $HOTC_BED_FLAGS `+quoted(flags)),
		`hotc apply made try`,
		`openstack stack create -t made/stack.yaml -e secret.env.yaml --wait try`,
		`hotc status try`,
		`openstack stack output show --all try`,
	)
	if err == nil && term.IsTerminal(int(os.Stdin.Fd())) {
		p.environment = append(p.environment, "HOTC_SECRET_FILE="+filepath.Join(dir, "secret"))
		return p.shell()
	}
	return status, err
}

// steps runs commands until one fails.
func (p *place) steps(commands ...string) (int, error) {
	for _, command := range commands {
		fmt.Println("$ " + command)
		if status, err := foreground([]string{"/bin/sh", "-c", command}, p.environment); status != 0 {
			return status, err
		}
		fmt.Println()
	}
	return 0, nil
}

// quoted quotes arguments for a shell.
func quoted(args []string) string {
	var words []string
	for _, a := range args {
		words = append(words, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}
