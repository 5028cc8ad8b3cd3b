package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

func sample() contract.Role {
	return contract.Role{Name: "mysql", At: "site.yaml:5:9", Driver: "script", Source: json.RawMessage(`{"file":"ab","then":"<"}`), Files: []string{"ab"},
		Inputs: []contract.Input{{Name: "level", Time: contract.Static, Expr: json.RawMessage(`1`), At: map[string]contract.Position{"": "site.yaml:9:9"}}},
		Render: []contract.RenderedFile{{Path: "/etc/x", At: "site.yaml:8:1", Template: "cd", Name: "x.tmpl", Mode: "0644"}}}
}

func TestWhatADefinitionIsMadeOf(t *testing.T) {
	before := sample()
	for name, change := range map[string]func(*contract.Role){
		"source":    func(r *contract.Role) { r.Source = json.RawMessage(`{"file":"ac"}`) },
		"no source": func(r *contract.Role) { r.Source = nil },
		"files":     func(r *contract.Role) { r.Files = nil },
		"driver":    func(r *contract.Role) { r.Driver = "chef" },
		"tool":      func(r *contract.Role) { r.Install = &contract.Install{Version: "7"} },
		"an input":  func(r *contract.Role) { r.Inputs[0].Expr = json.RawMessage(`1.0`) },
		"another input": func(r *contract.Role) {
			r.Inputs = append(r.Inputs, contract.Input{Name: "x", Expr: json.RawMessage(`null`)})
		},
		"a default":        func(r *contract.Role) { r.Inputs[0].Default = json.RawMessage(`null`) },
		"eager":            func(r *contract.Role) { r.Inputs[0].Eager = true },
		"a file's mode":    func(r *contract.Role) { r.Render[0].Mode = "0600" },
		"a file's text":    func(r *contract.Role) { r.Render[0].Template = "ce" },
		"a file's absence": func(r *contract.Role) { r.Render = nil },
	} {
		after := sample()
		change(&after)
		if after.Definition() == before.Definition() {
			t.Errorf("%s is not a part of it", name)
		}
	}
	for name, change := range map[string]func(*contract.Role){
		"positions":         func(r *contract.Role) { r.At, r.Inputs[0].At, r.Render[0].At = "", nil, "" },
		"timeouts":          func(r *contract.Role) { r.Timeout, r.Inputs[0].Timeout, r.Inputs[0].IfDown = 1, 2, 3 },
		"tasks":             func(r *contract.Role) { r.Hooks = []contract.Task{{Name: contract.HookUpdate}}; r.Actions = r.Hooks },
		"spelling":          func(r *contract.Role) { r.Source = json.RawMessage("{\"then\": \"\\u003c\",\n \"file\":\"ab\"}") },
		"a template's name": func(r *contract.Role) { r.Render[0].Name = "y.tmpl" },
	} {
		after := sample()
		change(&after)
		if after.Definition() != before.Definition() {
			t.Errorf("%s are part of it", name)
		}
	}
	// Agents read it from the coordinator, and get the same.
	text, err := json.MarshalIndent(before, "", "  ")
	var there contract.Role
	if err != nil || json.Unmarshal(text, &there) != nil || there.Definition() != before.Definition() {
		t.Errorf("it has not survived the way: %v", err)
	}
}
