package rule

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/cloudinit"
	"github.com/hotc-dev/hotc/compiler/source"
)

var ignoredUserData = Rule{Code: source.IgnoredUserData, Category: UserData, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findIgnoredUserData}

// notCloudInit are beginnings that programs other than cloud-init know: on Windows and on
// network devices.
var notCloudInit = []string{"#ps1", "rem ", "@echo", "<", "{", "Content-Type:", "MIME-Version:", "From ", "!", "set "}

// findIgnoredUserData finds user_data that everything on the server ignores, by its
// beginning. In the default format Heat's own script runs it, if it is a program (heat/
// cloudinit/loguserdata.py); in the other two, cloud-init or another program in the image
// reads it.
func findIgnoredUserData(l *Checker) {
	archives := map[*Block]bool{}
	for _, t := range l.BootTexts() {
		if t.server == nil || t.format == "" {
			continue
		}
		if t.part {
			if t.format == "HEAT_CFNTOOLS" && !archives[t.server] {
				l.Report(t.server.Get("user_data"), "this archive has no effect: in the default format, HEAT_CFNTOOLS, Heat tries to run it as a program", "set `user_data_format: RAW`, or SOFTWARE_CONFIG")
			}
			archives[t.server] = true
			continue
		}
		begin := strings.TrimLeft(t.text, " \t\r\n")
		if begin == "" || !t.whole && t.replaced[:min(len(t.replaced), 20)] != t.text[:min(len(t.text), 20)] ||
			slices.ContainsFunc(notCloudInit, func(s string) bool { return strings.HasPrefix(begin, s) && !strings.HasPrefix(t.text, "#!") }) && !cloudinit.IsArchive(t.text) {
			continue
		}
		line, _, _ := strings.Cut(t.text, "\n")
		at := t.at(0, len(line))
		switch {
		case t.format == "HEAT_CFNTOOLS" && !strings.HasPrefix(t.text, "#!"):
			what := "this user_data has no effect: in the default format, HEAT_CFNTOOLS, Heat runs it only if it begins with #!"
			l.ReportAt(at, what, "set `user_data_format: RAW`, if it is meant for cloud-init")
		case t.format != "HEAT_CFNTOOLS" && !cloudinit.Known(t.text):
			l.ReportAt(at, "cloud-init does not recognise this user_data by its first line", "begin a script with `#!/bin/sh`, a cloud-config with `#cloud-config`").Severity = source.Info
		}
	}
}
