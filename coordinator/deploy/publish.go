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
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// What an operator decides on.
var (
	// ErrWrongSecret says that the deployment exists under another secret.
	ErrWrongSecret = errors.New("the deployment was created with a different secret")
	// ErrNotApplied says that no such deployment is on the coordinator.
	ErrNotApplied = errors.New("no such deployment")
	// ErrUnfinished says that another plan's apply, or a destroy, was interrupted or is still
	// running: the two cannot be told apart.
	ErrUnfinished = errors.New("an apply of another plan, or a destroy, was interrupted or is still running")
)

// ChangedPlanError says that a live plan cannot be replaced by another.
type ChangedPlanError struct{ Differences []string }

func (e *ChangedPlanError) Error() string {
	return "the deployment is live with another plan: " + strings.Join(e.Differences, "; ")
}

// Files returns the content of a plan's file by its digest.
type Files func(digest string) ([]byte, error)

// Outcome is what Publish did, or would do.
type Outcome string

// The outcomes of Publish.
const (
	Created   Outcome = "created"
	Unchanged Outcome = "unchanged" // the same plan was there already
	Resumed   Outcome = "resumed"   // an interrupted Publish was completed
	Updated   Outcome = "updated"   // another plan replaced the live one
)

// Published says what Publish did, or would do.
type Published struct {
	Outcome Outcome
	Record  protocol.DeploymentRecord
	Nodes   int // how many nodes the deployment has
	Bytes   int // how many bytes they hold
	// Changes are the roles that another plan changes, in its order.
	Changes []RoleChange
	// Shape lists what else it adds and removes: servers, and who reads what.
	Shape []string
	// Untold says that existing servers have no credentials to signal Heat all that they should: a
	// relay has to.
	Untold bool
}

// Publication is a deployment to be published on a coordinator.
type Publication struct {
	Deployment protocol.Deployment
	Secret     protocol.Secret
	Plan       *contract.Plan
	JSON       []byte // the plan's text
	Files      Files
	Now        time.Time
	// Enrol is the requested enrolment: nil is that of the live deployment, and EnrolAlways for a
	// new one.
	Enrol *protocol.Enrolment
	// Restore says that it replaces one that the coordinator has lost, and that its servers
	// continue with it.
	Restore bool
	Root    *InRoot // where it is closed
	// Lock is held by the command that publishes. New says that there was no deployment to lock, so
	// that one which was created meanwhile is not changed: ErrOvertaken.
	Lock *Lock
	New  bool
	// After are the secrets that get a new value next, with their numbers (Supplied.Next).
	After map[contract.CellName]int
}

// rootPrincipal is the holder of a closed ROOT's key.
func (w *Publication) rootPrincipal() *store.Principal {
	if w.Root == nil {
		return nil
	}
	p := w.Root.Key.RootCredential().Principal()
	return &p
}

// ErrStands says that a deployment to be restored exists.
var ErrStands = errors.New("it exists: there is nothing to restore")

// Publish puts a deployment on the coordinator: plan, files, cells and rights, and last the node
// that agents wait for. It replaces another live plan, if possible. It can be called again after it
// was interrupted, and resumes where it stopped. An existing node that is not hotc's own is a
// *RightsError. ErrWrongSecret, ErrUnfinished, *OtherEnrolmentError, *SharedTokenError; of a
// changed plan *ChangedPlanError, *NoUpdateHookError, ErrOvertaken.
func Publish(ctx context.Context, s store.Session, w Publication) (Published, error) {
	d := w.Deployment
	result, nodes, change, err := w.prepare(ctx, s)
	if err == nil && change != nil && w.New {
		err = fmt.Errorf("publish %s: %w", d, ErrOvertaken)
	}
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
	var at *store.PathError
	switch {
	case err == nil:
		return result, nil
	case errors.Is(err, store.ErrRights) && errors.As(err, &at):
		err = &RightsError{Path: at.Path, Why: at.Err.Error()}
	case errors.Is(err, store.ErrExists):
		err = fmt.Errorf("%w: %w", ErrUnfinished, err)
	case errors.Is(err, store.ErrRefused):
		err = fmt.Errorf("%w: %w", ErrWrongSecret, err)
	}
	return result, fmt.Errorf("publish %s: %w", d, err)
}

// Rehearse says what Publish would do, and refuses what it would refuse, but
// writes nothing.
func Rehearse(ctx context.Context, s store.Session, w Publication) (Published, error) {
	result, _, change, err := w.prepare(ctx, s)
	if err == nil && change != nil {
		result.Record = change.after()
		if result.Changes, err = change.rehearse(ctx); err != nil {
			err = fmt.Errorf("publish %s: %w", w.Deployment, operatorError(err))
		}
	}
	return result, err
}

// prepare compares the current with the wanted state: it returns the nodes to create, ready last,
// or the change of a live plan.
func (w *Publication) prepare(ctx context.Context, s store.Session) (result Published, nodes []store.NewNode, change *update, err error) {
	d, secret, p, root := w.Deployment, w.Secret, w.Plan, w.rootPrincipal()
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
	digest := protocol.Digest(w.JSON)
	result = Published{
		Outcome: Created,
		// The first number may be any. Agents of earlier versions, which do not know that, accept a larger
		// one than that of an earlier deployment.
		Record: protocol.DeploymentRecord{Format: protocol.RecordFormat, ID: rand.Text(), Counter: max(1, w.Now.UnixMilli()),
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
		var there protocol.DeploymentRecord
		if there, err = openRecord(d, secret, found); err == nil {
			result.Outcome, err = compareRecords(ctx, s, d, there, result.Record, w.Enrol != nil)
			if err == nil && w.Restore && !there.Restored { // its servers would not continue with it
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
	if result.Outcome == Unchanged { // to servers that wait for a newer record it is a change
		keys, err := newKeyring(tokens, result.Record, root)
		if err != nil {
			return result, nil, nil, err
		}
		seen, err := readNewer(ctx, s, keys, p)
		if err != nil {
			return result, nil, nil, operatorError(err)
		}
		if seen.someWait() {
			result.Outcome = Updated
		}
	}
	if result.Outcome == Updated {
		if change, err = newUpdate(ctx, s, w, tokens, digest); err != nil {
			return result, nil, nil, err
		}
		live = change.live
		all := differences(live, p)
		result.Shape = lines(all, func(d difference) bool { return d.shape })
		result.Untold = slices.ContainsFunc(all, func(d difference) bool { return d.untold })
	}
	var missing map[store.Path]bool
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
		nodes = slices.DeleteFunc(nodes, func(n store.NewNode) bool { return !missing[n.Path] && !missing[n.Path.Parent()] })
	}
	return result, nodes, change, nil
}

// checkRecord refuses a deployment whose record others may change: any user may have created what
// is below it.
func checkRecord(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret, root *store.Principal) error {
	keys, err := newKeyring(tokens{secret: secret, deployment: d}, protocol.DeploymentRecord{}, root)
	if err != nil {
		return err
	}
	o := &owner{store: s, keys: keys}
	return o.rights(ctx, keys.node(d.Root(), nil, ofRecord, ""))
}

// compareRecords decides what to do about an existing deployment.
func compareRecords(ctx context.Context, s store.Session, d protocol.Deployment, there, wanted protocol.DeploymentRecord, enrol bool) (Outcome, error) {
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

// OtherEnrolmentError says that a deployment is live with another enrolment than requested.
type OtherEnrolmentError struct{ Live protocol.Enrolment }

func (e *OtherEnrolmentError) Error() string {
	if e.Live == protocol.EnrolOnce {
		return "the deployment is live with tokens that are valid for one enrolment"
	}
	return "the deployment is live with tokens that stay valid"
}

// SharedTokenError says that tokens cannot be valid for one enrolment in a scaling group: all of
// its members have the same token.
type SharedTokenError struct{ Group string }

func (e *SharedTokenError) Error() string {
	return fmt.Sprintf("the members of the group %s, whose names Heat generates, share a token: it cannot be valid for one enrolment", e.Group)
}

// CheckEnrolment returns a *SharedTokenError if tokens are to be valid for one enrolment, and the
// plan has such a group.
func CheckEnrolment(p *contract.Plan, e protocol.Enrolment) error {
	for _, s := range p.Servers {
		if s.Slot != nil && e == protocol.EnrolOnce {
			return &SharedTokenError{Group: s.Slot.Group}
		}
	}
	return nil
}
