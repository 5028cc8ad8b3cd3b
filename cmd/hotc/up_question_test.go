package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/up"
)

// Before hotc up asks, it says whose disk is lost, and from what to what parameters change; of a
// hidden one only that it does.
func TestTheQuestionNamesLostDisksAndValues(t *testing.T) {
	var out bytes.Buffer
	plan := &contract.Plan{Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r", Hooks: []contract.Task{{Name: contract.HookDelete}}}}}, {Path: "web"}}}
	v := newUpView(t.Context(), streams{out: &out, err: &out}, &target{stack: "blog"}, plan, true)
	err := v.Confirm(up.Changes{Rebuilt: []string{"db", "web"}, Resized: []string{"lb"}, Given: []string{"image", "motd", "none", "password", "size"}, Roles: []deploy.RoleChange{
		{Server: "lb", Role: "proxy", What: []string{"web/2 joins web"}, Joins: true, Effect: deploy.EffectHook}, {Server: "lb", Role: "log", What: []string{"web/2 joins web", "source"}, Effect: deploy.EffectAgain}}, Values: map[string]up.Value{
		"image": {Before: "debian-13", After: "debian-12", Default: true}, "size": {Before: "1", After: "2"}, "none": {Before: "x\x1b[2J"}, "motd": {Before: "m", After: strings.Repeat("ä", 100)}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `The stack blog exists. Changes:
  Heat rebuilds db: its disk is lost, and its roles run again on an empty one; its delete hooks do not run
  Heat rebuilds web: its disk is lost, and its roles run again on an empty one
  Heat resizes lb: it boots again, with the same disk
  parameter image gets a new value: debian-13 → debian-12, its default: neither -P nor -e gives it a value
  parameter motd gets a new value: m → ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…
  parameter none gets a new value: x\u001b[2J → ""
  parameter password gets a new value
  parameter size gets a new value: 1 → 2
  lb.proxy: web/2 joins web: its update hook runs, when the member has joined
  lb.log: web/2 joins web, source changes: it runs again
`
	if got := out.String(); got != want {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
}
