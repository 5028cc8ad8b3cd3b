package script

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

func TestAScriptIsStartedAsTheKernelWould(t *testing.T) {
	for text, want := range map[string][]string{
		"echo hello":                           {"/bin/sh", "PATH"},
		"":                                     {"/bin/sh", "PATH"},
		"#!/bin/bash\necho":                    {"/bin/bash", "PATH"},
		"#! /usr/bin/env python3":              {"/usr/bin/env", "python3", "PATH"},
		"#!/usr/bin/env -S perl -w\n":          {"/usr/bin/env", "-S perl -w", "PATH"},
		"#!\t/usr/bin/awk\t-f \nBEGIN {}":      {"/usr/bin/awk", "-f", "PATH"},
		"#!\n":                                 {"/bin/sh", "PATH"},
		"\x7fELF and whatever makes a program": {"PATH"},
	} {
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := commandLine(source{}, path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] == path {
				got[i] = "PATH"
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is started as %q, want %q", text, got, want)
		}
	}
	got, err := commandLine(source{Interpreter: []string{"python3", "-u"}}, "x")
	if err != nil || !slices.Equal(got, []string{"python3", "-u", "x"}) {
		t.Errorf("with an interpreter of the plan's: %q, %v", got, err)
	}
}

func TestNamesOfVariables(t *testing.T) {
	for name, want := range map[string]string{"db_name": "db_name", "wordpress.db.url": "wordpress_db_url", "a-b/ü": "a_b__"} {
		if got := Variable(name); got != want {
			t.Errorf("%s is $%s, want $%s", name, got, want)
		}
	}
}

func TestWhichInputsAreAwaitedBeforeTheStart(t *testing.T) {
	for _, c := range []struct {
		in   contract.Input
		lazy bool
	}{
		{contract.Input{Time: contract.Static}, false},
		{contract.Input{Time: contract.Deploy}, false},
		{contract.Input{Time: contract.Run}, true},
		{contract.Input{Time: contract.Run, Eager: true}, false},
	} {
		if isRunTime(c.in) != c.lazy {
			t.Errorf("%+v: %v", c.in, !c.lazy)
		}
	}
}
