package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A stack is named as an argument or with --stack, in every command in the same way; what is missing
// is named.
func TestNameOfTheStack(t *testing.T) {
	for _, v := range []string{coordinatorVariable, secretFileVariable, relayKeyVariable, rootKeyVariable} {
		t.Setenv(v, "")
	}
	const found = "which coordinator?" // what it asks for next
	for line, want := range map[string]string{
		"status site":                    found,
		"status site web":                found,
		"status web --stack site":        found,
		"status --stack site":            found,
		"status":                         "which stack?",
		"status site web db":             `too many arguments: "db"`,
		"why site web.app":               found,
		"why web.app --stack site":       found,
		"retry site web.app":             found,
		"retry web.app --stack site":     found,
		"retry web.app":                  "which stack?",
		"retry --stack site":             "SERVER[.ROLE] is missing",
		"retry":                          "NAME is missing",
		"logs site web.app":              found,
		"logs web.app":                   "which stack?",
		"outputs site":                   found,
		"outputs site url":               found,
		"outputs site url more":          `too many arguments: "more"`,
		"action site db.mysql dump":      found,
		"action site db.mysql dump to=x": found,
		"action db.mysql dump":           "which stack?",
		"admit site db":                  found,
		"destroy site":                   found,
		"suspend site --run-hooks":       found,
		"down site":                      found,
		"down site --stack other":        "which stack: site or other?",
		"apply":                          "DIR is missing",
		"apply --stack site":             "DIR is missing",
		"apply none site":                "none/plan.json",
		"up none.yaml site":              "none.yaml",
		"up none.yaml":                   "which stack?",
		"relay site":                     found,
		"relay key FILE site":            "which secret?",
		"relay key --stack site":         "FILE is missing",
	} {
		var errs strings.Builder
		run(t.Context(), strings.Fields(line), streams{in: strings.NewReader(""), out: io.Discard, err: &errs})
		if !strings.Contains(errs.String(), want) {
			t.Errorf("hotc %s says %q, want %q", line, errs.String(), want)
		}
	}
}

// A command that hotc prints can be run as it is printed: its NAME is the stack's.
func TestPrintedCommands(t *testing.T) {
	at := &target{stack: "a:b", url: "zk://127.0.0.1:1/hotc", secretFile: "secret", rootKeyFile: "key"} // no stack's name
	var action strings.Builder
	asked := acted{Role: "db.mysql", Action: "dump", Request: "R"}
	asked.print(streams{out: &action}, at)
	for _, text := range []string{
		action.String(),
		at.session(nil, "a:b", protocol.Secret{}).Asking("db", []protocol.ApprovalRequest{{Key: "K="}})[0],
		(&protocol.TokenUsedError{Deployment: "a:b", Server: "db", Key: "K="}).Error(),
		(&ascent{target: *at}).downCommand(),
		at.command("apply", "DIR", "--restore"),
		at.command("destroy", "--run-hooks", "--yes"),
		at.command("relay", "--once"),
		at.command("retry", "db.mysql", "--skip", "--yes"),
		at.command("status", "--watch"),
		at.command("why"),
		at.command("why", "db"),
	} {
		printed := regexp.MustCompile(`hotc ([^\n()]+)`).FindStringSubmatch(text)
		var errs strings.Builder
		run(t.Context(), strings.Fields(printed[1]), streams{in: strings.NewReader(""), out: io.Discard, err: &errs})
		if !strings.Contains(errs.String(), `"a:b" is not a valid stack name`) {
			t.Errorf("%s says %q", printed[0], errs.String())
		}
	}
}

// A topic that does not exist is an error, as a command that does not exist is.
func TestHelpTopics(t *testing.T) {
	for line, want := range map[string]string{"help": "", "help status": "", "help relay key": "", "help nosuch": `unknown command "nosuch"`, "help relay kex": `did you mean "key"?`, "help status web": `unknown command "web"`} {
		var out, errs strings.Builder
		status := run(t.Context(), strings.Fields(line), streams{in: strings.NewReader(""), out: &out, err: &errs})
		if !strings.Contains(errs.String(), want) || (status == exitUsage) != (want != "") || (out.Len() > 0) != (want == "") {
			t.Errorf("hotc %s ends with %d: %s%s", line, status, out.String(), errs.String())
		}
	}
}
