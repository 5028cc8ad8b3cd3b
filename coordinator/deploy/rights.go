package deploy

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// The rights of a deployment's nodes are defined here only (docs/coordination.md, "Paths"): those
// that apply grants, and which of them change later.

// class is a kind of node. Together with the servers concerned it determines all rights.
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
	ofShared                   // public keys, seals: read by others
	ofCell                     // read by others, too
	ofCrossing                 // cells that Heat reads, too
	ofServersKeys              // in parts
	ofHeat                     // what a relay learnt from Heat
	ofRelays                   // relays' presences
	ofMembers                  // what a relay knows about a group's members
	ofHeatValues               // the values that Heat supplies to a server
	ofNext                     // the machine that would become a server next
	ofGivenSeals               // of the operator's secrets
	ofTakenSeals               // the same where tokens are valid for one enrolment: see takeGiven
	ofGroup                    //
	ofPass                     //
	ofApproval                 //
	ofAdmission                //
	ofRemoved                  // the nodes left of a removed server
)

// rule is the rights on a class of nodes, besides those of the operator, who has all rights.
type rule struct {
	root    coordinator.Rights // the holder of a closed ROOT's key: deletes what is below, and lists it for that
	server  coordinator.Rights // the server's agent, by its identity
	readers coordinator.Rights // the other servers that are named
	token   coordinator.Rights // holders of a named server's token
	relay   coordinator.Rights
	// parts says that children are parts of the node's text, with the same rights.
	parts bool
	// later says which other rights may have been granted after apply.
	later grantsLater
}

// grantsLater are rights that are not granted by apply.
type grantsLater uint8

const (
	_ grantsLater = iota // nothing
	// readersLater: a change of the plan lets further servers read a file, and those of the
	// plan before still do.
	readersLater
	// anythingLater: a holder of a token may hand a pass over, and so grant any rights on it. It
	// then admits only the identity to which it was handed over first (HandOver).
	anythingLater
	// relayLater: Heat reads a cell that it did not read when the deployment was applied, or no
	// longer reads it.
	relayLater
)

// mayClear allows listing and deleting children.
const mayClear = coordinator.MayRead | coordinator.MayDeleteChildren

var rules = map[class]rule{
	ofOperator:    {},
	ofFolder:      {root: mayClear},
	ofRecord:      {root: mayClear, relay: coordinator.MayRead},
	ofPlan:        {root: mayClear, relay: coordinator.MayRead, parts: true},
	ofFile:        {root: mayClear, readers: coordinator.MayRead, parts: true, later: readersLater},
	ofServer:      {root: mayClear, server: coordinator.MayRead | coordinator.MayWrite, relay: coordinator.MayRead},
	ofIdentity:    {token: coordinator.MayRead}, // before a machine has the server's identity, where the two differ
	ofServerPlan:  {root: mayClear, server: coordinator.MayRead, parts: true},
	ofKeys:        {server: coordinator.MayRead, parts: true}, // they grant access to cells
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

// grants are the rights on a node of a class, for some servers: the first owns it ("" for none),
// the others are readers; in classes with token rights, all are those whose tokens count.
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
