package userdata

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

var heat heattest.Shared

// odd is a deploy-time value that tries to get out of where it is put.
const odd = "$hotc_user$ $hotc_boot$\nHOTC_BOOT\n--" + Boundary + "\n\\ \" ' ` ž 😀"

// stack is a stack with one server db, whose own user-data is the YAML expression
// user, of a text with these static pieces.
func stack(t *testing.T, o Options, user, static string, parameters map[string]any) *heattest.Stack {
	t.Helper()
	own, params := NoOwn, ""
	if user != "" {
		kind, err := OwnOf(static)
		if err != nil {
			t.Fatal(err)
		}
		own = kind
		if own == Quoted {
			quotes := map[string]string{}
			for _, q := range Quotes(static) {
				quotes[q.Char] = q.Form
			}
			text, err := json.Marshal(quotes)
			if err != nil {
				t.Fatal(err)
			}
			user = "{str_replace: {template: " + user + ", params: " + string(text) + "}}"
		}
		params = UserKey + ": " + user
	}
	folder := t.TempDir()
	shared, err := File(own, o)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.ReadFile("testdata/stack.yaml.in")
	if err != nil {
		t.Fatal(err)
	}
	template := strings.NewReplacer("OWN", params, "FILE", "user-data").Replace(string(in))
	for name, text := range map[string]string{"stack.yaml": template, "user-data": string(shared)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	input := heattest.Input{Template: filepath.Join(folder, "stack.yaml"), Parameters: parameters}
	j := heat.Oracle(t)
	j.Accepts(t, input)
	return j.Create(t, "site", input)
}

// received is what cloud-init makes of a part of the user-data.
type received struct{ kind, name, text string }

func cloudInit(t *testing.T, userData string) []received {
	t.Helper()
	need(t, "cloud-init")
	cmd := exec.Command("/usr/bin/python3", "testdata/parts.py")
	cmd.Stdin = strings.NewReader(userData)
	out, err := cmd.Output()
	var found [][3]string
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("cloud-init's code: %v\n%s", err, out)
	}
	var all []received
	for _, p := range found {
		all = append(all, received{p[0], p[1], p[2]})
	}
	return all
}

// What Heat resolves and cloud-init takes apart is the user's own text, byte for
// byte and with the type it would have alone, and hotc's after it.
func TestThroughHeatAndCloudInit(t *testing.T) {
	for _, c := range []struct {
		name, user, static string
		want               []received
	}{
		{name: "none"},
		{
			"a script", `"#!/bin/sh\n\techo 'a=b' $x =3D \\\n"`, "#!/bin/sh",
			[]received{{"text/x-shellscript", "part-001", "#!/bin/sh\n\techo 'a=b' $x =3D \\\n"}},
		}, {
			"cloud-config with other characters", `"#cloud-config\n# ž 😀 é=\nruncmd: [\"  \"]  \n"`, "ž 😀 é",
			[]received{{"text/cloud-config", "part-001", "#cloud-config\n# ž 😀 é=\nruncmd: [\"  \"]  \n"}},
		}, {
			"deploy-time pieces", `{str_replace: {template: "#!/bin/sh\n# é\necho x=X\n", params: {X: {get_param: 'OS::stack_name'}}}}`,
			"#!/bin/sh\n# é\necho x=X\n",
			[]received{{"text/x-shellscript", "part-001", "#!/bin/sh\n# é\necho x=site\n"}},
		}, {
			"hotc's own keys in it", `"#!/bin/sh\n# $hotc_boot$ $hotc_user$\n"`, "#!/bin/sh",
			[]received{{"text/x-shellscript", "part-001", "#!/bin/sh\n# $hotc_boot$ $hotc_user$\n"}},
		}, {
			"jinja", `"## template: jinja\n#cloud-config\n{}\n"`, "## template: jinja",
			[]received{{"text/jinja2", "part-001", "## template: jinja\n#cloud-config\n{}\n"}},
		}, {
			"boothook", `"#cloud-boothook\n#!/bin/sh\n"`, "#cloud-boothook",
			[]received{{"text/cloud-boothook", "part-001", "#cloud-boothook\n#!/bin/sh\n"}},
		}, {
			"cloud-init's own archive", `"#cloud-config-archive\n- \"#!/bin/sh\\necho x\"\n- \"#cloud-config\\n{}\"\n"`, "#cloud-config-archive",
			[]received{{"text/x-shellscript", "part-001", "#!/bin/sh\necho x"}, {"text/cloud-config", "part-002", "#cloud-config\n{}"}},
		}, {
			"a resource's MIME archive", `{get_attr: [archive, config]}`, "Content-Type: multipart/mixed; boundary=x\nMIME-Version: 1.0\n",
			[]received{{"text/x-shellscript", "part-001", "#!/bin/sh\necho own\n"}, {"text/cloud-config", "part-002", "#cloud-config\nruncmd: [date]\n"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := stack(t, Options{}, c.user, c.static, map[string]any{"odd": odd})
			parts := cloudInit(t, st.Server(t, "db").NovaUserData)
			if len(parts) != len(c.want)+2 {
				t.Fatalf("parts %q", parts)
			}
			checkSchema(t, parts[len(c.want)].text)
			for i, want := range c.want {
				if parts[i] != want {
					t.Errorf("part %q, want %q", parts[i], want)
				}
				if want.kind == "text/cloud-config" {
					checkSchema(t, want.text)
				}
			}
			last := parts[len(parts)-1]
			if last.kind != "text/x-shellscript" || last.name != "00-hotc" {
				t.Fatalf("hotc's part is %s %s", last.kind, last.name)
			}
			s := newServer(t)
			s.write("usr/bin/hotc-agent", agent)
			s.write("part", last.text)
			s.run(s.path("part"))
			var boot struct{ Server, Deployment, Odd string }
			if err := json.Unmarshal([]byte(s.read("etc/hotc/boot.json")), &boot); err != nil {
				t.Fatal(err)
			}
			if boot.Server != "db" || boot.Deployment != "site" || boot.Odd != odd {
				t.Errorf("boot file %+v", boot)
			}
			s.until("the agent", func() bool { return s.ran() == 1 })
		})
	}
}

// checkSchema asks cloud-init itself. The command knows nothing of archives in
// version 22.4: it wants the parts.
func checkSchema(t *testing.T, cloudConfig string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud-config")
	if err := os.WriteFile(path, []byte(cloudConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cloud-init", "schema", "-c", path).CombinedOutput(); err != nil {
		t.Errorf("cloud-init schema: %v\n%s", err, out)
	}
}

// A server that cannot get its agent fails the stack, with the reason, instead of
// leaving it to its timeout.
func TestWithoutAgentTheStackFails(t *testing.T) {
	need(t, "cloud-init")
	st := stack(t, Options{}, "", "", map[string]any{"hotc_agent_url": "http://127.0.0.1:9/agent"})
	parts := cloudInit(t, st.Server(t, "db").NovaUserData)
	heat.Oracle(t).Outage(t, 1, 0)
	s := newServer(t, "python3")
	s.write("part", parts[1].text)
	s.run(s.path("part"))
	status := st.Wait(t)
	if want := "db: hotc: no agent on this server: no checksum is known for "; status.String() != "CREATE_FAILED" ||
		!strings.Contains(status.Reason, want) {
		t.Errorf("%s: %s\n%s", status, status.Reason, s.read("var/log/hotc-agent.log"))
	}
}
