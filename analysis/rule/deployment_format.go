package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

var deploymentFormat = Rule{Code: source.DeploymentFormat, Category: Resources, Severity: source.Error, Truth: HeatRefuses, Template: findDeploymentFormats}

// findDeploymentFormats looks at the servers of deployments (heat/engine/resources/
// openstack/heat/software_deployment.py, validate).
func findDeploymentFormats(l *Look) {
	for b := range l.BlocksOf("OS::Heat::SoftwareDeployment", "OS::Heat::StructuredDeployment") {
		server := b.Get("server")
		ref := l.Ref(server)
		if ref.Kind != hot.ToResource {
			continue
		}
		r := l.Template.Resource(ref.Name)
		s := l.Use(ref.Name)
		if r == nil || s == nil || s.Type(r) != "OS::Nova::Server" || r.Properties == nil || l.IsCall(r.Properties.Value) {
			continue
		}
		format := r.Property("user_data_format")
		if format.IsNull() {
			l.Note(l.Found(server, fmt.Sprintf("the server %q cannot run deployments: its user_data_format is HEAT_CFNTOOLS", ref.Name), "give it `user_data_format: SOFTWARE_CONFIG`"), r.Entry.Key, "the server")
		} else if v, known := l.Value(format); known && v.If == "" && v.Value != "SOFTWARE_CONFIG" {
			l.Note(l.Found(server, fmt.Sprintf("the server %q cannot run deployments: its user_data_format is %s", ref.Name, value.ToString(v.Value)), "give it `user_data_format: SOFTWARE_CONFIG`"), format, "the format")
		}
	}
}
