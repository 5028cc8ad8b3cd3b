package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// stackName is what Heat accepts as a stack's name, but for its length: a count in the expression
// would be unrolled, which takes half of a command's start-up time.
var stackName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

const longestStackName = 255

// ParseDeployment checks that a name can be a stack's in Heat. It has no colon,
// on which the tokens' formula relies.
func ParseDeployment(name string) (Deployment, error) {
	if len(name) > longestStackName || !stackName.MatchString(name) {
		return "", fmt.Errorf("%q is not a valid stack name: use a letter, then up to 254 letters, digits, '_', '-' and '.'", name)
	}
	return Deployment(name), nil
}

// OpenDeployment reads the record of a deployment, as its operator has signed it. *FormatError,
// ErrForged.
func OpenDeployment(d Deployment, operator sign.Public, data []byte) (DeploymentRecord, error) {
	what := "the record of the deployment " + string(d)
	var record DeploymentRecord
	if err := json.Unmarshal(sign.Bare(data), &record); err == nil && record.Format != RecordFormat {
		return record, fmt.Errorf("%s: %w", what, &FormatError{Found: record.Format})
	}
	text, counter, err := operator.Open(d.Place("", KindDeployment, "", ""), data)
	if err != nil {
		return record, Forged(what, "its operator", err)
	}
	record, err = Decode[DeploymentRecord](d.Root(), text)
	record.Counter = counter
	return record, err
}

// ParsePlan decodes a whole plan.
func ParsePlan(text []byte) (*contract.Plan, error) {
	var p contract.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if p.Format != contract.Format {
		return nil, fmt.Errorf("it has format %d, this hotc reads format %d: use the hotc that applied it", p.Format, contract.Format)
	}
	return &p, nil
}

// ReadPlan reads the whole plan of a deployment, and the record that names it. explain adds to the
// error what it means that the plan cannot be read.
func ReadPlan(ctx context.Context, s store.Session, d Deployment, explain func(error) error, read func(context.Context) (DeploymentRecord, error)) (*contract.Plan, DeploymentRecord, error) {
	for before := ""; ; {
		record, err := read(ctx)
		if err != nil {
			return nil, record, err
		}
		text, _, err := ReadParts(ctx, s, d.Plan())
		if err != nil {
			return nil, record, explain(err)
		}
		if HasDigest(text, record.Plan) {
			p, err := ParsePlan(text)
			return p, record, err
		}
		if record.Plan == before {
			return nil, record, Forged("the plan of "+string(d), "its operator", errors.New("its sha256 differs"))
		}
		before = record.Plan // it may have been changed between the two reads
	}
}
