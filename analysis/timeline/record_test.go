package timeline_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Names map to seconds, or to a map; unknown names and impossible durations are refused.
func TestReadDurations(t *testing.T) {
	n := &waits.Net{}
	server(n, "db", waits.Task{Name: "mysql", Completion: -1})
	for text, want := range map[string]string{
		"db: 40\ndb.mysql: {seconds: 90, worst: 200, retries: 2}\n": "",
		"{\"db.mysql\": 90}":              "",
		"":                                "",
		"db.mysql: {second: 90}":          `"second" is not one of seconds, worst, retries`,
		"db.nginx: 1":                     `there is no "db.nginx"`,
		"db: -1":                          "cannot take -1 seconds",
		"db: .nan":                        "cannot take NaN seconds",
		"db: {seconds: 1, retries: 9999}": "with 9999 retries",
		"- db":                            "is not a map",
	} {
		of, _, err := timeline.ReadDurations("times", []byte(text), &program.Program{}, n, 45)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(text, "worst") && want == "" && (of["db"].Seconds != 40 || of["db.mysql"] != timeline.Duration{Seconds: 90, Worst: 200, Retries: 2}) {
			t.Errorf("%+v", of)
		}
	}
}

// From a record, completed roles count: their time without their waits, and when a server's
// first role began.
func TestReadRecord(t *testing.T) {
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("t", []byte("heat_template_version: 2018-08-31\nresources: {db: {type: T}, web: {type: T}}\n")), &diags)
	p := program.New(template, &program.Supplied{})
	for _, r := range template.Resources {
		s := p.AddServer(p.Root, r)
		s.Add(&program.Role{Name: "a", Server: s})
	}
	role := func(server, name, more string) string {
		return `{"path": "` + server + `", "roles": [{"name": "` + name + `", "status": "done", "started": "2026-01-01T00:00:` + more + `}]}`
	}
	record := `{"servers": [` + role("db", "a", `10Z", "ended": "2026-01-01T00:00:40Z", "blocked_seconds": 5`) + "," +
		role("web", "a", `25Z", "ended": "2026-01-01T00:00:26Z"`) + "," + role("gone", "a", `10Z", "ended": "2026-01-01T00:00:40Z"`) + `]}`
	of, gone, err := timeline.ReadDurations("record", []byte(record), p, &waits.Net{}, 45)
	if err != nil || gone != 1 || len(of) != 4 || of["db"].Seconds != 45 || of["db.a"].Seconds != 25 || of["web"].Seconds != 60 || of["web.a"].Seconds != 1 {
		t.Errorf("%+v, %d gone, %v", of, gone, err)
	}
	if _, _, err := timeline.ReadDurations("record", []byte(`{"servers": []}`), p, &waits.Net{}, 45); err == nil {
		t.Error("an empty record is accepted")
	}
}
