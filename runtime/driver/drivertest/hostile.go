package drivertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Hostile is a string from another server that some tool may evaluate.
type Hostile struct {
	Name, Text string
}

// Trap is a folder in which a hostile string creates a file when evaluated.
type Trap string

// NewTrap creates a trap.
func NewTrap(t testing.TB) Trap { return Trap(t.TempDir()) }

// MustBeEmpty fails the test if a string was evaluated.
func (c Trap) MustBeEmpty(t testing.TB) {
	t.Helper()
	sprung, err := os.ReadDir(string(c))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range sprung {
		t.Errorf("the value %q was evaluated", entry.Name())
		os.Remove(filepath.Join(string(c), entry.Name()))
	}
}

// Texts returns the hostile strings that every driver is tested with. TRAP in one is a file
// of the trap, with its name.
func (c Trap) Texts() []Hostile {
	all := []Hostile{
		// Jinja: Ansible, Salt
		{"jinja-lookup", `{{ lookup('pipe', 'touch TRAP') }}`},
		{"jinja-python", `{{ cycler.__init__.__globals__.os.popen('touch TRAP').read() }}`},
		{"jinja-statement", `{% if cycler.__init__.__globals__.os.system('touch TRAP') %}{% endif %}`},
		{"jinja-salt", `{{ salt['cmd.run']('touch TRAP') }}`},
		{"jinja-comment", `a{# gone #}b`},
		{"jinja-raw", `{% raw %}{{ 1 }}{% endraw %}`},
		{"jinja-open", `{{ '`},
		{"jinja-header", "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ lookup('pipe', 'touch TRAP') ]]"},
		{"jinja-nested", `{{ '{{' }} lookup('pipe', 'touch TRAP') {{ '}}' }}`},
		{"salt-renderer", "#!py\nimport os\ndef run(): os.system('touch TRAP')"},
		{"salt-slot", `__slot__:salt:cmd.run("touch TRAP")`},
		{"salt-pipes", "#!jinja|yaml|gpg"},
		// Hiera, Puppet
		{"hiera-lookup", `%{lookup('other')}%{hiera('other')}%{alias('other')}`},
		{"hiera-variable", `%{other}%{::other}%{facts.os.family}%{}%%{literal('%')}`},
		{"puppet-code", `${generate('/usr/bin/touch', 'TRAP')}`},
		{"puppet-variable", `$other ${other} ${facts['os']}`},
		// Ruby
		{"erb", "<%= `touch TRAP` %><% system('touch TRAP') -%>"},
		{"ruby-interpolation", "#{`touch TRAP`}"},
		{"ruby-pipe", "|touch TRAP"},
		// Go templates, Python's and C's formats
		{"go-template", `{{ .other }}{{ index . "nothing" }}{{ env "HOME" }}`},
		{"go-template-open", `{{ define "x" }}{{ template "x" }}`},
		{"formats", `%(other)s {0.__class__.__init__.__globals__} {} %s%n%%`},
		// the shell
		{"shell-substitution", "$(touch TRAP)"},
		{"shell-backticks", "`touch TRAP`"},
		{"shell-command", "; touch TRAP; #"},
		{"shell-quotes", `'; touch TRAP; '"; touch TRAP; "`},
		{"shell-expansion", `${IFS} $HOME $$ ${other:-$(touch TRAP)} ~ * ? [a-z] {a,b} !!`},
		{"shell-eof", "EOF\ntouch TRAP\nEOF"},
		{"shell-arithmetic", `a[$(touch TRAP)]`},
		{"shell-function", "() { :; }; touch TRAP"},
		// YAML
		{"yaml-ruby", "--- !ruby/object:Gem::Requirement\nrequirements: []"},
		{"yaml-python", `!!python/object/apply:os.system ["touch TRAP"]`},
		{"yaml-unsafe", `!unsafe '{{ 1 }}'`},
		{"yaml-vault", "!vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  00"},
		{"yaml-key", "a\nother: changed\n- b: c # d"},
		{"yaml-alias", "*other &a <<: {b: c}"},
		{"yaml-word", "~"},
		{"yaml-boolean", "no"},
		{"yaml-end", "a\n...\n---\nb"},
		{"json", `","other":"changed","":"`},
		// bytes
		{"newlines", "\na\n\nb\r\nc\rd\n\n"},
		{"newline-only", "\n"},
		{"blanks", "  a\tb  "},
		{"nothing", ""},
		{"nul", "a\x00b"},
		{"terminal", "\x1b[2J\x1b]0;title\x07\x7f\u009b31m"},
		{"controls", "\x01\x02\x08\x0b\x0c\x1f"},
		{"backslashes", `\ \\ \n \1 \0 \x41 \u0041 \"`},
		{"unicode", "\u202eabc\u2028\u2029\u0085\ufeff\ufffe𝄞é"},
		{"quotes", `"'"'`},
		// prefixes
		{"dash", "-rf"},
		{"dashes", "--help"},
		{"at", "@/etc/hostname"},
		{"pipe", "| "},
		{"greater", ">TRAP"},
		{"percent", "%TAG ! tag:"},
		{"plus", "+x"},
		{"equals", "=1+1"},
		{"path", "../../../../../../etc/hostname"},
		{"url", "file:///etc/hostname"},
		{"long", strings.Repeat("{{ 1 }} $(:) ", 12000)},
	}
	for i, h := range all {
		all[i].Text = strings.ReplaceAll(h.Text, "TRAP", filepath.Join(string(c), h.Name))
	}
	return all
}

// JSON returns the text as a value.
func (h Hostile) JSON() string { return asJSON(h.Text) }

// Parts returns a value that has the text as the item of a list, inside two maps, and as
// a key.
func (h Hostile) Parts() string {
	return asJSON(map[string]any{"list": []string{h.Text}, "map": map[string]any{"deep": map[string]any{"text": h.Text}}, "named": map[string]any{h.Text: 1}})
}

// All returns a value with many texts: in a list, in a map by their names, and as keys.
func All(texts []Hostile) string {
	list, byName, named := []string{}, map[string]string{}, map[string]int{}
	for _, h := range texts {
		list, byName[h.Name], named[h.Text] = append(list, h.Text), h.Text, 1
	}
	return asJSON(map[string]any{"list": list, "map": byName, "named": named})
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
