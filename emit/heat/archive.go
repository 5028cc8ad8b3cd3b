package heat

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// A CloudFormation template has neither get_file nor digest, and inserts no JSON. A
// nested HOT template makes the user-data there. The client sends no file that a
// Type names, but looks for `type` everywhere (heatclient/common/template_utils.py,
// get_file_contents): so that template is the one member of a group.

// noIndex is what a group replaces by a member's index: nothing holds it.
const noIndex = "%hotc-index-5d0c1c2a%"

// archiveOutput is the nested template's output.
const archiveOutput = "user_data"

// archiveTemplate is the nested template for a kind of the user's own user-data.
func archiveTemplate(own userdata.Own) string {
	file := UserDataFile(own)
	user, declared := "", ""
	if own != userdata.NoOwn {
		declared = "  user: {type: string, default: ''}\n"
		user = "          " + userdata.UserKey + ": {get_param: user}\n"
	}
	boot := strings.ReplaceAll("\n"+strings.TrimSuffix(bootJSON, "\n"), "\n", "\n      ")
	return `heat_template_version: ` + hot.V20160408.String() + `
description: Written by hotc. A server's user_data, for a template whose own version cannot write it.
parameters:
  boot: {type: json, hidden: true}
  secret: {type: string, hidden: true}
  agent_url: {type: string, default: ''}
` + declared + `outputs:
  ` + archiveOutput + `:
    value:
      str_replace:
        template: {get_file: ` + strings.TrimPrefix(file, "hotc/") + `}
        params:
          ` + userdata.AgentURLKey + `: {get_param: agent_url}
` + user + `          ` + userdata.BootKey + ":" + boot + "\n"
}

// archiveElsewhere generates the resource that makes a server's user-data.
func (s *stack) archiveElsewhere(p site, r *hot.Resource, o own) tree {
	if strings.Contains(o.static, noIndex) {
		s.diags.Error(source.UserDataFormat, s.template.Place(r.Entry.Key), fmt.Sprintf("the user_data of server %q holds %q, which hotc needs itself", r.Name, noIndex), "")
	}
	file := UserDataFile(o.kind) + ".yaml"
	s.out.Files[file] = []byte(archiveTemplate(o.kind))
	s.out.added += len(s.stacks) // the group's member
	s.nestsDeeper(2)
	properties := dict("boot", s.boot(p, r.Name), "secret", s.parameter(ParameterSecret), "agent_url", s.parameter(ParameterAgentURL))
	if o.inserted != nil && o.kind != userdata.NoOwn {
		properties.Set("user", o.inserted)
	}
	name := s.generate(bootResource+r.Name, s.resource("OS::Heat::ResourceGroup", section{dict(
		"count", int64(1), "index_var", noIndex,
		"resource_def", section{dict("type", s.beside(file), "properties", section{properties})})}))
	return s.attribute(name, "resource.0."+archiveOutput)
}
