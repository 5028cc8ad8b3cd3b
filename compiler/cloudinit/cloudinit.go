// Package cloudinit is cloud-init's reading of user-data: the headers by which it detects a
// format, and the cloud-configs that it ignores.
package cloudinit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The prefixes by which cloud-init detects a format
// (cloudinit.handlers.INCLUSION_TYPES_MAP; #cloud-config-archive, #include-once and
// others start with these).
const (
	cloudConfig        = "#cloud-config"
	cloudConfigArchive = "#cloud-config-archive"
	cloudConfigPatch   = "#cloud-config-jsonp"
)

// Known reports whether cloud-init detects the format of a text with this beginning,
// ignoring leading white space and case (type_from_starts_with).
func Known(text string) bool {
	if IsArchive(text) {
		return true
	}
	begin := strings.ToLower(strings.TrimSpace(text))
	for _, known := range []string{"#!", cloudConfig, "#include", "#part-handler", "#cloud-boothook", "## template: jinja"} {
		if strings.HasPrefix(begin, known) {
			return true
		}
	}
	return begin == ""
}

// archive matches the first header of a MIME archive; cloud-init searches the second
// in the first 4096 bytes (cloudinit.user_data.convert_string).
var archive = regexp.MustCompile(`(?i)^[a-z-]+:[^\n]*\n`)

const archiveSearch = 4096

// IsArchive reports whether a text is a MIME archive.
func IsArchive(text string) bool {
	return archive.MatchString(text) && strings.Contains(strings.ToLower(text[:min(len(text), archiveSearch)]), "mime-version:")
}

// IsIgnition reports whether a text is for Ignition, which Heat detects by this key
// (heat/engine/clients/os/nova.py, is_ignition_format).
func IsIgnition(text string) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return false
	}
	v, err := yaml.DecodeJSON([]byte(text))
	d, ok := v.(*value.Dict)
	if err != nil || !ok {
		return false
	}
	_, is := d.Get("ignition")
	return is
}

// CheckCloudConfig reads a cloud-config as cloud-init does, which after an error
// continues without it and reports a successful boot (cloudinit.handlers.cloud_config).
// It returns nil if the text is valid, or not a cloud-config.
func CheckCloudConfig(file *source.File) *source.Diagnostic {
	begin := strings.ToLower(strings.TrimLeft(string(file.Text[:min(len(file.Text), 64)]), " \t\r\n"))
	want := yaml.Map
	switch {
	case !strings.HasPrefix(begin, cloudConfig), strings.HasPrefix(begin, cloudConfigPatch):
		return nil
	case strings.HasPrefix(begin, cloudConfigArchive):
		want = yaml.List
	}
	var diags source.Diagnostics
	root := yaml.Parse(file, &diags)
	if root == nil {
		d := *diags.All()[0]
		if d.Code == source.BadTag {
			return nil // cloud-init supports tags that Heat does not
		}
		d.Code, d.Message = source.BadCloudConfig, "cloud-init would ignore this cloud-config: "+d.Message
		return &d
	}
	if root.Kind == want || root.IsNull() {
		return nil
	}
	return &source.Diagnostic{Code: source.BadCloudConfig, At: source.Place{File: file, Span: root.Span},
		Message: fmt.Sprintf("cloud-init would ignore this cloud-config: it is %s, not %s", root.Kind, want), Hint: "write `key: value` lines below the first one"}
}
