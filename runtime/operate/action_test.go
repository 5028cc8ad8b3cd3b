package operate

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// An action takes arguments of the types of the inputs that they replace, and no secret.
func TestActionRequest(t *testing.T) {
	o := &Operator{Command: func(words ...string) string { return "hotc " + strings.Join(words, " ") }}
	r := &status.Role{Server: &status.Server{ServerSnapshot: deploy.ServerSnapshot{Path: "db", Alive: true}}, RoleState: protocol.RoleState{Name: "mysql"},
		Plan: &contract.Role{Name: "mysql", Actions: []contract.Task{{Name: "backup"}},
			Inputs: []contract.Input{{Name: "keep", Type: contract.Number}, {Name: "password", Secret: true}}}}
	q, err := o.ActionRequest(r, "backup", []Argument{{"keep", "7"}, {"label", "x"}})
	if err != nil || q.Name != "backup" || q.Role != "mysql" || string(q.Values["keep"]) != "7" || string(q.Values["label"]) != `"x"` {
		t.Errorf("%+v, %v", q, err)
	}
	for _, c := range []struct {
		name, want string
		argument   Argument
		away       bool
	}{
		{name: "bakup", want: "has no action bakup"},
		{name: "backup", want: "secret", argument: Argument{"password", "hunter2"}},
		{name: "backup", want: "input keep", argument: Argument{"keep", "many"}},
		{name: "backup", want: "the agent of db is not running", away: true},
	} {
		r.Server.Alive = !c.away
		_, err := o.ActionRequest(r, c.name, []Argument{c.argument})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
