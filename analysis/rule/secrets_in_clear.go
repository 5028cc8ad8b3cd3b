package rule

import (
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/source"
)

var (
	shownPassword = Rule{Code: source.ShownPassword, Category: Security, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findShownPasswords}
	secretInClear = Rule{Code: source.SecretInClear, Category: Security, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findSecretsInClear}
)

// passwordLike are names of parameters that contain a secret.
var passwordLike = regexp.MustCompile(`(?i)(^|[_-])(password|passwd|passphrase|private_key|api_key|secret_key)$|[a-z](Password|Passwd|Passphrase|PrivateKey|ApiKey|SecretKey)$`)

func findShownPasswords(l *Checker) {
	for _, p := range l.Template.Parameters {
		if p.Type == "string" && !p.Hidden && passwordLike.MatchString(p.Name) {
			l.Report(p.Entry.Key, fmt.Sprintf("the parameter %q looks like a secret but is not hidden: anyone who can see the stack can see it", p.Name), "set `hidden: true`")
		}
	}
}

// findSecretsInClear finds secrets in clear text in the template.
func findSecretsInClear(l *Checker) {
	for _, p := range l.Template.Parameters {
		if text, isText := p.Default.Text(); isText && text != "" && (p.Hidden || p.Type == "string" && passwordLike.MatchString(p.Name)) && passwordLike.MatchString(p.Name) {
			l.Report(p.Default, fmt.Sprintf("the secret parameter %q has a default, which anyone who reads the template knows", p.Name), "remove the default, or generate the secret with OS::Heat::RandomString")
		}
	}
	for b := range l.BlocksOf("OS::Nova::Server", "OS::Trove::Instance") {
		if n := b.Get("admin_pass"); n != nil && !l.IsCall(n) {
			l.Report(n, "a password in clear text", "pass it as a hidden parameter")
		}
	}
}
