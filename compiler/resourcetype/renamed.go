package resourcetype

import "strings"

// Heat's default environment (etc/heat/environment.d/default.yaml) keeps old templates valid: it maps
// old names of types to today's, and two types to templates that come with Heat.

var renames = map[string]string{
	"OS::Metering::Alarm":                                "OS::Aodh::Alarm",
	"OS::Ceilometer::Alarm":                              "OS::Aodh::Alarm",
	"OS::Ceilometer::GnocchiResourcesAlarm":              "OS::Aodh::GnocchiResourcesAlarm",
	"OS::Ceilometer::GnocchiAggregationByMetricsAlarm":   "OS::Aodh::GnocchiAggregationByMetricsAlarm",
	"OS::Ceilometer::GnocchiAggregationByResourcesAlarm": "OS::Aodh::GnocchiAggregationByResourcesAlarm",
	"OS::Ceilometer::CombinationAlarm":                   "OS::Aodh::CombinationAlarm",
}

// renamed is the name of the type that the default environment maps one to; "" if it does not.
func renamed(name string) string {
	if rest, is := strings.CutPrefix(name, "OS::Quantum"); is {
		return "OS::Neutron" + rest
	}
	return renames[name]
}

// ComesAsTemplate reports whether the default environment maps a type to a template of Heat's own, of which
// the parameters are not known here.
func ComesAsTemplate(name string) bool {
	return name == "AWS::CloudWatch::Alarm" || name == "AWS::RDS::DBInstance"
}
