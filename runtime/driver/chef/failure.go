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

// failed is the exception that ended a run, as the interceptor noted it
// (ruby/report.rb).
type failed struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	// At is the line of a cookbook that it came from: web/recipes/default.rb:3; "" where
	// there is none.
	At string `json:"at"`
	// Resource is the one that failed, with its place: file[/x] (web::default line 3); ""
	// is none.
	Resource string `json:"resource"`
	// Others are what failed after it, such as delayed notifications.
	Others []failed `json:"others"`
}

func (r *repository) failureFile() string { return filepath.Join(r.folder(), "failure.json") }

// Chef's exit statuses that say why by themselves (RFC 62 of Chef's, and the
// library that asks for the licence).
var statuses = map[int]string{
	35:  "the recipes want the server to be restarted later: Chef's reboot resource cannot be used in a role",
	37:  "the recipes restart the server: Chef's reboot resource cannot be used in a role",
	172: "Chef's licence is not accepted: `install: {licence: accept}` accepts it, or use Cinc",
}

// failure is why a run has failed, on its last line; "" if nobody knows more than the
// exit status.
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
	// anException is how Chef begins to repeat the exception of a resource.
	anException = regexp.MustCompile(`had an error: [A-Z][A-Za-z0-9_]*(::[A-Z][A-Za-z0-9_]*)*: `)
	// itsLine is the place of a resource in Chef's own messages.
	itsLine = regexp.MustCompile(`\([^()]+ line \d+\)`)
	// itsErrors is what a command printed to its standard error, in those of
	// mixlib-shellout.
	itsErrors = regexp.MustCompile(`(?s)\nSTDERR: (.*?)\n---- End output of `)
)

// enough is how many characters of a role's last line are its cause (runtime/role).
const enough = 200

// anError joins the messages of resources that are declared in each other.
const anError = " had an error: "

// lines are the failures of a run, the last one the first that came: it is what the
// role's cause repeats.
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

// outermost is a line without the resources between the outermost and the innermost, if
// it is long.
func outermost(line string) string {
	parts := strings.Split(line, anError)
	if n := len(parts); n > 3 && utf8.RuneCountInString(line) > enough {
		return strings.Join([]string{parts[0], "… " + parts[n-2], parts[n-1]}, anError)
	}
	return line
}

// line is the exception in Chef's own words, without its class, but with the place
// in the cookbook and, for a command, the last line that it printed as its error.
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
