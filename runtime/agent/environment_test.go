package agent_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// A role in another language finds another server's value in its environment, as Heat's own
// users write it: what the compiler finds in its text is awaited before it starts.
func TestRolesInOtherLanguages(t *testing.T) {
	for _, c := range []struct{ program, line, text string }{
		{"python3", "#!/usr/bin/env python3", `import os; print(os.environ["url"], os.getenv("a_b"))`},
		{"perl", "#!/usr/bin/perl -w", `print "$ENV{url} $ENV{'a_b'}\n";`},
		{"ruby", "#!/usr/bin/env ruby", `puts "#{ENV['url']} #{ENV.fetch('a_b')}"`},
		{"mawk", "#!/usr/bin/mawk -f", `BEGIN { print ENVIRON["url"] " " ENVIRON["a_b"] }`},
		{"gawk", "#!/usr/bin/gawk -f", `BEGIN { print ENVIRON["url"] " " ENVIRON["a_b"] }`},
		{"node", "#!/usr/bin/env node", "console.log(`${process.env.url} ${process.env['a_b']}`)"},
		{"lua5.4", "#!/usr/bin/lua5.4", `print(os.getenv("url") .. " " .. os.getenv 'a_b')`},
	} {
		t.Run(c.program, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("SKIPPED: %s is not here (.ci/packages installs what Debian has)", c.program)
			}
			var diags source.Diagnostics
			role := driver.Role{Name: "app", Source: c.line + "\n" + c.text + "\n", Memory: &driver.Memory{},
				Inputs: []*program.Input{{Name: "url"}, {Name: "a.b"}}}
			m := script.Driver.Lower(role, &diags)
			if m == nil {
				t.Fatal(diags.All())
			}
			travels, files := m.Source, m.Files
			if m.Finish != nil {
				travels, files = m.Finish([]string{"url", "a.b"})
			}
			b := newBed(t)
			b.server("db", with(b.sh("mysql", "hotc-agent get go; printf mysql://db | hotc-agent put url"), input("go", "go.r:now"), output("url", contract.String)))
			b.server("go", with(b.sh("r", "printf 1 | hotc-agent put now"), output("now", contract.String)))
			app := b.sh("app", string(files[0].Data))
			app.Source = value.EncodeJSON(travels)
			b.server("web", with(app, input("url", "db.mysql:url"), input("a.b", "db.mysql:url", func(in *contract.Input) { in.Optional = true })))
			b.apply()
			web := b.start("web")
			b.start("db")
			b.awaitState("web", blockedOn("db.mysql:url"))
			b.start("go")
			web.mustBeDone()
			if got := web.file("app.stdout"); got != "mysql://db mysql://db\n" {
				t.Errorf("it printed %q\n%s", got, fmt.Sprint(web.file("app.stderr")))
			}
		})
	}
}

// An input has the place of a variable that the agent happens to have.
func TestInputsComeBeforeTheAgentsOwnVariables(t *testing.T) {
	b := newBed(t)
	b.server("web", with(b.sh("app", "#!/usr/bin/env python3\nimport os; print(os.environ['LANG'], os.environ['PATH'] != 'mine')"), static("LANG", `"input"`), static("PATH", `"mine"`)))
	b.apply()
	web := b.start("web")
	web.mustBeDone()
	if got := web.file("app.stdout"); got != "input True\n" {
		t.Errorf("it printed %q", got)
	}
}
