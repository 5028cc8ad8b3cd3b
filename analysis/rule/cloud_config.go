package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/cloudinit"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var cloudConfig = Rule{Code: source.CloudConfig, Category: UserData, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findCloudConfigs}

// findCloudConfigs finds cloud-configs that cloud-init ignores, and misspelt keys in them.
func findCloudConfigs(l *Checker) {
	for _, t := range l.BootTexts() {
		if !strings.HasPrefix(strings.TrimLeft(t.text, " \t\r\n"), "#cloud-config") || t.format == "HEAT_CFNTOOLS" && !t.part {
			continue
		}
		d := cloudinit.CheckCloudConfig(source.NewFile(t.places.Name, []byte(t.text)))
		if d != nil && (t.whole || cloudinit.CheckCloudConfig(source.NewFile(t.places.Name, []byte(t.replaced))) != nil) {
			l.ReportAt(t.at(int(d.At.Span.Start), int(d.At.Span.End)), d.Message, d.Hint)
			continue
		}
		root := yaml.Parse(source.NewFile(t.places.Name, []byte(t.replaced)), &source.Diagnostics{})
		if root == nil || root.Kind != yaml.Map {
			continue
		}
		for _, e := range root.Entries {
			at := t.at(int(e.Key.Span.Start), int(e.Key.Span.End))
			switch near := hot.Nearest(e.Name, cloudinit.Keys()); {
			case !slices.Contains(cloudinit.Keys(), e.Name) && near != "":
				l.ReportAt(at, fmt.Sprintf("cloud-init does not know the key %q and ignores it", e.Name), meant(near))
			case cloudinit.IsList(e.Name) && (e.Value.Kind == yaml.Map || e.Value.Kind == yaml.Scalar && !e.Value.IsNull()):
				if t.text[e.Value.Start:e.Value.End] == t.replaced[e.Value.Start:e.Value.End] {
					l.ReportAt(at, fmt.Sprintf("%s must be a list: cloud-init ignores %s", e.Name, e.Value.Kind), "begin each item with a dash")
				}
			}
		}
	}
}
