package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func (b Bed) ExpectLife(t *testing.T, id string, want bool) {
	t.Helper()
	if _, stands, err := b.Operator(t).Stat(t.Context(), Site.Life("db", id)); err != nil || stands != want {
		t.Errorf("the life of %s stands: %v (%v), want %v", id, stands, err, want)
	}
}

// WithoutLife deletes the node that agents of an earlier release did not create.
func (b Bed) WithoutLife(t *testing.T, id string) {
	t.Helper()
	if err := b.Operator(t).DeleteTree(t.Context(), Site.Life("db", id)); err != nil {
		t.Fatal(err)
	}
}

func (b Bed) Again(t *testing.T, s store.Session) (*member.Session, error) {
	t.Helper()
	m := member.Join(s, Site, "db", TokenOf("db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m.Enrol(t.Context(), "journal-db", "i-db", true, Noon)
}

// MakeAnew destroys a deployment, applies it again, and makes another machine db.
func (b Bed) MakeAnew(t *testing.T) *member.Session {
	t.Helper()
	if err := deploy.Destroy(t.Context(), b.Operator(t), Site); err != nil {
		t.Fatal(err)
	}
	b.Publish(t, ThreeTier())
	fresh := member.Join(b.Session(t, "db"), Site, "db", TokenOf("db"))
	if _, err := fresh.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := fresh.Enrol(t.Context(), "another journal", "i-new", false, Noon)
	if err != nil || s.Incarnation.Number != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	return s
}
