package emit_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// part is what cloud-init makes of a part of the user-data.
type part struct{ kind, name, text string }

// cloudInitParts asks cloud-init's own code about many user-data at once.
func cloudInitParts(t *testing.T, userData []string) [][]part {
	t.Helper()
	in, err := json.Marshal(userData)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "testdata/parts.py")
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	var found [][][3]string
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("cloud-init's code: %v\n%s", err, out)
	}
	all := make([][]part, len(found))
	for i, parts := range found {
		for _, p := range parts {
			all[i] = append(all[i], part{p[0], p[1], p[2]})
		}
	}
	return all
}

// booted creates a stack that waits for nobody, and returns its servers by name.
func booted(t *testing.T, in heattest.Input) map[string]heattest.Server {
	t.Helper()
	st := stockHeat.Oracle(t).Create(t, "site", in)
	st.Complete(t)
	servers := map[string]heattest.Server{}
	for _, s := range st.Booted(t) {
		servers[s.Path] = s
	}
	return servers
}

// withoutSignal compiles a template so that its stack does not wait for roles.
func withoutSignal(t *testing.T, template string) heattest.Input {
	t.Helper()
	o := options(template)
	o.Signal = contract.NobodySignals
	r, found := compile(t, o)
	if r == nil {
		t.Fatal(found)
	}
	return inputOf(t, r)
}

// In every format, what cloud-init gets of the user's own user_data is what it
// would get without hotc: the same parts of the same types with the same text.
func TestUserDataFormats(t *testing.T) {
	const template = "testdata/edits/user-data-formats.yaml"
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("SKIPPED: cloud-init is missing")
	}
	const archive = "Content-Type: multipart/mixed; boundary=x\nMIME-Version: 1.0\n\n--x\nContent-Type: text/x-shellscript\n\n#!/bin/sh\ntrue\n--x\nContent-Type: text/plain\n\n#cloud-config\nruncmd: []\n--x--\n"
	for _, c := range []struct{ name, any, plain string }{
		{"scripts", "#!/bin/sh\necho ž = 😀\n", "#!/bin/sh\necho plain\n"}, // Heat itself spoils other characters in an archive of an archive
		{"archives", archive, archive},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := withoutSignal(t, template)
			in.Parameters["any"], in.Parameters["plain"] = c.any, c.plain
			without := booted(t, heattest.Input{Template: template, Parameters: map[string]any{"any": c.any, "plain": c.plain}})
			with := booted(t, in)
			names := slices.Sorted(maps.Keys(without))
			var texts []string
			for _, name := range names {
				texts = append(texts, without[name].NovaUserData, with[name].NovaUserData)
			}
			parts := cloudInitParts(t, texts)
			for i, name := range names {
				compareParts(t, name, parts[2*i], parts[2*i+1])
			}
		})
	}
}

// So it is for the members of a group, whose servers hotc puts into templates of their
// own.
func TestUserDataOfMembers(t *testing.T) {
	const template = "testdata/edits/group-user-data.yaml"
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("SKIPPED: cloud-init is missing")
	}
	any := map[string]any{"any": "#!/bin/sh\necho plain\n"}
	in := withoutSignal(t, template)
	maps.Copy(in.Parameters, any)
	without, with := booted(t, heattest.Input{Template: template, Parameters: any}), booted(t, in)
	names := slices.Sorted(maps.Keys(without))
	if len(names) != 5 {
		t.Fatalf("servers %v", names)
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, without[name].NovaUserData, with[name+"/server"].NovaUserData)
	}
	parts := cloudInitParts(t, texts)
	for i, name := range names {
		compareParts(t, name, parts[2*i], parts[2*i+1])
	}
}

// compareParts compares a server's parts without and with hotc.
func compareParts(t *testing.T, name string, before, after []part) {
	t.Helper()
	var texts, mine []part
	for _, p := range after {
		p.name = strings.TrimPrefix(p.name, "part-")
		switch {
		case p.kind == "text/cloud-config" && p.text == "#cloud-config\n{}" || p.name == "00-hotc":
			mine = append(mine, p)
		case p.kind == "text/plain": // cloud-init says that it knows no such thing, and goes on
		case p.kind == "text/x-cfninitdata" && p.name == "cfn-userdata" && strings.Contains(p.text, "HOTC_BOOT"):
			mine = append(mine, p, p)
			p.text = runScript(t, p.text)
			texts = append(texts, p)
		default:
			texts = append(texts, p)
		}
	}
	if len(mine) != 2 {
		t.Errorf("%s: %d parts of hotc's own", name, len(mine))
	}
	var want []part
	for _, p := range before {
		if p.kind == "text/plain" || p.name == "cfn-init-data" && userMetadata(p) == "{}" || name == "cfn_default" && p.name != "cfn-userdata" {
			continue
		}
		if name == "cfn_default" {
			p.kind, p.name = "text/x-shellscript", ""
		}
		want = append(want, part{p.kind, "", userMetadata(p)})
	}
	for i := range texts {
		texts[i] = part{texts[i].kind, "", userMetadata(texts[i])}
	}
	if diff := cmp.Diff(want, texts, cmp.AllowUnexported(part{})); diff != "" {
		t.Errorf("%s (-without hotc +with it):\n%s", name, diff)
	}
}

// userMetadata is a part's text; of the server's metadata what is the user's.
func userMetadata(p part) string {
	if p.name != "cfn-init-data" {
		return p.text
	}
	var m map[string]any
	if json.Unmarshal([]byte(p.text), &m) != nil {
		return p.text
	}
	delete(m, "hotc")
	delete(m, "os-collect-config") // credentials, different in each stack
	text, _ := json.Marshal(m)
	return string(text)
}

// runScript runs the script that Heat's cfntools would run, up to what it becomes.
func runScript(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	own := filepath.Join(root, "cfn-userdata")
	if err := os.WriteFile(own, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own)
	cmd.Env = append(os.Environ(), "HOTC_ROOT="+root, "PATH="+fakeSystemctl(t, root)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "cfn-init") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/hotc/start")); err != nil {
		t.Errorf("hotc was not installed: %v\n%s", err, out)
	}
	after, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(after), "\n")
}

func fakeSystemctl(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(root, "fake")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A template of an old version gives its servers the same user-data as one of a
// newer version does.
func TestOldVersions(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "newer.yaml")
	text, err := os.ReadFile("testdata/edits/version-2013-05-23.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(newer, []byte(strings.Replace(string(text), "2013-05-23", "2015-10-15", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	want := waiting(t, newer)
	for _, version := range []string{"2013-05-23", "2014-10-16", "2015-04-30"} {
		t.Run(version, func(t *testing.T) {
			got := waiting(t, "testdata/edits/version-"+version+".yaml")
			for _, name := range []string{"db", "web"} {
				before, wantBoot := splitBoot(t, want[name].NovaUserData)
				after, gotBoot := splitBoot(t, got[name].NovaUserData)
				if before != after {
					t.Errorf("%s: the user-data differs:\n%s", name, cmp.Diff(before, after))
				}
				if diff := cmp.Diff(wantBoot, gotBoot); diff != "" {
					t.Errorf("%s: the boot file differs (-newer +old):\n%s", name, diff)
				}
			}
		})
	}
}

// waiting are the two servers of a stack that waits for their roles.
func waiting(t *testing.T, template string) map[string]heattest.Server {
	t.Helper()
	in := heattest.Input{Template: filepath.Join(written(t, template), "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}}
	servers := map[string]heattest.Server{}
	for _, s := range stockHeat.Oracle(t).Create(t, "site", in).Servers(t, 2) {
		servers[s.Path] = s
	}
	return servers
}

// splitBoot takes the boot file out of user-data, without what differs from stack
// to stack.
func splitBoot(t *testing.T, userData string) (rest string, boot map[string]any) {
	t.Helper()
	text := bootFile(t, userData)
	before, after, _ := strings.Cut(userData, text)
	if err := json.Unmarshal([]byte(text), &boot); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if boot["signal"] == "" || boot["stack_id"] == "" || boot["token"] == "" {
		t.Errorf("boot file %s", text)
	}
	if id, _ := boot["stack_id"].(string); strings.ContainsAny(id, ":/") {
		t.Errorf("the stack's id is %s", id)
	}
	delete(boot, "signal")
	delete(boot, "stack_id")
	if deploy, ok := boot["deploy"].(map[string]any); ok {
		for key, v := range deploy {
			if address, ok := v.(string); ok && strings.HasPrefix(address, "10.") {
				deploy[key] = "an address"
			}
		}
	}
	return before + after, boot
}

// bootFile is the boot file in user-data.
func bootFile(t *testing.T, userData string) string {
	t.Helper()
	_, after, ok := strings.Cut(userData, "<<'HOTC_BOOT'\n")
	text, _, ok2 := strings.Cut(after, "\nHOTC_BOOT\n")
	if !ok || !ok2 {
		t.Fatalf("no boot file in %s", userData)
	}
	return text
}
