package heat

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// userDataFormat is how Heat transforms user_data before Nova gets it
// (heat/engine/clients/os/nova.py, build_userdata).
//
// RAW is passed on. SOFTWARE_CONFIG puts the user's text, or each part of an archive, beside the
// server's metadata for os-collect-config: hotc's archive is taken apart in the same way, so the
// format stays. HEAT_CFNTOOLS writes the text to a file on the server and runs that: hotc's is
// then a script that does the same with the user's. The default is HEAT_CFNTOOLS; if cfntools
// are not used, hotc sets RAW instead, which needs none of their files in the image.
type userDataFormat uint8

const (
	raw userDataFormat = iota
	softwareConfig
	cfnTools
	byDefault // not yet decided: raw or cfnTools
)

// wrapping is the minimum that Heat adds to an archive of these formats, in bytes.
var wrapping = map[userDataFormat]int{softwareConfig: 4500, cfnTools: 10000}

// format reads a server's user_data_format.
func (s *stack) format(r *hot.Resource) (userDataFormat, bool) {
	n := r.Property("user_data_format")
	if n.IsNull() {
		return byDefault, true
	}
	e, err := s.template.Fold(n, s.stacks[0].Supplied.Resolve)
	if err != nil {
		s.badArgument(n, err)
		return raw, false
	}
	text, _ := e.Value.(string)
	if f, is := map[string]userDataFormat{"RAW": raw, "SOFTWARE_CONFIG": softwareConfig, "HEAT_CFNTOOLS": cfnTools}[text]; is {
		return f, true
	}
	if !e.IsValue() {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("server %q has roles, but its user_data_format is known only to Heat", r.Name),
			"write the format out, or give the parameter to the compiler with -P")
		return raw, false
	}
	s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("%s is not a user_data_format", value.EncodeJSON(e.Value)),
		"the formats are RAW, SOFTWARE_CONFIG and HEAT_CFNTOOLS")
	return raw, false
}

// cfnMetadata is the metadata that cfn-init reads.
const cfnMetadata = "AWS::CloudFormation::Init"

// decide chooses between RAW and HEAT_CFNTOOLS for a server without a format: known is the known
// part of its own user_data, begin its beginning.
func (f *userDataFormat) decide(r *hot.Resource, none bool, begin, known string) {
	if *f != byDefault {
		return
	}
	*f = cfnTools
	cfn := r.MetadataEntry(cfnMetadata) != nil || strings.Contains(known, "cfn")
	if !cfn && (none || strings.HasPrefix(begin, "#!")) {
		*f = raw
	}
}

// cfnToolsData is user_data in the format HEAT_CFNTOOLS: Heat's own script on the
// server runs it if it is executable (heat/cloudinit/loguserdata.py).
func (s *stack) cfnToolsData(r *hot.Resource, e *hot.Expr, inserted tree) (own, bool) {
	o := own{kind: userdata.CfnTools, static: knownText(e), inserted: inserted}
	n := r.Property("user_data")
	if err := userdata.CheckScript(o.static); err != nil {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("the user_data of server %q %v", r.Name, err), "")
		return own{}, false
	}
	if begin := beginning(e); begin != "" && !strings.HasPrefix(begin, "#!") || e.Ref().Kind == hot.ToResource {
		s.diags.Warning(source.UserDataIgnored, s.template.Place(n), fmt.Sprintf("the user_data of server %q does nothing: in the format HEAT_CFNTOOLS, which is the default, Heat runs it only if it begins with #!", r.Name),
			"say `user_data_format: RAW` if it is meant for cloud-init")
	}
	return o, true
}
