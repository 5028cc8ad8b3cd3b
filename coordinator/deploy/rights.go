package deploy

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// The rights of a deployment's nodes are written down here and nowhere else
// (docs/coordination.md, "Paths"): those that apply gives them, and which of them change
// later.

// class is a kind of node. With the servers that it is about it decides everybody's rights.
type class uint8

const (
	ofOperator    class = iota // ready
	ofFolder                   // groups, servers, cells, seals, the operator's own server, relay
	ofRecord                   // the deployment's
	ofPlan                     // the whole plan, in parts
	ofFile                     // in parts
	ofServer                   // the incarnation
	ofIdentity                 //
	ofServerPlan               // in parts
	ofKeys                     // in parts
	ofState                    //
	ofReport                   // answers, logs
	ofRequests                 //
	ofAgent                    //
	ofShared                   // public keys, seals: others read them
	ofCell                     // so they do cells
	ofCrossing                 // cells that Heat reads, too
	ofServersKeys              // in parts
	ofHeat                     // what Heat has said to a relay
	ofRelays                   // relays' presences
	ofMembers                  // what a relay knows of a group's members
	ofHeatValues               // what Heat gives a server
	ofNext                     // the machine that would be a server next
	ofGivenSeals               // of what the operator gives
	ofTakenSeals               // the same where tokens are good for one enrolment: see takeGiven
	ofGroup                    //
	ofPass                     //
	ofApproval                 //
	ofAdmission                //
	ofRemoved                  // in the place of a server that was taken out
)

// rule gives the rights on a class of nodes, besides those of the operator, who may do
// everything.
type rule struct {
	root    coordinator.Rights // who has the key of a closed ROOT: deletes what lies below, and lists it for that
	server  coordinator.Rights // the server's agent, by its identity
	readers coordinator.Rights // the other servers that are named
	token   coordinator.Rights // who has the token of a server that is named
	relay   coordinator.Rights
	// parts says that children are parts of the node's text, with the same rights.
	parts bool
	// later says what may stand there besides, since it was given after apply.
	later grantsLater
}

// grantsLater are rights that others than apply give.
type grantsLater uint8

const (
	_ grantsLater = iota // nothing
	// readersLater: a change of the plan lets further servers read a file, and those of the
	// plan before still do.
	readersLater
	// anythingLater: whoever has a token may hand a pass over, and so give any rights on it. It
	// lets nobody in then but whom it was handed over to first (Store.HandOver).
	anythingLater
	// relayLater: Heat reads a cell that it did not when the deployment was applied, or no more.
	relayLater
)

// mayClear is to list what is below, and to delete it.
const mayClear = coordinator.MayRead | coordinator.MayDeleteChildren

var rules = map[class]rule{
	ofOperator:    {},
	ofFolder:      {root: mayClear},
	ofRecord:      {root: mayClear, relay: coordinator.MayRead},
	ofPlan:        {root: mayClear, relay: coordinator.MayRead, parts: true},
	ofFile:        {root: mayClear, readers: coordinator.MayRead, parts: true, later: readersLater},
	ofServer:      {root: mayClear, server: coordinator.MayRead | coordinator.MayWrite, relay: coordinator.MayRead},
	ofIdentity:    {token: coordinator.MayRead}, // before a machine has the server's identity, where that is another
	ofServerPlan:  {root: mayClear, server: coordinator.MayRead, parts: true},
	ofKeys:        {server: coordinator.MayRead, parts: true}, // they open cells
	ofState:       {server: coordinator.MayRead | coordinator.MayWrite, relay: coordinator.MayRead},
	ofReport:      {server: coordinator.MayRead | coordinator.MayWrite},
	ofRequests:    {server: coordinator.MayRead},
	ofAgent:       {root: mayClear, server: coordinator.MayCreateChildren | coordinator.MayDeleteChildren},
	ofShared:      {server: coordinator.MayRead | coordinator.MayWrite, readers: coordinator.MayRead},
	ofCell:        {server: coordinator.MayRead | coordinator.MayWrite, readers: coordinator.MayRead, later: relayLater},
	ofCrossing:    {server: coordinator.MayRead | coordinator.MayWrite, readers: coordinator.MayRead, relay: coordinator.MayRead, later: relayLater},
	ofServersKeys: {relay: coordinator.MayRead, parts: true},
	ofHeat:        {relay: coordinator.MayRead | coordinator.MayWrite},
	ofRelays:      {root: mayClear, relay: coordinator.MayRead | coordinator.MayCreateChildren | coordinator.MayDeleteChildren},
	ofMembers:     {readers: coordinator.MayRead, relay: coordinator.MayRead | coordinator.MayWrite},
	ofHeatValues:  {server: coordinator.MayRead, relay: coordinator.MayRead | coordinator.MayWrite},
	ofNext:        {server: coordinator.MayRead | coordinator.MayWrite, relay: coordinator.MayRead | coordinator.MayWrite},
	ofGivenSeals:  {server: coordinator.MayRead},
	ofTakenSeals:  {server: coordinator.MayRead | coordinator.MayWrite},
	ofGroup:       {token: coordinator.MayRead | coordinator.MayWrite},
	ofPass:        {token: coordinator.MayHandOver, later: anythingLater},
	ofApproval:    {token: coordinator.MayRead | coordinator.MayWrite},
	ofAdmission:   {token: coordinator.MayRead},
	ofRemoved:     {root: mayClear, token: coordinator.MayRead},
}

// grants are the rights on a node of a class, which is about some servers: the first is
// its own ("" for none), the others are readers; or all are those whose tokens count.
func (k *keyring) grants(c class, own contract.ServerPath, others ...contract.ServerPath) []coordinator.Grant {
	r, grants := rules[c], []coordinator.Grant{k.operator}
	if k.root != nil && r.root != 0 {
		grants = append(grants, coordinator.Grant{To: *k.root, May: r.root})
	}
	if r.token != 0 {
		for _, s := range append([]contract.ServerPath{own}, others...) {
			grants = append(grants, coordinator.Grant{To: coordinator.ServerCredential(s, k.token(s)), May: r.token})
		}
		return grants
	}
	if r.relay != 0 {
		grants = append(grants, coordinator.Grant{To: k.relay.Credential(), May: r.relay})
	}
	if r.server != 0 && own != contract.Operator {
		grants = append(grants, k.server(own, r.server))
	}
	if r.readers != 0 {
		grants = append(grants, k.readers(without(others, own))...)
	}
	return grants
}

func without(servers []contract.ServerPath, own contract.ServerPath) []contract.ServerPath {
	return slices.DeleteFunc(slices.Clone(servers), func(s contract.ServerPath) bool { return s == own })
}
