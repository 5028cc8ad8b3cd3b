package rule

import (
	"cmp"
	"fmt"

	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var secretInUserData = Rule{Code: source.SecretInUserData, Category: Security, Severity: source.Info, Evidence: TextShows, LintOnly: true, Template: findSecretsInUserData}

// findSecretsInUserData finds secrets that Heat writes into user_data, which any program on
// the server can get from the metadata service for the server's lifetime.
func findSecretsInUserData(l *Checker) {
	for b := range l.BlocksOf("OS::Nova::Server") {
		if len(l.Use(b.Resource.Name).Blocks(b.Resource)) > 0 {
			continue // roles' inputs are checked in analysis/binding
		}
		told := map[string]bool{}
		l.References(b.Get("user_data"), func(r hot.Ref, n *yaml.Node) {
			if what := l.secret(r); what != "" && !told[what] {
				told[what] = true
				l.Report(n, fmt.Sprintf("%s reaches the user_data of %q, which any program on that server can read for its lifetime", what, b.Resource.Name),
					"let the server fetch it, or pass it in a software deployment; and change it after the first boot")
			}
		})
	}
}

// secret describes the value of a reference, if it is a secret; "" if not.
func (l *Checker) secret(r hot.Ref) string {
	switch r.Kind {
	case hot.ToParameter:
		if p := l.Template.Parameter(r.Name); p != nil && p.Hidden {
			return fmt.Sprintf("the hidden parameter %q", r.Name)
		}
	case hot.ToResource, hot.ToAttribute:
		if _, kind := l.present(r.Name); trace.GivesSecret(kind, r.Attribute) {
			return fmt.Sprintf("the %s of %q", cmp.Or(r.Attribute, "value"), r.Name)
		}
	}
	return ""
}
