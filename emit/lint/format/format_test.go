package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
	"github.com/hotc-dev/hotc/emit/lint/format"
)

// hostile is what a stranger may write into a template so that it ends up in a message, a
// file's name or a reason: it would end a line, an attribute, a command, or steer a terminal.
const hostile = "a\r\n::error file=x::forged %0A%25 ,:\"'<b>&amp;]]></failure>\x1b[31m\u202e\u009b\x00\xff\ufffe \U0001f600"

func report() *lint.Report {
	file := source.NewFile("dir, %/a:"+hostile+".yaml", []byte("one: "+strings.ReplaceAll(hostile, "\n", " ")+"\ntwo: é x\nthree:\n  four\n"))
	at := func(text string) source.Place {
		i := bytes.Index(file.Text, []byte(text))
		return source.Place{File: file, Span: source.Span{Start: uint32(i), End: uint32(i + len(text))}}
	}
	finding := func(s source.Severity, at source.Place) lint.Finding {
		return lint.Finding{Diagnostic: &source.Diagnostic{Code: source.UnknownResource, Severity: s, At: at, Message: "no " + hostile, Hint: "hint " + hostile,
			Notes: []source.Note{{At: at, Message: "note " + hostile}}}, File: file.Name}
	}
	suppressed := finding(source.Error, at("x"))
	suppressed.Suppressed = &lint.Suppression{By: lint.Comment, Reason: "known " + hostile}
	old := finding(source.Warning, at("x"))
	old.Suppressed = &lint.Suppression{By: lint.Baseline, Reason: "before"}
	fixable := finding(source.Warning, at("x"))
	fixable.Fix = &source.Fix{Does: "write " + hostile, Edits: []source.Edit{{Span: at("two").Span, New: hostile}, {Span: at("é").Span}}}
	nowhere := finding(source.Error, source.Place{})
	nowhere.File, nowhere.Notes = "gone.yaml", nil
	return &lint.Report{Version: "1.2.3", Files: []string{file.Name, "fine.yaml", "gone.yaml"}, FailOn: lint.Errors, Findings: []lint.Finding{
		finding(source.Error, at("x\nthree")), finding(source.Warning, at("x")), fixable, finding(source.Info, at("four")), suppressed, old, nowhere,
	}}
}

func written(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := format.Write(&out, name, report(), ""); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(out.Bytes()) && name != "text" { // which the terminal's filter looks after
		t.Errorf("%s: not UTF-8", name)
	}
	return out.Bytes()
}

func strict(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Error("something stands behind it")
	}
}

// The log is what the public schema of SARIF 2.1.0 asks for, and has no key that it does not
// know.
func TestSARIF(t *testing.T) {
	text := written(t, "sarif")
	var log sarif.Report
	strict(t, text, &log)
	whole, err := sarif.FromBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range whole.Runs { // the library fills these in, against the schema
		run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en-US", "en-US", []string{"\n"}
	}
	if err := whole.Validate(); err != nil {
		t.Error(err)
	}
	results := log.Runs[0].Results
	if len(results) != 7 || len(results[4].Suppressions) != 1 || *results[4].Suppressions[0].Kind != "inSource" || *results[5].Suppressions[0].Kind != "external" || len(results[0].Suppressions) != 0 ||
		len(results[0].Fixes) != 0 || len(results[2].Fixes) != 1 || len(results[2].Fixes[0].ArtifactChanges[0].Replacements) != 2 {
		t.Errorf("%s", text)
	}
	if r := results[0].Locations[0].PhysicalLocation.Region; *r.StartLine != 2 || *r.StartColumn != 8 || *r.EndLine != 3 || *r.EndColumn != 6 {
		t.Errorf("%d:%d to %d:%d", *r.StartLine, *r.StartColumn, *r.EndLine, *r.EndColumn)
	}
}

// No text of a template begins a command of its own, or another property; what stands
// there is what a runner reads back.
func TestGitHub(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(string(written(t, "github")), "\n"), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	command := regexp.MustCompile(`^::(error|warning|notice) ((?:[A-Za-z]+=[^,:]*,?)*)::(.*)$`)
	back := strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")
	for i, line := range lines {
		m := command.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q", line)
		}
		got := map[string]string{}
		for _, p := range strings.Split(m[2], ",") {
			name, value, _ := strings.Cut(p, "=")
			if _, twice := got[name]; twice {
				t.Errorf("%s twice: %q", name, line)
			}
			got[name] = back.Replace(value)
		}
		want := terminal.Visible(report().Files[0])
		if i == 4 {
			want = "gone.yaml"
		}
		if got["file"] != want || got["title"] != "H206" || !strings.Contains(back.Replace(m[3]), "::error file=x::forged %0A%25") {
			t.Errorf("%q\n%q", got, line)
		}
		if _, has := got["col"]; has != (i != 0 && i != 4) { // the first has two lines
			t.Errorf("%q", line)
		}
	}
}

func TestGitLab(t *testing.T) {
	var issues []struct {
		Description string `json:"description"`
		CheckName   string `json:"check_name"`
		Fingerprint string `json:"fingerprint"`
		Severity    string `json:"severity"`
		Location    struct {
			Path  string `json:"path"`
			Lines struct {
				Begin int `json:"begin"`
			} `json:"lines"`
		} `json:"location"`
	}
	strict(t, written(t, "gitlab"), &issues)
	seen, known := map[string]bool{}, map[string]bool{"info": true, "minor": true, "major": true, "critical": true, "blocker": true}
	for _, x := range issues {
		if seen[x.Fingerprint] || !known[x.Severity] || x.Location.Lines.Begin < 1 || x.Location.Path == "" || x.Description == "" || x.CheckName != "H206" {
			t.Errorf("%+v", x)
		}
		seen[x.Fingerprint] = true
	}
	if len(issues) != 5 {
		t.Errorf("%d issues", len(issues))
	}
}

// element is any XML.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) count(name string) (n int) {
	for _, c := range e.Children {
		if n += c.count(name); c.XMLName.Local == name {
			n++
		}
	}
	return n
}

// shape are, of the public schema of JUnit's XML (Jenkins' junit-10.xsd), the elements that
// hotc writes: what stands in each, and its attributes. Checkstyle has no schema.
var shape = map[string]struct{ children, attrs string }{
	"testsuites": {"testsuite", "name tests failures errors"},
	"testsuite":  {"testcase", "name tests failures errors skipped"},
	"testcase":   {"skipped failure system-out", "name classname"},
	"skipped":    {"", "message"},
	"failure":    {"", "message type"},
	"system-out": {"", ""},
	"checkstyle": {"file", "version"},
	"file":       {"error", "name"},
	"error":      {"", "line column severity message source"},
}

func (e element) check(t *testing.T) {
	t.Helper()
	s, known := shape[e.XMLName.Local]
	if !known {
		t.Errorf("an element %s", e.XMLName.Local)
	}
	for _, a := range e.Attrs {
		if !strings.Contains(" "+s.attrs+" ", " "+a.Name.Local+" ") {
			t.Errorf("%s has %s", e.XMLName.Local, a.Name.Local)
		}
	}
	for _, c := range e.Children {
		if !strings.Contains(" "+s.children+" ", " "+c.XMLName.Local+" ") {
			t.Errorf("%s in %s", c.XMLName.Local, e.XMLName.Local)
		}
		c.check(t)
	}
}

func TestXML(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"junit":      {"testsuite": 3, "testcase": 8, "failure": 2, "skipped": 2, "system-out": 3},
		"checkstyle": {"file": 3, "error": 5},
	} {
		var root element
		if err := xml.Unmarshal(written(t, name), &root); err != nil {
			t.Fatal(name, err)
		}
		root.check(t)
		for what, n := range want {
			if got := root.count(what); got != n {
				t.Errorf("%s: %d times %s, want %d", name, got, what, n)
			}
		}
		for _, s := range root.Children {
			if got := s.attr("tests"); name == "junit" && got != strconv.Itoa(s.count("testcase")) {
				t.Errorf("%s tests in %s", got, s.attr("name"))
			}
		}
	}
}

// Formats of a line for each finding have no other lines.
func TestLines(t *testing.T) {
	if got := bytes.Count(written(t, "line"), []byte("\n")); got != 5 {
		t.Errorf("%d lines", got)
	}
}

// What writes nowhere says so.
func TestWriteFails(t *testing.T) {
	for _, f := range format.All {
		if err := format.Write(full{}, f.Name, report(), ""); err == nil {
			t.Errorf("%s: no error", f.Name)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }

// The text says which findings --fix mends, and how many.
func TestTextSaysWhatIsMended(t *testing.T) {
	r := report()
	guess := r.Findings[2]
	d := *guess.Diagnostic
	d.Fix = &source.Fix{Does: "guess", Unsafe: true}
	guess.Diagnostic = &d
	r.Findings = append(r.Findings, guess)
	for _, c := range []struct {
		findings []lint.Finding
		want     []string
	}{
		{r.Findings, []string{"(--fix)\n", "fix: guess (--fix=unsafe)\n", "; --fix fixes 1, --fix=unsafe 1 more, 2 suppressed"}},
		{r.Findings[2:3], []string{"; --fix fixes 1\n"}},
		{r.Findings[len(r.Findings)-1:], []string{"; --fix=unsafe fixes 1\n"}},
		{r.Findings[:1], []string{"1 error, 0 warnings\n"}},
	} {
		r.Findings = c.findings
		var out bytes.Buffer
		if err := format.Write(&out, "text", r, ""); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
	}
}
