package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
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
	Record  DeploymentRecord
	Nodes   int // how many nodes the deployment has
	Bytes   int // how many bytes they hold
	// Changes are the roles that another plan changes, in its order.
	Changes []RoleChange
}

// Publish puts a deployment on the coordinator: plan, files, cells and rights,
// and last the node that agents wait for. Where another plan is live it takes that
// one's place, if it can. It can be called again after it was
// interrupted, and goes on where it stopped. A new deployment's tokens are EnrolAlways
// unless enrol says otherwise. ErrWrongSecret, ErrUnfinished, *OtherEnrolmentError,
// *SharedTokenError; of a changed plan *ChangedPlanError, *NoUpdateHookError, ErrOvertaken.
func Publish(ctx context.Context, s Store, d Deployment, secret Secret, p *plan.Plan, planJSON []byte, files Files, now time.Time, enrol ...Enrolment) (Published, error) {
	result, nodes, change, err := prepare(ctx, s, d, secret, p, planJSON, files, now, enrol)
	if err != nil || result.Outcome == Unchanged {
		return result, err
	}
	if change != nil {
		result.Changes, err = change.run(ctx)
		if err != nil {
			return result, fmt.Errorf("publish %s: %w", d, operatorError(err))
		}
		result.Record = change.after()
		return result, nil
	}
	err = s.Create(ctx, nodes)
	if err == nil {
		err = s.Create(ctx, []NewNode{readyNode(d, secret)})
	}
	switch {
	case errors.Is(err, ErrExists):
		return result, fmt.Errorf("publish %s: %w: %w", d, ErrUnfinished, err)
	case errors.Is(err, ErrRefused):
		return result, fmt.Errorf("publish %s: %w: %w", d, ErrWrongSecret, err)
	case err != nil:
		return result, fmt.Errorf("publish %s: %w", d, err)
	}
	return result, nil
}

// Rehearse says what Publish would do, and refuses what it would refuse, but
// writes nothing.
func Rehearse(ctx context.Context, s Store, d Deployment, secret Secret, p *plan.Plan, planJSON []byte, files Files, now time.Time, enrol ...Enrolment) (Published, error) {
	result, _, change, err := prepare(ctx, s, d, secret, p, planJSON, files, now, enrol)
	if err == nil && change != nil {
		result.Record = change.after()
		if result.Changes, err = change.rehearse(ctx); err != nil {
			err = fmt.Errorf("publish %s: %w", d, operatorError(err))
		}
	}
	return result, err
}

// prepare compares what is there with what shall be: the nodes to make, or the change
// of a live plan.
func prepare(ctx context.Context, s Store, d Deployment, secret Secret, p *plan.Plan, planJSON []byte, files Files, now time.Time, enrol []Enrolment) (Published, []NewNode, *update, error) {
	if p.Format != plan.Format {
		return Published{}, nil, nil, fmt.Errorf("the plan has format %d, this hotc writes format %d", p.Format, plan.Format)
	}
	if err := s.Authenticate(ctx, secret.Operator(d)); err != nil {
		return Published{}, nil, nil, fmt.Errorf("publish %s: %w", d, err)
	}
	sum := sha256.Sum256(planJSON)
	result := Published{
		Outcome: Created,
		Record:  DeploymentRecord{Format: plan.Format, Plan: hex.EncodeToString(sum[:]), Created: now.UTC().Truncate(time.Second)},
	}
	for _, e := range enrol {
		result.Record.Enrol = e
	}
	there, err := readRecord(ctx, s, d)
	switch {
	case errors.Is(err, ErrNotApplied):
	case err != nil:
		return Published{}, nil, nil, fmt.Errorf("publish %s: %w", d, err)
	default:
		if result.Outcome, err = compareRecords(ctx, s, d, there, result.Record, len(enrol) > 0); err != nil {
			return Published{}, nil, nil, fmt.Errorf("publish %s: %w", d, err)
		}
	}
	digest := result.Record.Plan
	if result.Outcome != Created {
		result.Record = there
	}
	if err := CheckEnrolment(p, result.Record.Enrol); err != nil {
		return Published{}, nil, nil, fmt.Errorf("publish %s: %w", d, err)
	}
	var change *update
	if result.Outcome == Updated {
		if change, err = newUpdate(ctx, s, d, secret, p, planJSON, files, now, digest); err != nil {
			return Published{}, nil, nil, fmt.Errorf("publish %s: %w", d, err)
		}
	}
	nodes, err := layout(d, secret, p, planJSON, files, result.Record)
	if err != nil {
		return Published{}, nil, nil, fmt.Errorf("publish %s: %w", d, err)
	}
	result.Nodes = len(nodes) + 1
	for _, n := range nodes {
		result.Bytes += len(n.Data)
	}
	return result, nodes, change, nil
}

// compareRecords says what is to be done about a deployment that is there.
func compareRecords(ctx context.Context, s Store, d Deployment, there, wanted DeploymentRecord, enrol bool) (Outcome, error) {
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

func readyNode(d Deployment, secret Secret) NewNode {
	return NewNode{Path: d.Ready(), Grants: []Grant{{To: secret.Operator(d), May: MayAll}}}
}
