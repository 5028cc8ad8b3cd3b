package plugin_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/plugin"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// machine has one plug-in, x, which answers what it is told to.
type machine struct {
	answer string
	fails  error
	size   int
	asked  string
}

func (m *machine) Executable(program string) ([]byte, error) {
	if program != "hotc-driver-x" {
		return nil, plugin.ErrNotFound
	}
	return make([]byte, m.size), nil
}

func (m *machine) Ask(_ string, line []byte) ([]byte, error) {
	m.asked = string(line)
	return []byte(m.answer), m.fails
}

// lower is what a source means to the plug-in, or the first diagnostic.
func lower(t *testing.T, m *machine, elsewhere bool) (*program.Meaning, string) {
	t.Helper()
	tool := plugin.Drivers(m).Find("x", elsewhere)
	if tool == nil {
		t.Fatal("the plug-in is not found")
	}
	from := value.NewDict()
	from.Set("module", "./modules")
	var diags source.Diagnostics
	role := driver.Role{Name: "app", Source: from, Locate: func(...string) source.Place { return source.Place{} },
		Inputs: []*program.Input{{Name: "url"}}, Outputs: []*program.Output{{Name: "o", Type: "string"}, {Name: "up", Resource: "a[b]"}}}
	meaning := tool.Lower(role, &diags)
	if meaning == nil {
		return nil, diags.All()[0].Message
	}
	return meaning, ""
}

func TestTheQuestion(t *testing.T) {
	m := &machine{answer: `{"protocol": 1}`}
	meaning, wrong := lower(t, m, false)
	want := `{"protocol":1,"role":"app","source":{"module":"./modules"},"inputs":["url"],"outputs":[{"name":"o","type":"string"},{"name":"up","resource":"a[b]"}]}` + "\n"
	if wrong != "" || m.asked != want || meaning.Sequence != nil || len(meaning.Files) != 1 {
		t.Errorf("%s %q\n%s", wrong, m.asked, want)
	}
	got := strings.ReplaceAll(string(value.EncodeJSON(meaning.Source)), meaning.Files[0].Digest, "D")
	if got != `{"name":"x","source":{"module":"./modules"},"executable":"D"}` {
		t.Error(got)
	}
}

// What JSON cannot say is refused, whether or not the plug-in is here to be asked.
func TestASourceThatIsNoJSON(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		from := value.NewDict()
		from.Set("most", []value.Value{math.Inf(1)})
		var diags source.Diagnostics
		m := &machine{answer: `{"protocol": 1}`}
		meaning := plugin.Drivers(m).Find("x", elsewhere).Lower(driver.Role{Name: "app", Source: from}, &diags)
		if meaning != nil || m.asked != "" || len(diags.All()) != 1 || diags.All()[0].Code != source.BadSource {
			t.Errorf("%v, asked %q, %v", meaning, m.asked, diags.All())
		}
	}
}

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"protocol": 1, "source": [1]}`:                                                                      `source [1]`,
		`{"protocol": 1, "steps": [{"read": "url"}, {"write": "o"}]}`:                                         `steps [read url write o] complete false`,
		`{"protocol": 1, "steps": [], "complete": true}`:                                                      `steps [] complete true`,
		`{"protocol": 1, "complete": true}`:                                                                   `steps [] complete true`,
		`{"protocol": 1, "steps": [{"any": [{"read": "url"}, {"write": "up"}]}]}`:                             `steps [any [read url write up]] complete false`,
		`{"protocol": 1, "steps": [{"maybe": [{"read": "url"}]}, {"write": "o"}]}`:                            `steps [maybe [read url] write o] complete false`,
		`{"protocol": 1, "errors": [{"message": "no", "hint": "h", "at": ["a"]}]}`:                            `no`,
		`{"protocol": 1, "steps": [{"read": "uri"}]}`:                                                         `plug-in hotc-driver-x: it reads the input "uri", which the role does not declare`,
		`{"protocol": 1, "steps": [{"any": [{"write": "p"}]}]}`:                                               `plug-in hotc-driver-x: it writes the output "p", which the role does not declare`,
		`{"protocol": 1, "steps": [{}]}`:                                                                      `plug-in hotc-driver-x: a step must have one of read, write, any and maybe`,
		`{"protocol": 1, "steps": ` + strings.Repeat(`[{"any": `, 30) + `[]` + strings.Repeat(`}]`, 30) + `}`: `plug-in hotc-driver-x: its steps are too many or nested too deeply`,
		`{"protocol": 1, "trees": ["none"]}`:                                                                  `plug-in hotc-driver-x: it names the tree "none", which the source does not have`,
		`{"protocol": 2}`:                                                                                     `plug-in hotc-driver-x: it uses version 2 of the protocol, this hotc version 1`,
		`{}`:                                                                                                  `plug-in hotc-driver-x: it uses version 0 of the protocol, this hotc version 1`,
		``:                                                                                                    `plug-in hotc-driver-x: it prints no answer`,
		`{"protocol": 1, `:                                                                                    `plug-in hotc-driver-x: its answer is incomplete: it begins with "{\"protocol\": 1,"`,
		`{"protocol": 1} }`:                                                                                   `plug-in hotc-driver-x: it prints more than one line`,
		`{"protocol": 1} {"protocol": 1}`:                                                                     `plug-in hotc-driver-x: it prints more than one line`,
		`{"protocol": 1, "later": true}`:                                                                      `plug-in hotc-driver-x: its output is not a valid answer (json: unknown field "later"): it begins with "{\"protocol\": 1, \"later\": true}"`,
	} {
		meaning, got := lower(t, &machine{answer: answer}, false)
		switch {
		case meaning != nil && meaning.Sequence != nil:
			got = fmt.Sprintf("steps %v complete %v", words(meaning.Sequence.Steps), meaning.Sequence.Complete)
		case meaning != nil:
			own, _ := meaning.Source.(*value.Dict).Get("source")
			got = "source " + string(value.EncodeJSON(own))
		}
		if got != want {
			t.Errorf("%s\n gives %s\n want  %s", answer, got, want)
		}
	}
}

func words(steps []program.Step) []string {
	var out []string
	for _, s := range steps {
		switch s.Op {
		case program.ReadInput:
			out = append(out, "read", s.Name)
		case program.WriteOutput:
			out = append(out, "write", s.Name)
		case program.Fork:
			out = append(out, "maybe", fmt.Sprint(words(s.Ways[0])))
		default:
			out = append(out, "any", fmt.Sprint(words(s.Ways[0])))
		}
	}
	return out
}

func TestHowAProgramGetsToTheServer(t *testing.T) {
	large := &machine{answer: `{"protocol": 1}`, size: 17 << 20}
	if _, wrong := lower(t, large, false); wrong != "plug-in hotc-driver-x exceeds the 16 MB that can travel with a plan" {
		t.Error(wrong)
	}
	meaning, wrong := lower(t, large, true)
	if wrong != "" || len(meaning.Files) != 0 || large.asked == "" {
		t.Errorf("%s %v: one that is fetched is asked, and does not travel", wrong, meaning)
	}
	if _, wrong := lower(t, &machine{fails: errors.New("`hotc-driver-x compile` fails (exit status 3): no such table")}, false); wrong != "plug-in hotc-driver-x: `hotc-driver-x compile` fails (exit status 3): no such table" {
		t.Error(wrong)
	}
	all := plugin.Drivers(large)
	for _, name := range []string{"y", "../x", "X", ""} {
		if all.Find(name, false) != nil {
			t.Errorf("%q is found", name)
		}
	}
	if all.Find("y", true) == nil || all.Find("../x", true) != nil {
		t.Error("one that only the server has")
	}
}
