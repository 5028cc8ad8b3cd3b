package script

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// What a script in another language reads of the inputs db, url and a.b: "?" before a name: what
// the script does with it is not understood, "-": it is in no part of the script. A text begins
// after its #! line.
func TestReadsOfTheEnvironment(t *testing.T) {
	for language, cases := range map[string][][2]string{
		"/usr/bin/env python3": {
			{`import os; os.environ["db"]`, "db"}, {`os.environ['db']`, "db"}, {`os.environ [ "db" ]`, "db"}, {`os.environ.get("db")`, "db"},
			{`os.environ.get('db', 'url')`, "db ?url"}, {`os.getenv("url")`, "url"}, {`os.getenv("url", "none")`, "url"}, {`os.getenv(key="url")`, "url"},
			{`from os import environ, getenv` + "\n" + `environ["db"]; getenv("url")`, "db url"}, {`import os as o; o.environ["db"]`, "db"},
			{`os.environb[b"db"]`, "db"}, {`os.environ["a_b"]`, "a.b"}, {`os.environ.pop("db")`, "db"}, {`os.environ.setdefault("db", "x")`, "db"},
			{`if "db" in os.environ: pass`, "db"}, {`if "db" not in environ: pass`, "db"}, {`print(f"{os.environ['db']}")`, "db"}, {`f"""` + "\n" + `{os.environ['db']}"""`, "db"},
			{"os.environ[\n    'db'\n]", "db"}, {`x = os.environ["db"] == "y"`, "db"}, {`os.environ["db"] += "x"`, "db"},
			{`os.environ["db"] = "mine"`, "?db"}, {`# os.environ["db"]`, ""}, {`x = 1  # os.getenv("db")`, ""}, {`"""os.environ["db"]"""`, ""}, {"'''\nos.getenv('db')\n'''", ""},
			{`x = "#"; os.environ["db"]`, "db"}, {`x = 'a"#'; os.environ["db"]`, "db"}, {`x = "\"#"; os.environ["db"]`, "db"},
			{`open(os.environ["hotc_inputs"] + "/db")`, ""}, {`subprocess.run(["hotc-agent", "get", "db"])`, ""}, {`db = 1; print(db, "db")`, "?db"}, {`os.environ["other"]`, ""},
			{`os.environ[x]`, "?a.b ?db ?url"}, {`os.environ["d" + "b"]`, "?a.b ?db ?url"}, {`os.getenv(name)`, "?a.b ?db ?url"}, {`os.environ.get(f"{x}")`, "?a.b ?db ?url"},
			{`for k, v in os.environ.items(): pass`, "?a.b ?db ?url"}, {`"{db}".format(**os.environ)`, "?a.b ?db ?url"}, {`os.environ[x]; os.environ["db"]`, "?a.b db ?url"},
			{`os.environ[x]; run(["hotc-agent", "get", "url"])`, "?a.b ?db ?url"},
		},
		"/usr/bin/python3.11 -u": {{`os.getenv("db")`, "db"}},
		"/usr/bin/perl -w": {
			{`print $ENV{db};`, "db"}, {`$ENV{'db'}`, "db"}, {`$ENV{"url"}`, "url"}, {`$ENV{ db }`, "db"}, {`"mysql $ENV{db}"`, "db"}, {`my ($a, $b) = @ENV{qw(db url)};`, "db url"},
			{`@ENV{'db', 'url'}`, "db url"}, {`exists $ENV{db}`, "db"}, {`$ENV{db} // 'x'`, "db"}, {`$ENV{db} =~ /x/`, "db"}, {`use Env qw(db $url);`, "db url"}, {`use Env qw(@db);`, "db"},
			{`$ENV{db} = 1;`, "?db"}, {`# $ENV{db}`, ""}, {`$x = 1; # $ENV{db}`, ""}, {`if ($x =~ /'/) { $y = $ENV{db} }`, "db"}, {`$#x; $ENV{db}`, "db"}, {`s#a#$ENV{db}#`, "db"},
			{`$ENV{$name}`, "?a.b ?db ?url"}, {`keys %ENV`, "?a.b ?db ?url"}, {`$ENV{"d$x"}`, "?a.b ?db ?url"},
		},
		"/usr/bin/ruby": {
			{`ENV['db']`, "db"}, {`ENV["db"]`, "db"}, {`ENV.fetch('db')`, "db"}, {`ENV.fetch "db"`, "db"}, {`ENV.fetch("url") { 1 }`, "url"}, {`ENV.fetch('db', 'x')`, "db"}, {`ENV.key?('db')`, "db"},
			{`ENV.values_at('db', 'url')`, "db url"}, {`"#{ENV['db']}"`, "db"}, {`ENV['db'] ||= 'x'`, "db"}, {`ENV['db'] == 'x'`, "db"}, {`puts ENV['db']`, "db"},
			{`ENV['db'] = 'x'`, "?db"}, {`# ENV['db']`, ""}, {`x = 1 # ENV['db']`, ""}, {"it's # fine\nENV['db']", "db"},
			{`ENV[name]`, "?a.b ?db ?url"}, {`ENV.each { |k, v| }`, "?a.b ?db ?url"}, {`ENV['d' + x]`, "?a.b ?db ?url"}, {`ENV.to_h`, "?a.b ?db ?url"},
		},
		"/usr/bin/env node": {
			{`process.env.db`, "db"}, {`process.env['db']`, "db"}, {`process.env["url"]`, "url"}, {`process.env?.db`, "db"}, {`const { db, url: u = 'x' } = process.env;`, "db url"},
			{"`mysql ${process.env.db}`", "db"}, {`process.env.db ?? 'x'`, "db"}, {`process.env.db === 'x'`, "db"},
			{`process.env.db = 'x'`, "?db"}, {`// process.env.db`, ""}, {`/* process.env.db */`, ""}, {"/*\n process.env.db\n*/", ""}, {`x = "http://" + process.env.db`, "db"}, {`glob("**/*.js"); process.env.db; glob("**/*.ts")`, "db"},
			{`/^https?:\/\//.test(process.env.url)`, "url"}, {`process.env[x]`, "?a.b ?db ?url"}, {`const e = process.env`, "?a.b ?db ?url"},
		},
		"/usr/bin/awk -f": {
			{`BEGIN { print ENVIRON["db"] }`, "db"}, {`BEGIN { if ("db" in ENVIRON) print 1 }`, "db"}, {`# ENVIRON["db"]`, ""}, {`/#/ { print ENVIRON["db"] }`, "db"},
			{`ENVIRON[x]`, "?a.b ?db ?url"}, {`for (k in ENVIRON) print k`, "?a.b ?db ?url"},
		},
		"/usr/bin/gawk -f": {{`ENVIRON["db"]`, "db"}},
		"/usr/bin/lua5.4": {
			{`print(os.getenv("db"))`, "db"}, {`os.getenv 'db'`, "db"}, {`os.getenv[[db]]`, "db"}, {`-- os.getenv("db")`, ""}, {"--[[\nos.getenv('db')\n]]", ""}, {`os.getenv(x)`, "?a.b ?db ?url"}, {`os.getenv("d" .. x)`, "?a.b ?db ?url"},
		},
		"/usr/bin/env gorun": {
			{`os.Getenv("db")`, "db"}, {"os.LookupEnv(`db`)", "db"}, {`// os.Getenv("db")`, ""}, {`/* os.Getenv("db") */`, ""}, {`os.Getenv(x)`, "?a.b ?db ?url"}, {`os.Environ()`, "?a.b ?db ?url"},
		},
		"/usr/bin/unknown": {{`ENV['db'] $ENV{db} os.getenv("db")`, "?a.b ?db ?url"}, {`db`, "?db"}},
		"/usr/bin/php": {
			{`<?php echo getenv('db');`, "db"}, {`<?php echo $_ENV["a_b"];`, "a.b"}, {`<?php echo getenv('d' . 'b');`, "?a.b ?db ?url"}, {`<?php system("hotc-agent get db");`, ""}, {`<?php echo "mydb";`, ""},
		},
		"/usr/bin/tclsh":      {{`puts "$env(db) $::env(url)"`, "db url"}},
		"/usr/bin/zsh":        {{`print $never`, ""}, {`print ${url:-none}`, "?url"}},
		"/bin/busybox sh":     {{`echo $db`, ""}},
		"/bin/busybox awk -f": {{`BEGIN { print ENVIRON["db"] }`, "db"}},
		"/bin/sh": {
			{"'''exec' /usr/bin/python3 \"$0\" \"$@\"\n' '''\nimport os\nos.getenv('db')", "db"},
			{"# made by pip\n\n'''exec' python3 \"$0\"\n' '''\nos.getenv('db')", "db"},
			{"eval 'exec perl -x -wS $0 ${1+\"$@\"}'\n  if 0;\nprint $ENV{url};", "url"},
			{"exec ruby -x \"$0\"\n#!ruby\nENV['db']", "db"},
			{"//usr/bin/env go run \"$0\" \"$@\"; exit \"$?\"\npackage main\nfunc main() { println(os.Getenv(\"url\")) }", "url"},
			{"exec /usr/bin/app $url $0", ""}, {"exec python3 $db $0", ""}, {"exec /usr/bin/app $0", ""}, {"exec python3 /opt/app.py $url\nos.getenv('db')", ""}, {"echo 1\nexec python3 $0\nos.getenv('db')", ""},
		},
	} {
		for _, c := range cases {
			meaning := &program.Meaning{}
			role := driver.Role{Name: "r", Inputs: []*program.Input{{Name: "url"}, {Name: "db"}, {Name: "a.b"}, {Name: "never", EagerSaid: true}}, Memory: &driver.Memory{}}
			text := "#!" + language + "\n" + c[0] + "\n"
			var got []string
			for _, name := range fromStart(role, text, meaning) {
				read := meaning.Environment[name]
				switch read.How {
				case program.ReadByName:
					got = append(got, name)
				case program.PerhapsRead:
					got = append(got, "?"+name)
				case program.NotRead:
				}
				excerpt := string(read.At.File.Slice(read.At.Span))
				if read.How == program.ReadByName && !strings.Contains(excerpt, strings.ReplaceAll(name, ".", "_")) && !strings.Contains(c[0], " in ") && !strings.Contains(c[0], "} =") {
					t.Errorf("%s: %s: the place of %s is %q", language, c[0], name, excerpt)
				}
			}
			if strings.Join(got, " ") != c[1] {
				t.Errorf("%s: %s\n reads %q, want %q", language, c[0], strings.Join(got, " "), c[1])
			}
		}
	}
}

// An input of which the user says that it is not eager stays so.
func TestEagerIsTheUsersWord(t *testing.T) {
	var diags source.Diagnostics
	text := "#!/usr/bin/python3\nimport os\nprint(os.environ['said'], os.environ['not'])\n"
	m := Driver.Lower(driver.Role{Name: "r", Source: text, Inputs: []*program.Input{{Name: "said", EagerSaid: true}, {Name: "not"}}, Memory: &driver.Memory{}}, &diags)
	if _, is := m.Environment["said"]; is || len(m.Environment) != 1 {
		t.Errorf("%v", m.Environment)
	}
}
