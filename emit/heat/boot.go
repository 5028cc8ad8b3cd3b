package heat

import (
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// BootFile is the nested template that creates the boot file for templates of versions that
// cannot.
const BootFile = "hotc/boot.yaml"

// bootResource is the name prefix of the resource that creates a server's boot file.
const bootResource = "hotc_boot_"

// bootTemplate computes the token and writes everything as JSON. A json parameter keeps the
// parent's values exactly; map_merge exists since 2016-04-08.
const bootTemplate = `heat_template_version: 2016-04-08
description: Written by hotc. A server's boot file, for a template whose own version cannot write it.
parameters:
  boot: {type: json, hidden: true}
  secret: {type: string, hidden: true}
outputs:
  json:
    value:
      str_replace:
        template: $boot$
        params:
          $boot$:
            map_merge:
              - {get_param: boot}
              - token: {digest: [sha256, {list_join: [':', [{get_param: secret}, {get_param: [boot, deployment]}, {get_param: [boot, server]}]]}]}
`

// boot is the boot file of the server's agent (plan.Boot), as a map that Heat inserts as JSON.
// Versions before 2015-10-15 have neither digest nor a str_replace that inserts JSON
// (heat/engine/hot/template.py): a nested template of a newer version does it for them, and the
// user's keeps its version.
func (s *stack) boot(p site, of string) tree {
	b := dict(
		"format", int64(contract.Format),
		"server", p.path,
		"deployment", s.rootName(),
		"stack_id", s.rootID(),
		"coordinator", parameter(ParameterCoordinator),
	)
	if slot := s.slot(); slot != nil {
		b.Set("slot", slot)
	}
	nested := s.version < hot.V20151015
	if !nested {
		b.Set("token", dict("digest", []value.Value{"sha256", join(":", parameter(ParameterSecret), s.rootName(), p.path)}))
	}
	if s.options.Signal == contract.AgentsSignal && p.roles {
		b.Set("signal", s.signal())
		b.Set("signal_resource", ResourceHandle)
		if handles := s.handles(p.resource); handles != nil {
			b.Set("signals", handles)
		}
	}
	if len(p.deploy) > 0 {
		b.Set("deploy", section{Dict: namedValues(p.deploy)})
	}
	if !nested {
		return section{Dict: b}
	}
	s.out.Files[BootFile] = []byte(bootTemplate)
	s.nestsDeeper(1)
	return attribute(s.generate(bootResource+of, resource(s.beside(BootFile), section{Dict: dict(
		"secret", parameter(ParameterSecret), "boot", section{Dict: b})})), "json")
}

// generate adds a resource of hotc's for one server.
func (s *stack) generate(name string, resource section) string {
	s.checkName(name)
	s.generated.Set(name, resource)
	return name
}
