package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

var deploymentFormat = Rule{Code: source.DeploymentFormat, Category: Resources, Severity: source.Error, Evidence: HeatRefuses, Template: findDeploymentFormats}

// findDeploymentFormats checks the servers of deployments (heat/engine/resources/
// openstack/heat/software_deployment.py, validate).
func findDeploymentFormats(l *Checker) {
	for b := range l.BlocksOf("OS::Heat::SoftwareDeployment", "OS::Heat::StructuredDeployment") {
		server := b.Get("server")
		ref := l.Ref(server)
		if ref.Kind != hot.ToResource {
			continue
		}
		r, kind := l.present(ref.Name)
		if kind != "OS::Nova::Server" || r.Properties == nil || l.IsCall(r.Properties.Value) {
			continue
		}
		is, at, what := "HEAT_CFNTOOLS", source.Spanned(r.Entry.Key), "the server"
		if format := r.Property("user_data_format"); !format.IsNull() {
			v, known := l.Value(format)
			if !known || v.If != "" || v.Value == "SOFTWARE_CONFIG" {
				continue
			}
			is, at, what = value.ToString(v.Value), format, "the format"
		}
		l.Note(l.Report(server, fmt.Sprintf("the server %q cannot run deployments: its user_data_format is %s", ref.Name, is), "set its `user_data_format: SOFTWARE_CONFIG`"), at, what)
	}
}
