package deploytest

import (
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// PublishOnce applies a plan with tokens that are valid for one enrolment.
func (b Bed) PublishOnce(t *testing.T, p *contract.Plan) {
	t.Helper()
	if _, err := deploy.Publish(t.Context(), b.Open(t), Publication(p, Enrolling(protocol.EnrolOnce))); err != nil {
		t.Fatal(err)
	}
}

// AwaitingApproval is a machine's agent before its approval.
func (b Bed) AwaitingApproval(t *testing.T, of Machine) *member.Member {
	t.Helper()
	m := member.Join(b.Session(t, of.server), Site, of.server, TokenOf(of.server))
	m.UseMachine(member.Machine{Instance: "i-" + of.Id, Now: func() time.Time { return Noon },
		Key: func() (seal.Key, error) { return of.Key, nil }})
	return m
}

// Join is a machine's agent from its start until it is the server.
func (b Bed) Join(t *testing.T, of Machine, enrolledBefore bool) *member.Session {
	t.Helper()
	m := b.AwaitingApproval(t, of)
	err := m.AwaitDeployment(Within(t, Patience), func(why string) { t.Errorf("%s waits: %s", of.Id, why) })
	if err != nil {
		t.Fatal(err)
	}
	return b.Become(t, m, of, enrolledBefore)
}

func (b Bed) Become(t *testing.T, m *member.Member, of Machine, enrolledBefore bool) *member.Session {
	t.Helper()
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(of.Key)
	return Enrolled(t, m, of.Id, enrolledBefore)
}

// Enrolled is a member that is now the server.
func Enrolled(t *testing.T, m *member.Member, id string, enrolledBefore bool) *member.Session {
	t.Helper()
	s, err := m.Enrol(t.Context(), id, "i-"+strings.TrimPrefix(id, "journal-"), enrolledBefore, Noon)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b Bed) PublishAt(t *testing.T, now time.Time) {
	t.Helper()
	p := WithGiven("app")
	if _, err := deploy.Publish(t.Context(), b.Open(t), Publication(p, func(w *deploy.Publication) { w.Now = now }, Enrolling(protocol.EnrolOnce))); err != nil {
		t.Fatal(err)
	}
}
