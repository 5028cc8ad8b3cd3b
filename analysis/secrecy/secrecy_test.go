package secrecy_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/secrecy"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A secret output in a resource's property would be readable in Heat.
func TestSecretInAProperty(t *testing.T) {
	const text = `heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: mysql, driver: script, source: 'true', outputs: {password: {}, port: {}}}]}}
  user:
    type: OS::Heat::Value
    properties: {value: {list_join: [':', [{get_attr: [db, port]}, {get_attr: [db, password]}]]}}
`
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("site.yaml", []byte(text)), &diags)
	p := program.New(template, &program.Supplied{}, roles.FrontEnd([]driver.Driver{script.Driver}))
	p.Lower(&diags)
	p.Server("db").Output("password").Secret = true
	secrecy.Check(p, binding.Analyse(p, binding.Options{}, &diags), &diags)
	all := diags.All()
	if len(all) != 1 || all[0].Code != source.SecretLeak || all[0].Severity != source.Error {
		t.Fatalf("%v", all)
	}
	if got := all[0].Error(); !strings.Contains(got, "site.yaml:9:68") || !strings.Contains(got, `"password" of role db.mysql reaches resource "user"`) {
		t.Error(got)
	}
}

// A script in another language gets no secret in its environment, whatever it says of it.
func TestASecretStaysOutOfTheEnvironment(t *testing.T) {
	for body, want := range map[string]source.Code{
		"print(os.environ['password'])":                                     source.SecretInEnvironment,
		"e = os.environ; print(e['password'])":                              source.SecretPerhapsRead,
		"subprocess.check_output(['hotc-agent', 'get', 'password'])":        "",
		"subprocess.run(['systemctl', 'restart', 'app'])":                   "",
		"print({n: os.environ[n] for n in ('pass' + 'word',)}['password'])": source.SecretPerhapsRead,
	} {
		var diags source.Diagnostics
		template := hot.ParseTemplate(source.NewFile("site.yaml", []byte(`heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: mysql, driver: script, source: 'true', outputs: {password: {secret: true}, url: {}}}]}}
  web:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata:
      hotc:
        roles:
          - name: app
            driver: script
            inputs: {password: {get_attr: [db, password]}, url: {get_attr: [db, url]}}
            source: |
              #!/usr/bin/python3
              import os, subprocess
              `+body+"\n")), &diags)
		p := program.New(template, &program.Supplied{}, roles.FrontEnd([]driver.Driver{script.Driver}))
		p.Lower(&diags)
		secrecy.Withhold(p)
		secrecy.Check(p, binding.Analyse(p, binding.Options{}, &diags), &diags)
		var got source.Code
		for _, d := range diags.All() {
			got += d.Code
		}
		inputs := p.Server("web").Role("app").Inputs
		if got != want || inputs[0].Eager || !inputs[1].Eager {
			t.Errorf("%s: %q, want %q; eager: %v, %v", body, got, want, inputs[0].Eager, inputs[1].Eager)
		}
	}
}
