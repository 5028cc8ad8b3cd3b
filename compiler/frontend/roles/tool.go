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

// find returns the driver that a role names: a built-in one or a plug-in; nil if there
// is none. A plug-in that is not here may be on the server, if `install:` gets it there.
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

// pluginHint names the plug-in's program; "" if plug-ins are off.
func (l *lowering) pluginHint(name string) string {
	if l.plugins == nil {
		return ""
	}
	return fmt.Sprintf("; a plug-in is a program %s on PATH", l.plugins.Program(name))
}

// versionForm matches a version or a minimum version.
var versionForm = regexp.MustCompile(`^(>= ?)?[0-9][0-9A-Za-z.+~:-]*$`)

// install reads how the role's tool is installed. Defaults apply to those roles of the
// server that they fit.
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
			wrong("version", "YAML reads 7.10 as the number 7.1: write \"7.10\"", "a version with a dot must be quoted")
		} else if i.Version, _ = v.Text(); i.Version == "" {
			i.Version = fmt.Sprint(v.Value)
		}
		if i.Version != "" && !versionForm.MatchString(i.Version) {
			wrong("version", "7, 7.23 or >=7.2", "%q is not a valid version", i.Version)
		}
	}
	if known := append(slices.Clone(tool.InstallsFrom), "none"); i.From != "" && !slices.Contains(known, i.From) {
		wrong("from", "one of "+strings.Join(known, ", "), "the %s driver's tool cannot be installed from %q", tool.Name, i.From)
	}
	if i.URL != "" && i.From == "" {
		i.From = "url"
	}
	switch {
	case i.From == "url" && (i.URL == "" || i.SHA256 == ""):
		l.diags.Error(source.BadMetadata, l.template.Place(n), "installing a tool from a URL requires url and sha256", "`sha256sum FILE` prints it")
	case i.From != "url" && (i.URL != "" || i.SHA256 != ""):
		wrong("from", "", "url and sha256 require `from: url`")
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

// resources checks the outputs that report the completion of one of the tool's
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
			l.diags.Error(source.BadMetadata, at, fmt.Sprintf("output %[2]q cannot be a resource's completion: the %[1]s driver has no resources", tool.Name, o.Name), "")
			continue
		case o.Value != nil:
			l.diags.Error(source.BadMetadata, at, fmt.Sprintf("output %q cannot have both a value and a resource", o.Name), "")
			continue
		case o.Type != "" && o.Type != "boolean":
			l.diags.Error(source.BadMetadata, l.template.Place(n.Get("type")), fmt.Sprintf("output %q is a resource's completion, which is a boolean", o.Name), "remove the type")
			continue
		}
		o.Type = "boolean"
		if err := tool.CheckResource(o.Resource); err != nil {
			l.diags.Error(source.BadMetadata, at, fmt.Sprintf("output %q: %v", o.Name, err), "")
		}
	}
}
