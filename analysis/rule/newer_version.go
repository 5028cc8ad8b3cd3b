package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// newerVersion needs the user's word on which release the cloud has.
var newerVersion = Rule{Code: source.NewerVersion, Category: Language, Severity: source.Error, Truth: HeatRefuses, Template: findNewerVersion}

func findNewerVersion(l *Look) {
	if newest := l.Types.Newest(); l.Types.Named() && l.Template.Version > newest {
		if key, _ := hot.VersionKey(l.Template.Root); key != nil {
			l.Found(key.Value, fmt.Sprintf("Heat %s does not read this version of HOT", l.Types.Release()), fmt.Sprintf("the newest that it reads is %s", newest))
		}
	}
}
