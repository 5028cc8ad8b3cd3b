package explain

import "testing"

// Members whose rows differ only in their numbers share one; a member that differs keeps its own.
func TestFoldMembers(t *testing.T) {
	list := []Reference{
		{At: "a:1:2", Reference: "{get_attr: [db, url]}", Place: "web/0.app.db", Needs: "role db.mysql", By: "x"},
		{At: "a:1:2", Reference: "{get_attr: [db, url]}", Place: "web/1.app.db", Needs: "role db.mysql", By: "x"},
		{At: "a:1:2", Reference: "{get_attr: [db, url]}", Place: "web/2.app.db", Needs: "role db.mysql", By: "x", Rule: "another"},
		{At: "a:9:2", Reference: "{get_param: p}", Place: "db.mysql.p"},
	}
	got := FoldMembers(list)
	if len(got) != 3 || got[0].Place != "web/*.app.db" || got[1].Place != "web/2.app.db" || got[2].Place != "db.mysql.p" {
		t.Errorf("%+v", got)
	}
}

// A reference is selected by its role, its input, what it refers to, its cell, or its place.
func TestMatches(t *testing.T) {
	x := Reference{At: "site.yaml:41:25", Reference: "{get_attr: [db, url]}", Place: "web.app.db", Cell: "db.mysql:url"}
	for chosen, want := range map[string]bool{
		"web.app": true, "web.app.db": true, "db.url": true, "db": true, "db.mysql:url": true, "41": true, "site.yaml:41": true, "site.yaml:41:25": true,
		"web.ap": false, "url": false, "4": false, "app": false,
	} {
		if x.matches(chosen) != want {
			t.Errorf("%s: %v", chosen, !want)
		}
	}
}
