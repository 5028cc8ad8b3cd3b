package deploy

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
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
	root    store.Rights // the holder of a closed ROOT's key: deletes what is below, and lists it for that
	server  store.Rights // the server's agent, by its identity
	readers store.Rights // the other servers that are named
	token   store.Rights // holders of a named server's token
	relay   store.Rights
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
const mayClear = store.MayRead | store.MayDeleteChildren

var rules = map[class]rule{
	ofOperator:    {},
	ofFolder:      {root: mayClear},
	ofRecord:      {root: mayClear, relay: store.MayRead},
	ofPlan:        {root: mayClear, relay: store.MayRead, parts: true},
	ofFile:        {root: mayClear, readers: store.MayRead, parts: true, later: readersLater},
	ofServer:      {root: mayClear, server: store.MayRead | store.MayWrite, relay: store.MayRead},
	ofIdentity:    {token: store.MayRead}, // before a machine has the server's identity, where the two differ
	ofServerPlan:  {root: mayClear, server: store.MayRead, parts: true},
	ofKeys:        {server: store.MayRead, parts: true}, // they grant access to cells
	ofState:       {server: store.MayRead | store.MayWrite, relay: store.MayRead},
	ofReport:      {server: store.MayRead | store.MayWrite},
	ofRequests:    {server: store.MayRead},
	ofAgent:       {root: mayClear, server: store.MayCreateChildren | store.MayDeleteChildren},
	ofShared:      {server: store.MayRead | store.MayWrite, readers: store.MayRead},
	ofCell:        {server: store.MayRead | store.MayWrite, readers: store.MayRead, later: relayLater},
	ofCrossing:    {server: store.MayRead | store.MayWrite, readers: store.MayRead, relay: store.MayRead, later: relayLater},
	ofServersKeys: {relay: store.MayRead, parts: true},
	ofHeat:        {relay: store.MayRead | store.MayWrite},
	ofRelays:      {root: mayClear, relay: store.MayRead | store.MayCreateChildren | store.MayDeleteChildren},
	ofMembers:     {readers: store.MayRead, relay: store.MayRead | store.MayWrite},
	ofHeatValues:  {server: store.MayRead, relay: store.MayRead | store.MayWrite},
	ofNext:        {server: store.MayRead | store.MayWrite, relay: store.MayRead | store.MayWrite},
	ofGivenSeals:  {server: store.MayRead},
	ofTakenSeals:  {server: store.MayRead | store.MayWrite},
	ofGroup:       {token: store.MayRead | store.MayWrite},
	ofPass:        {token: store.MayHandOver, later: anythingLater},
	ofApproval:    {token: store.MayRead | store.MayWrite},
	ofAdmission:   {token: store.MayRead},
	ofRemoved:     {root: mayClear, token: store.MayRead},
}

// grants are the rights on a node of a class, for some servers: the first owns it ("" for none),
// the others are readers; in classes with token rights, all are those whose tokens count.
func (k *keyring) grants(c class, own contract.ServerPath, others ...contract.ServerPath) []store.Grant {
	r, grants := rules[c], []store.Grant{k.operator}
	if k.root != nil && r.root != 0 {
		grants = append(grants, store.Grant{To: *k.root, May: r.root})
	}
	if r.token != 0 {
		for _, s := range append([]contract.ServerPath{own}, others...) {
			grants = append(grants, store.Grant{To: protocol.ServerCredential(s, k.token(s)).Principal(), May: r.token})
		}
		return grants
	}
	if r.relay != 0 {
		grants = append(grants, store.Grant{To: k.relay.Credential().Principal(), May: r.relay})
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
