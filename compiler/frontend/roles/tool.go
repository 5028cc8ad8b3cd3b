package roles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// find finds the driver that a role names: one of hotc's own, or a plug-in; nil if
// there is none. A plug-in that is not here may be on the server, if `install:` says
// how it gets there.
func (l *lowering) find(role *program.Role, install *yaml.Node) *driver.Driver {
	if i := slices.IndexFunc(l.drivers, func(d driver.Driver) bool { return d.Name == role.Driver }); i >= 0 {
		return &l.drivers[i]
	}
	if l.plugins == nil {
		return nil
	}
	from, _ := install.Get("from").Text()
	tool := l.plugins.Find(role.Driver, from == "none" || from == "url" || install.Get("url") != nil)
	if tool != nil {
		role.Driver = l.plugins.Name
	}
	return tool
}

// pluginHint names the program that a plug-in would be; "" where there are none.
func (l *lowering) pluginHint(name string) string {
	if l.plugins == nil {
		return ""
	}
	return fmt.Sprintf("; a plug-in would be a program %s on PATH", l.plugins.Program(name))
}

// versionForm is a version, or the lowest one: its parts are compared one by one.
var versionForm = regexp.MustCompile(`^(>= ?)?[0-9][0-9A-Za-z.+~:-]*$`)

// install reads how the role's tool gets onto the server.
// A server's defaults are for those of its roles that they fit.
func (l *lowering) install(role *program.Role, tool *driver.Driver, n *yaml.Node, isDefault bool) {
	switch {
	case n == nil || tool.InstallsFrom == nil && isDefault:
		return
	case tool.InstallsFrom == nil:
		l.diags.Error(source.BadMetadata, l.template.Place(n), fmt.Sprintf("the %s driver has no tool to install", tool.Name), "")
		return
	}
	wrong := func(key, hint, format string, args ...any) {
		l.diags.Error(source.BadMetadata, l.template.Place(n.Get(key)), fmt.Sprintf(format, args...), hint)
	}
	text := func(key string) string {
		v, _ := n.Get(key).Text()
		return v
	}
	i := &role.Install
	*i = contract.Install{From: text("from"), URL: text("url"), SHA256: text("sha256"), Proxy: text("proxy"), Licence: text("licence")}
	if v := n.Get("version"); v != nil {
		if _, fraction := v.Value.(float64); fraction {
			wrong("version", "7.10 is the number 7.1 to YAML: write \"7.10\"", "a version with a point must be quoted")
		} else if i.Version, _ = v.Text(); i.Version == "" {
			i.Version = fmt.Sprint(v.Value)
		}
		if i.Version != "" && !versionForm.MatchString(i.Version) {
			wrong("version", "7, 7.23 or >=7.2", "%q is not a version", i.Version)
		}
	}
	if known := append(slices.Clone(tool.InstallsFrom), "none"); i.From != "" && !slices.Contains(known, i.From) {
		wrong("from", "one of "+strings.Join(known, ", "), "the tool of the %s driver is not installed from %q", tool.Name, i.From)
	}
	if i.URL != "" && i.From == "" {
		i.From = "url"
	}
	switch {
	case i.From == "url" && (i.URL == "" || i.SHA256 == ""):
		l.diags.Error(source.BadMetadata, l.template.Place(n), "a tool that is installed from a URL needs url and sha256", "`sha256sum FILE` prints it")
	case i.From != "url" && (i.URL != "" || i.SHA256 != ""):
		wrong("from", "", "url and sha256 are for `from: url`")
	case i.URL != "":
		if err := driver.CheckFetchURL(i.URL); err != nil {
			wrong("url", "", "%v", err)
		}
	}
	if tool.CheckLicence != nil && i.Licence != "" {
		if err := tool.CheckLicence(i.Licence); err != nil {
			wrong("licence", "", "%v", err)
		}
	}
	if i.Proxy != "" {
		if err := driver.CheckFetchURL(i.Proxy); err != nil {
			wrong("proxy", "", "the proxy: %v", err)
		}
	}
}

// resources checks the outputs that are the completion of one of the tool's
// resources.
func (l *lowering) resources(role *program.Role, tool *driver.Driver, outputs *yaml.Node) {
	for _, o := range role.Outputs {
		if o.Resource == "" {
			continue
		}
		n := outputs.Get(o.Name)
		at := l.template.Place(n.Get("resource"))
		switch {
		case tool.CheckResource == nil:
			l.diags.Error(source.BadMetadata, at, fmt.Sprintf("the %s driver has no resources whose completion output %q could be", tool.Name, o.Name), "")
			continue
		case o.Value != nil:
			l.diags.Error(source.BadMetadata, at, fmt.Sprintf("output %q has a value and cannot be a resource's completion, too", o.Name), "")
			continue
		case o.Type != "" && o.Type != "boolean":
			l.diags.Error(source.BadMetadata, l.template.Place(n.Get("type")), fmt.Sprintf("output %q is a resource's completion: it is true, of type boolean", o.Name), "leave the type out")
			continue
		}
		o.Type = "boolean"
		if err := tool.CheckResource(o.Resource); err != nil {
			l.diags.Error(source.BadMetadata, at, fmt.Sprintf("output %q: %v", o.Name, err), "")
		}
	}
}
