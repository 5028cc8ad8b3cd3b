package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// hotc uses only nodes that it owns: a node with a deployment's name may have been created by
// anyone who can create nodes below the root. So apply refuses any whose rights are not those that
// it grants (rules).

// RightsError says that a node has other rights than hotc grants: another user created it, or
// changed its rights.
type RightsError struct {
	Path store.Path
	Why  string // the difference
}

func (e *RightsError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Why) }

// Is makes it an ErrRights.
func (e *RightsError) Is(target error) bool { return target == store.ErrRights }

// owner checks that existing nodes are a deployment's own.
type owner struct {
	store store.Session
	keys  *keyring
	// changing says that a change was interrupted: servers may have fewer rights than required, or
	// read what another plan lets them read. Resuming the change corrects that.
	changing bool
}

// check refuses a deployment, as a plan describes it, if any node has other rights than required:
// *RightsError. It returns the missing nodes.
func (o *owner) check(ctx context.Context, p *contract.Plan) (missing map[store.Path]bool, err error) {
	nodes, err := layout(o.keys, p, nil, nil)
	if err != nil {
		return nil, err
	}
	nodes = append(nodes, o.keys.node(o.keys.deployment.Ready(), nil, ofOperator, ""))
	nodes = slices.DeleteFunc(nodes, func(n node) bool { return n.part })
	missing = map[store.Path]bool{}
	var mu sync.Mutex
	err = store.Each(ctx, len(nodes), func(ctx context.Context, i int) error {
		err := o.node(ctx, nodes[i])
		if errors.Is(err, store.ErrNotFound) {
			mu.Lock()
			missing[nodes[i].Path] = true
			mu.Unlock()
			err = nil
		}
		return err
	})
	return missing, err
}

// node checks one node, and the parts of a text.
func (o *owner) node(ctx context.Context, n node) error {
	if err := o.rights(ctx, n); err != nil || !rules[n.class].parts {
		return err
	}
	parts, err := o.store.Children(ctx, n.Path)
	if err != nil {
		return err
	}
	return store.Each(ctx, len(parts), func(ctx context.Context, i int) error {
		part := n
		part.Path = n.Path.Join(parts[i])
		err := o.rights(ctx, part)
		if errors.Is(err, store.ErrNotFound) {
			return nil // another apply has replaced the text
		}
		return err
	})
}

// rights compares one node's rights with the required ones. ErrNotFound.
func (o *owner) rights(ctx context.Context, n node) error {
	path, grants, later := n.Path, n.Grants, rules[n.class].later
	if later == anythingLater {
		return nil
	}
	there, err := o.store.Rights(ctx, path)
	if errors.Is(err, store.ErrRefused) {
		return &RightsError{Path: path, Why: "this deployment's secret does not grant access to it"}
	}
	if err != nil {
		return err
	}
	there = slices.DeleteFunc(there, func(g store.Grant) bool {
		return g.May == store.MayRead && !slices.Contains(grants, g) && (later == relayLater && g.To == o.keys.relay.Credential().Principal() ||
			(later == readersLater || o.changing) && o.keys.reads(g.To))
	})
	if o.changing {
		grants = slices.DeleteFunc(slices.Clone(grants), func(g store.Grant) bool {
			return g != o.keys.operator && !slices.Contains(there, g)
		})
	}
	if why := otherRights(there, grants); why != "" {
		return &RightsError{Path: path, Why: why}
	}
	return nil
}

// otherRights describes how rights differ from the required ones.
func otherRights(there, wanted []store.Grant) string {
	var more, less []string
	for _, g := range there {
		if !slices.Contains(wanted, g) {
			who := "the user " + g.To.Name
			if g.To == store.Everyone {
				who = "everyone"
			}
			more = append(more, fmt.Sprintf("%s may %s", who, doing(g.May)))
		}
	}
	for _, g := range wanted {
		if !slices.Contains(there, g) {
			less = append(less, fmt.Sprintf("%s may not %s", g.To.Name, doing(g.May)))
		}
	}
	return strings.Join(append(more, less...), ", ")
}

func doing(may store.Rights) string {
	if may == store.MayAll {
		return "do everything"
	}
	return may.String()
}
