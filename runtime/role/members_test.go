package role

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// readings are Cells that answer each read of a cell with the next of its answers, and then with the
// last one. They are news whenever somebody waits.
type readings struct {
	Cells
	answers map[contract.CellName][]reading
	awaited []contract.CellName
	lost    int // the first waits find the writer gone
	away    bool
}

type reading struct {
	state protocol.CellState
	err   error
}

func (r *readings) Cell(_ context.Context, cell contract.CellName) (protocol.CellRecord, error) {
	now := r.answers[cell][0]
	if len(r.answers[cell]) > 1 {
		r.answers[cell] = r.answers[cell][1:]
	}
	return protocol.CellRecord{State: now.state, Incarnation: 1}, now.err
}

func (r *readings) AwaitRecord(ctx context.Context, cell contract.CellName,
	_ member.AwaitOptions) (protocol.CellRecord, error) {
	r.awaited = append(r.awaited, cell)
	if len(r.awaited) <= r.lost {
		return protocol.CellRecord{}, &member.LostProducerError{Cell: cell}
	}
	return protocol.CellRecord{}, nil
}

func (r *readings) Away(context.Context, contract.CellName) (bool, error) { return r.away, nil }

func (r *readings) Follow(context.Context, contract.CellName, func()) error { return nil }

func (r *readings) FollowMembers(context.Context, string, func()) error { return nil }

func (r *readings) Members(context.Context, string) (protocol.MembersRecord, error) {
	return protocol.MembersRecord{}, nil
}

// firstList is the first list of a group of three, whose input wants so many.
func firstList(t *testing.T, atLeast int, answers ...[]reading) ([]int, *readings, error) {
	t.Helper()
	return decide(t, &readings{}, atLeast, answers...)
}

func decide(t *testing.T, cells *readings, atLeast int, answers ...[]reading) ([]int, *readings, error) {
	t.Helper()
	cells.answers = map[contract.CellName][]reading{}
	l := &life{host: &Host{Cells: cells}, cells: &cellCache{}}
	for n, all := range answers {
		cell := contract.CellName(fmt.Sprintf("web/%d.r:out", n))
		cells.answers[cell] = all
		of := &contract.Member{Group: "web", Number: n}
		l.follows = append(l.follows, contract.Follow{Cell: cell, Watch: true, Member: of})
	}
	r := &resolver{life: l, ctx: t.Context(), in: &input{Input: contract.Input{AtLeast: atLeast}}, ahead: true}
	list, err := r.Joined("web", len(answers), len(answers))
	return list, cells, err
}

var (
	valued = reading{state: protocol.Valued}
	empty  = reading{state: protocol.Empty}
)

// An error of reading a member's cell that says nothing about the member, as that of a full disk, does
// not leave it out.
func TestAPassingErrorLeavesNoMemberOut(t *testing.T) {
	for _, passing := range []error{
		fmt.Errorf("%w: %w", member.ErrForgets, errors.New("no space left on device")),
		&store.PathError{Op: "read", Path: "x", Err: errors.New("unknown error: -1")},
	} {
		for atLeast := range 3 {
			list, _, err := firstList(t, atLeast, []reading{valued}, []reading{{err: passing}}, []reading{valued})
			if !errors.Is(err, passing) {
				t.Errorf("at_least %d: %v, %v; want the error %v", atLeast, list, err, passing)
			}
		}
	}
}

// Who has written nonsense, or is no longer in the plan, is not waited for.
func TestNonsenseLeavesAMemberOut(t *testing.T) {
	for _, final := range []error{
		protocol.NewCellError(contract.CellRef{Cell: "web/1.r:out", Server: "web/1"}, errors.New("no JSON")),
		&member.FailedCellError{Cell: "web/1.r:out"},
		fmt.Errorf("read web/1.r:out: %w", member.ErrNotInPlan),
	} {
		list, _, err := firstList(t, 3, []reading{valued}, []reading{{err: final}}, []reading{valued})
		if err != nil || !slices.Equal(list, []int{0, 2}) {
			t.Errorf("%v, %v after %v", list, err, final)
		}
	}
}

// The list has at least as many members as it was found to have: a value that is no longer there, or
// behind an older record, when the list is made, is waited for again.
func TestTheFirstListIsTheOneThatSufficed(t *testing.T) {
	for what, now := range map[string]reading{"emptied": empty, "hidden": {state: protocol.Unknown}} {
		for _, atLeast := range []int{0, 2} {
			list, cells, err := firstList(t, atLeast, []reading{valued}, []reading{valued, now, now, valued})
			if err != nil || !slices.Equal(list, []int{0, 1}) {
				t.Errorf("%s, at_least %d: %v, %v", what, atLeast, list, err)
			}
			if !slices.Contains(cells.awaited, "web/1.r:out") {
				t.Errorf("%s, at_least %d: nothing was awaited", what, atLeast)
			}
		}
	}
}

// A member whose agent was gone for too long, but has come back, is awaited like any other.
func TestAMemberWhoseAgentHasComeBack(t *testing.T) {
	for away, want := range map[bool][]int{true: {0}, false: {0, 1}} {
		later := []reading{empty, empty, empty, valued}
		list, _, err := decide(t, &readings{lost: 1, away: away}, 2, []reading{valued}, later)
		if err != nil || !slices.Equal(list, want) {
			t.Errorf("away %v: %v, %v; want %v", away, list, err, want)
		}
	}
}
