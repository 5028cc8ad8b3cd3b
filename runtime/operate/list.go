package operate

import (
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Listed is a deployment of a ROOT with its stack (docs/json.md).
type Listed struct {
	Stack string `json:"stack"`
	// State is the stack's in Heat, "none" if the project has none, "" if Heat was not asked.
	State string `json:"state"`
	// Known says that the rest could be read.
	Known   bool      `json:"known"`
	Created time.Time `json:"created,omitzero"`
	Servers int       `json:"servers"`
	Alive   int       `json:"alive"`
	Relays  int       `json:"relays"`
}

// noStack is the state of a missing stack.
const noStack = "none"

// ListedOf combines deployments and the states of stacks; nil: states were not queried.
func ListedOf(all []deploy.Listed, states map[string]string) []Listed {
	return lists.Map(all, func(x deploy.Listed) Listed {
		row := Listed{Stack: string(x.Name), Known: x.Known, Created: x.Record.Created, Servers: x.Servers, Alive: x.Alive, Relays: x.Relays}
		if row.State = states[row.Stack]; row.State == "" && states != nil {
			row.State = noStack
		}
		return row
	})
}

// unused is the age from which a deployment without a stack counts as left over: it may be applied
// before its stack is created.
const unused = time.Hour

// LeftOver are the named deployments that can be removed, or without names those left over.
func LeftOver(all []Listed, names []string, now time.Time) ([]Listed, error) {
	var chosen []Listed
	for _, name := range names {
		at := slices.IndexFunc(all, func(x Listed) bool { return x.Stack == name })
		switch {
		case at < 0:
			return nil, source.Fail(source.NoDeployment, "there is no deployment "+name, "\"hotc list\" shows all deployments")
		case all[at].State != noStack && !strings.HasPrefix(all[at].State, "DELETE_COMPLETE"):
			return nil, source.Fail(source.OperationFailed, "the stack "+name+" exists ("+all[at].State+")", "\"hotc down "+protocol.ShellWord(name)+"\" deletes both")
		case all[at].Alive > 0:
			return nil, source.Fail(source.OperationFailed, "the stack "+name+" is not in this project, but the deployment is active, with "+source.Counted(all[at].Alive, "agent")+": does it belong to another project?", "ask Heat with that project's credentials (--cloud, $OS_CLOUD)")
		}
		chosen = append(chosen, all[at])
	}
	if len(names) > 0 {
		return chosen, nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(x Listed) bool {
		return x.State != noStack || !x.Known || x.Alive > 0 || now.Sub(x.Created) < unused
	}), nil
}
