package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// newerVersion applies only if the user named the cloud's release.
var newerVersion = Rule{Code: source.NewerVersion, Category: Language, Severity: source.Error, Evidence: HeatRefuses, Template: findNewerVersion}

func findNewerVersion(l *Checker) {
	if newest := l.Types.Newest(); l.Types.Named() && l.Template.Version > newest {
		if key, _ := hot.VersionKey(l.Template.Root); key != nil {
			l.Report(key.Value, fmt.Sprintf("Heat %s does not support this HOT version", l.Types.Release()), fmt.Sprintf("the newest that it supports is %s", newest))
		}
	}
}
