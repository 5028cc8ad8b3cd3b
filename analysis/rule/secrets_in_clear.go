package rule

import (
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/source"
)

var (
	shownPassword = Rule{Code: source.ShownPassword, Category: Security, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findShownPasswords}
	secretInClear = Rule{Code: source.SecretInClear, Category: Security, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findSecretsInClear}
)

// passwordLike are names that say what is in them.
var passwordLike = regexp.MustCompile(`(?i)(^|[_-])(password|passwd|passphrase|private_key|api_key|secret_key)$|[a-z](Password|Passwd|Passphrase|PrivateKey|ApiKey|SecretKey)$`)

func findShownPasswords(l *Look) {
	for _, p := range l.Template.Parameters {
		if p.Type == "string" && !p.Hidden && passwordLike.MatchString(p.Name) {
			l.Found(p.Entry.Key, fmt.Sprintf("the parameter %q looks like a secret, and is not hidden: whoever sees the stack sees it", p.Name), "`hidden: true`")
		}
	}
}

// findSecretsInClear finds secrets that stand in the template for everybody who reads it.
func findSecretsInClear(l *Look) {
	for _, p := range l.Template.Parameters {
		if text, isText := p.Default.Text(); isText && text != "" && (p.Hidden || p.Type == "string" && passwordLike.MatchString(p.Name)) && passwordLike.MatchString(p.Name) {
			l.Found(p.Default, fmt.Sprintf("the secret parameter %q has a default, which everybody who reads the template knows", p.Name), "leave the default out, or let OS::Heat::RandomString make one up")
		}
	}
	for b := range l.BlocksOf("OS::Nova::Server", "OS::Trove::Instance") {
		if n := b.Get("admin_pass"); n != nil && !l.IsCall(n) {
			l.Found(n, "a password in clear", "give it by a hidden parameter")
		}
	}
}
