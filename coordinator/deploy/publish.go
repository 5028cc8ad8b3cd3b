package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// What an operator decides on.
var (
	// ErrWrongSecret says that the deployment exists under another secret.
	ErrWrongSecret = errors.New("the deployment was made with another secret")
	// ErrNotApplied says that no such deployment is on the coordinator.
	ErrNotApplied = errors.New("no such deployment")
	// ErrUnfinished says that another plan's apply, or a destroy, stopped half-way
	// or still runs. What is there cannot be told from what somebody makes just now.
	ErrUnfinished = errors.New("an apply of another plan, or a destroy, was interrupted or still runs")
)

// ChangedPlanError refuses to put another plan in the place of a live one.
type ChangedPlanError struct{ Differences []string }

func (e *ChangedPlanError) Error() string {
	return "the deployment is live with another plan: " + strings.Join(e.Differences, "; ")
}

// Files gives the content of a plan's file by its digest.
type Files func(digest string) ([]byte, error)

// Outcome is what Publish did, or would do.
type Outcome string

// The outcomes of Publish.
const (
	Created   Outcome = "created"
	Unchanged Outcome = "unchanged" // the same plan stood there already
	Resumed   Outcome = "resumed"   // an interrupted Publish was brought to its end
	Updated   Outcome = "updated"   // another plan took the live one's place
)

// Published says what Publish did, or would do.
type Published struct {
	Outcome Outcome
	Record  coordinator.DeploymentRecord
	Nodes   int // how many nodes the deployment has
	Bytes   int // how many bytes they hold
	// Changes are the roles that another plan changes, in its order.
	Changes []RoleChange
	// Shape says what else comes and goes by it: servers, and who reads what.
	Shape []string
	// Untold says that Heat is to be told by servers that are there what they have no
	// credentials for: a relay has to tell it.
	Untold bool
}

// Publication is a deployment as it is to stand on a coordinator.
type Publication struct {
	Deployment coordinator.Deployment
	Secret     coordinator.Secret
	Plan       *contract.Plan
	JSON       []byte // the plan's text
	Files      Files
	Now        time.Time
	// Enrol is the enrolment that is asked for: nil is that of the live deployment, and
	// EnrolAlways of a new one.
	Enrol *coordinator.Enrolment
	// Restore says that it takes the place of one that the coordinator has lost: its servers
	// go on with it.
	Restore bool
	Root    *InRoot // where it is closed
	// After are the secrets that are given another value next, with their numbers (Given.Next).
	After map[contract.CellName]int
}

// rootCredential is the identity of who has the key of a closed ROOT.
func (w *Publication) rootCredential() *coordinator.Credential {
	if w.Root == nil {
		return nil
	}
	c := w.Root.Key.RootCredential()
	return &c
}

// ErrStands says that a deployment that is to be put back is there.
var ErrStands = errors.New("it is there: nothing has to be put back")

// Publish puts a deployment on the coordinator: plan, files, cells and rights,
// and last the node that agents wait for. Where another plan is live it takes that
// one's place, if it can. It can be called again after it was
// interrupted, and goes on where it stopped. A node that stands and is not hotc's own is a
// *RightsError. ErrWrongSecret, ErrUnfinished, *OtherEnrolmentError,
// *SharedTokenError; of a changed plan *ChangedPlanError, *NoUpdateHookError, ErrOvertaken.
func Publish(ctx context.Context, s coordinator.Store, w Publication) (Published, error) {
	d := w.Deployment
	result, nodes, change, err := w.prepare(ctx, s)
	if err == nil && result.Outcome == Unchanged && len(w.After) > 1 {
		result.Record, err = w.announceSecrets(ctx, s, result.Record)
	}
	if err != nil || result.Outcome == Unchanged {
		return result, err
	}
	if change != nil {
		if result.Changes, err = change.run(ctx); err != nil {
			return result, fmt.Errorf("publish %s: %w", d, operatorError(err))
		}
		result.Record = change.after()
		return result, nil
	}
	err = w.limit(ctx, s, result)
	if err == nil {
		err = s.Create(ctx, nodes[:len(nodes)-1])
	}
	if err == nil {
		err = s.Create(ctx, nodes[len(nodes)-1:])
	}
	var at *coordinator.PathError
	switch {
	case err == nil:
		return result, nil
	case errors.Is(err, coordinator.ErrRights) && errors.As(err, &at):
		err = &RightsError{Path: at.Path, Why: at.Err.Error()}
	case errors.Is(err, coordinator.ErrExists):
		err = fmt.Errorf("%w: %w", ErrUnfinished, err)
	case errors.Is(err, coordinator.ErrRefused):
		err = fmt.Errorf("%w: %w", ErrWrongSecret, err)
	}
	return result, fmt.Errorf("publish %s: %w", d, err)
}

// Rehearse says what Publish would do, and refuses what it would refuse, but
// writes nothing.
func Rehearse(ctx context.Context, s coordinator.Store, w Publication) (Published, error) {
	result, _, change, err := w.prepare(ctx, s)
	if err == nil && change != nil {
		result.Record = change.after()
		if result.Changes, err = change.rehearse(ctx); err != nil {
			err = fmt.Errorf("publish %s: %w", w.Deployment, operatorError(err))
		}
	}
	return result, err
}

// prepare compares what is there with what shall be: the nodes to make, ready last, or the
// change of a live plan.
func (w *Publication) prepare(ctx context.Context, s coordinator.Store) (result Published, nodes []coordinator.NewNode, change *update, err error) {
	d, secret, p, root := w.Deployment, w.Secret, w.Plan, w.rootCredential()
	if p.Format != contract.Format {
		return Published{}, nil, nil, fmt.Errorf("the plan has format %d, this hotc writes format %d", p.Format, contract.Format)
	}
	defer func() {
		if err != nil {
			result, err = Published{}, fmt.Errorf("publish %s: %w", d, err)
		}
	}()
	if err = s.Authenticate(ctx, secret.Operator(d)); err != nil {
		return result, nil, nil, err
	}
	digest := coordinator.Digest(w.JSON)
	result = Published{
		Outcome: Created,
		Record: coordinator.DeploymentRecord{Format: coordinator.RecordFormat, ID: rand.Text(), Counter: w.Now.UnixMilli(),
			Plan: digest, Created: w.Now.UTC().Truncate(time.Second), Restored: w.Restore},
	}
	if w.Enrol != nil {
		result.Record.Enrol = *w.Enrol
	}
	found, err := readRoot(ctx, s, d)
	switch {
	case errors.Is(err, ErrNotApplied):
		err = nil
	case err == nil:
		if _, ready, statErr := s.Stat(ctx, d.Ready()); w.Restore && (ready || statErr != nil) {
			err = errors.Join(statErr, ErrStands)
			break
		}
		if err = checkRecord(ctx, s, d, secret, root); err != nil {
			break
		}
		var there coordinator.DeploymentRecord
		if there, err = openRecord(d, secret, found); err == nil {
			result.Outcome, err = compareRecords(ctx, s, d, there, result.Record, w.Enrol != nil)
			if err == nil && w.Restore && !there.Restored { // its servers would not go on with it
				err = ErrUnfinished
			}
		}
		result.Record = there
	}
	if err != nil {
		return result, nil, nil, err
	}
	if err = CheckEnrolment(p, result.Record.Enrol); err != nil {
		return result, nil, nil, err
	}
	tokens := newTokens(secret, d, p)
	live := p
	if result.Outcome == Updated {
		if change, err = newUpdate(ctx, s, w, tokens, digest); err != nil {
			return result, nil, nil, err
		}
		live = change.live
		all := differences(live, p)
		result.Shape = lines(all, func(d difference) bool { return d.shape })
		result.Untold = slices.ContainsFunc(all, func(d difference) bool { return d.untold })
	}
	var missing map[coordinator.Path]bool
	if result.Outcome == Unchanged || result.Outcome == Updated {
		keys, err := newKeyring(tokens, result.Record, root)
		if err != nil {
			return result, nil, nil, err
		}
		o := &owner{store: s, keys: keys, changing: change != nil && change.resumed}
		if missing, err = o.check(ctx, live); err != nil {
			return result, nil, nil, err
		}
		if change != nil {
			change.missing = missing
		}
	}
	keys, err := newKeyring(tokens, result.Record, root)
	if err != nil {
		return result, nil, nil, err
	}
	laid, err := layout(keys, p, w.JSON, w.Files)
	if err != nil {
		return result, nil, nil, err
	}
	nodes = bare(append(laid, keys.node(d.Ready(), nil, ofOperator, "")))
	result.Nodes = len(nodes)
	for _, n := range nodes {
		result.Bytes += len(n.Data)
	}
	if result.Outcome == Unchanged && len(missing) > 0 {
		result.Outcome = Resumed
		nodes = slices.DeleteFunc(nodes, func(n coordinator.NewNode) bool { return !missing[n.Path] && !missing[n.Path.Parent()] })
	}
	return result, nodes, change, nil
}

// checkRecord refuses a deployment whose record is not its operator's alone: what stands
// below it may be anybody's.
func checkRecord(ctx context.Context, s coordinator.Store, d coordinator.Deployment, secret coordinator.Secret, root *coordinator.Credential) error {
	keys, err := newKeyring(tokens{secret: secret, deployment: d}, coordinator.DeploymentRecord{}, root)
	if err != nil {
		return err
	}
	o := &owner{store: s, keys: keys}
	return o.rights(ctx, keys.node(d.Root(), nil, ofRecord, ""))
}

// compareRecords says what is to be done about a deployment that is there.
func compareRecords(ctx context.Context, s coordinator.Store, d coordinator.Deployment, there, wanted coordinator.DeploymentRecord, enrol bool) (Outcome, error) {
	_, ready, err := s.Stat(ctx, d.Ready())
	switch same := there.Plan == wanted.Plan && there.Updating == ""; {
	case err != nil:
		return "", err
	case !same && !ready:
		return "", ErrUnfinished
	case enrol && there.Enrol != wanted.Enrol:
		return "", &OtherEnrolmentError{Live: there.Enrol}
	case !same:
		return Updated, nil
	case ready:
		return Unchanged, nil
	}
	return Resumed, nil
}

// OtherEnrolmentError says that a deployment is live with another enrolment than the
// one that is asked for.
type OtherEnrolmentError struct{ Live coordinator.Enrolment }

func (e *OtherEnrolmentError) Error() string {
	if e.Live == coordinator.EnrolOnce {
		return "the deployment is live with tokens that are good for one enrolment"
	}
	return "the deployment is live with tokens that stay good"
}

// SharedTokenError says that tokens cannot be good for one enrolment in a group that
// scales: all of its members have the same.
type SharedTokenError struct{ Group string }

func (e *SharedTokenError) Error() string {
	return fmt.Sprintf("the members of the group %s, whose names Heat makes up, share their tokens: these cannot be good for one enrolment", e.Group)
}

// CheckEnrolment returns a *SharedTokenError if tokens are to be good for one enrolment, and
// the plan has such a group.
func CheckEnrolment(p *contract.Plan, e coordinator.Enrolment) error {
	for _, s := range p.Servers {
		if s.Slot != nil && e == coordinator.EnrolOnce {
			return &SharedTokenError{Group: s.Slot.Group}
		}
	}
	return nil
}
