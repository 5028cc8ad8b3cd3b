package chef

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/runtime/driver"
)

// failed is the exception that ended a run, as recorded by the interceptor
// (ruby/report.rb).
type failed struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	// At is its line in a cookbook: web/recipes/default.rb:3; "" if none.
	At string `json:"at"`
	// Resource is the failed one, with its place: file[/x] (web::default line 3); "" if none.
	Resource string `json:"resource"`
	// Others are later failures, such as of delayed notifications.
	Others []failed `json:"others"`
}

func (r *repository) failureFile() string { return filepath.Join(r.folder(), "failure.json") }

// Chef's exit statuses with a meaning of their own (Chef RFC 62, and the licence library).
var statuses = map[int]string{
	35:  "the recipes request a delayed reboot: Chef's reboot resource cannot be used in a role",
	37:  "the recipes reboot the server: Chef's reboot resource cannot be used in a role",
	172: "Chef's licence is not accepted: set `install: {licence: accept}`, or use Cinc",
}

// failure is why a run has failed, on its last line; "" if only the exit status is known.
func (r *repository) failure(exit driver.Exit) string {
	if why := statuses[exit.Code]; why != "" {
		return why
	}
	text, err := os.ReadFile(r.failureFile())
	if err != nil {
		return ""
	}
	var f failed
	if json.Unmarshal(text, &f) != nil {
		return ""
	}
	return strings.Join(f.lines(), "\n")
}

var (
	// anException begins Chef's repetition of a resource's exception.
	anException = regexp.MustCompile(`had an error: [A-Z][A-Za-z0-9_]*(::[A-Z][A-Za-z0-9_]*)*: `)
	// itsLine matches the place of a resource in Chef's messages.
	itsLine = regexp.MustCompile(`\([^()]+ line \d+\)`)
	// itsErrors matches a command's standard error in messages of mixlib-shellout.
	itsErrors = regexp.MustCompile(`(?s)\nSTDERR: (.*?)\n---- End output of `)
)

// enough is how much of a role's last line is its cause (runtime/role).
const enough = 200

// anError joins the messages of nested resources.
const anError = " had an error: "

// lines are the failures of a run; the first failure is the last line, which the role's
// cause repeats.
func (f failed) lines() []string {
	var lines []string
	for _, other := range f.Others {
		lines = append(lines, "and then: "+other.line())
	}
	slices.Reverse(lines)
	first := outermost(f.line())
	if n := len(f.Others); n > 0 {
		first += fmt.Sprintf(" (and %d more)", n)
	}
	return append(lines, first)
}

// outermost shortens a long line by the resources between the outermost and the innermost.
func outermost(line string) string {
	parts := strings.Split(line, anError)
	if n := len(parts); n > 3 && utf8.RuneCountInString(line) > enough {
		return strings.Join([]string{parts[0], "… " + parts[n-2], parts[n-1]}, anError)
	}
	return line
}

// line is the exception's message without its class, but with the place in the cookbook
// and, for a command, the last line of its standard error.
func (f failed) line() string {
	text := anException.ReplaceAllString(f.Message, "had an error: ")
	first := cmp.Or(firstLine(text), f.Class)
	if m := itsErrors.FindStringSubmatch(text); m != nil {
		if said := lastLine(m[1]); said != "" {
			first += ": " + said
		}
	}
	if name, _, _ := strings.Cut(f.Resource, " ("); f.Resource != "" && !strings.Contains(first, name) {
		first = f.Resource + " had an error: " + first
	}
	if f.At != "" && (!itsLine.MatchString(first) || strings.HasSuffix(f.At, "template")) {
		first += " (" + f.At + ")"
	}
	return first
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
