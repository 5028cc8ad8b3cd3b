// Package cloudinit is what cloud-init makes of user-data: by which beginning it knows what a
// text is, and which cloud-configs it ignores.
package cloudinit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The beginnings by which cloud-init knows a text
// (cloudinit.handlers.INCLUSION_TYPES_MAP; #cloud-config-archive, #include-once and
// others begin like these).
const (
	cloudConfig        = "#cloud-config"
	cloudConfigArchive = "#cloud-config-archive"
	cloudConfigPatch   = "#cloud-config-jsonp"
)

// Known says whether cloud-init knows what a text with this beginning is. It looks
// past white space and does not mind the case (type_from_starts_with).
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

// archive is the beginning of a text that cloud-init reads as an archive and that
// is one: it looks for the second header anywhere in the first 4096 bytes
// (cloudinit.user_data.convert_string).
var archive = regexp.MustCompile(`(?i)^[a-z-]+:[^\n]*\n`)

const archiveSearch = 4096

// IsArchive says whether a text is a MIME archive.
func IsArchive(text string) bool {
	return archive.MatchString(text) && strings.Contains(strings.ToLower(text[:min(len(text), archiveSearch)]), "mime-version:")
}

// IsIgnition says whether a text is for Ignition, which Heat tells by this key
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

// CheckCloudConfig reads a cloud-config as cloud-init does, which at an error goes
// on without it and calls the boot a success (cloudinit.handlers.cloud_config). It
// returns nil if nothing is wrong, or if the text is something else.
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
			return nil // cloud-init has tags that Heat has not
		}
		d.Code, d.Message = source.BadCloudConfig, "cloud-init would ignore this cloud-config: "+strings.TrimPrefix(d.Message, "this is ")
		return &d
	}
	if root.Kind == want || root.IsNull() {
		return nil
	}
	return &source.Diagnostic{Code: source.BadCloudConfig, At: source.Place{File: file, Span: root.Span},
		Message: fmt.Sprintf("cloud-init would ignore this cloud-config: it is %s, not %s", root.Kind, want), Hint: "write `key: value` lines below the first one"}
}
