package rule

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var seldomSignalled = Rule{Code: source.SeldomSignalled, Category: Resources, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findSeldomSignalled}

// repeats matches what may run a line of a script more than once, or elsewhere.
var repeats = regexp.MustCompile(`\b(for|while|until|xargs|parallel|function|eval|alias|cron\w*|systemd\w*)\b|<<|\(\)`)

// findSeldomSignalled finds wait conditions that expect more signals than are sent: where only
// servers' user_data reads the handle, in scripts without loops, each line sends one.
func findSeldomSignalled(l *Checker) {
	for b := range l.BlocksOf("OS::Heat::WaitCondition") {
		of, count := l.Ref(b.Get("handle")), b.Get("count")
		if of.Kind != hot.ToResource || of.Name == "" || count == nil {
			continue
		}
		want, k, known := l.Number(count)
		if sent, sure := l.signals(of.Name); known && sure && sent > 0 && int64(sent) < want {
			l.Report(count, when(fmt.Sprintf("this waits for %d signals, but scripts send only %d: the stack waits until the timeout", want, sent), k), "")
		}
	}
}

// signals counts the signals that servers send to a handle; sure says whether it is exact.
func (l *Checker) signals(handle string) (sent int, sure bool) {
	readers, waits := 0, map[*yaml.Node]bool{}
	for b := range l.BlocksOf("OS::Heat::WaitCondition") {
		waits[b.Get("handle")] = true
	}
	l.References(l.Template.Root, func(r hot.Ref, n *yaml.Node) {
		if (r.Kind == hot.ToAttribute || r.Kind == hot.ToResource && !waits[n]) && (r.Name == handle || r.Name == "") {
			readers++
		}
	})
	for b := range l.BlocksOf("OS::Nova::Server") {
		text, params := l.Template.TextAt(b.Get("user_data"))
		if params == nil || l.Template.Resource(b.Resource.Name) != b.Resource {
			continue
		}
		texts := l.bootTexts(text, 0)
		for _, e := range params.All() {
			r := l.Ref(e.Value)
			if r.Kind != hot.ToAttribute || r.Name != handle || r.Attribute != "curl_cli" || len(texts) != 1 || !texts[0].whole {
				continue
			}
			text := texts[0].text
			begun := regexp.MustCompile(`(?m)^[ \t]*(sudo[ \t]+)?`+regexp.QuoteMeta(e.Name)+`[ \t]`).FindAllStringIndex(text, -1)
			if !strings.HasPrefix(text, "#!") || repeats.MatchString(text) || len(begun) != strings.Count(text, e.Name) {
				return 0, false
			}
			readers--
			sent += len(begun)
		}
	}
	return sent, readers == 0
}
