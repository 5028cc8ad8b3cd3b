// Package protocol is what both sides of a deployment's coordination share, on top of a store:
// paths, records, tokens and signatures. The operators' side is in coordinator/deploy, that of
// servers' agents in coordinator/member. Paths, records and rights are described in
// docs/coordination.md.
package protocol

import (
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Deployment is the name of a deployment: that of its stack.
type Deployment string

// The nodes of a deployment, with what each holds. Their rights: docs/coordination.md, "Paths".

func (d Deployment) Root() store.Path              { return store.Path(store.Segment(string(d))) } // DeploymentRecord
func (d Deployment) Ready() store.Path             { return d.Root().Join("ready") }               // created last, after all others, and deleted first
func (d Deployment) Lock() store.Path              { return d.Root().Join("lock") }                // deploy.Holder: who changes the deployment and its stack
func (d Deployment) Plan() store.Path              { return d.Root().Join("plan") }                // the whole plan, in parts, for the operator
func (d Deployment) Files() store.Path             { return d.Root().Join("files") }
func (d Deployment) File(digest string) store.Path { return d.Files().Join(digest) }                // in parts
func (d Deployment) Groups() store.Path            { return d.Root().Join("groups") }               // those that scale
func (d Deployment) Group(group string) store.Path { return d.Groups().Join(store.Segment(group)) } // SlotsRecord
func (d Deployment) Servers() store.Path           { return d.Root().Join("servers") }

// LockHolder exists while the command with an id, which holds the lock or wants it, has a session.
func (d Deployment) LockHolder(id string) store.Path {
	return d.Root().Join("lock:" + store.Segment(id))
}

// What relays read and write.

func (d Deployment) Relay() store.Path               { return d.Root().Join("relay") }
func (d Deployment) ServersKeys() store.Path         { return d.Relay().Join("keys") }   // ServersKeys, in parts
func (d Deployment) Heat() store.Path                { return d.Relay().Join("heat") }   // HeatRecord, signed by a relay
func (d Deployment) HeatNumber() store.Path          { return d.Relay().Join("values") } // HeatNumber, signed by a relay
func (d Deployment) Relays() store.Path              { return d.Relay().Join("here") }   // relays' presences
func (d Deployment) MembersOf() store.Path           { return d.Relay().Join("members") }
func (d Deployment) Members(group string) store.Path { return d.MembersOf().Join(store.Segment(group)) } // MembersRecord, signed by a relay

// The nodes of a server. Pass, ApprovalRequests and Admission exist where tokens are valid for one
// enrolment: what the first machine takes, the requests of later ones, and what admits one.

func (d Deployment) Server(s contract.ServerPath) store.Path {
	return d.Servers().Join(store.Segment(string(s)))
}                                                                // IncarnationRecord
func (d Deployment) ServerPlan(s contract.ServerPath) store.Path { return d.Server(s).Join("plan") }     // its part of the plan, in parts
func (d Deployment) Identity(s contract.ServerPath) store.Path   { return d.Server(s).Join("identity") } // IdentityRecord
func (d Deployment) Keys(s contract.ServerPath) store.Path       { return d.Server(s).Join("keys") }     // KeysRecord: passwords of the readers' sets it is in
func (d Deployment) Public(s contract.ServerPath) store.Path     { return d.Server(s).Join("public") }   // PublicRecord, if it reads or writes sealed cells
func (d Deployment) Seals(s contract.ServerPath) store.Path      { return d.Server(s).Join("seals") }    // by reader, the keys of the values it has sealed
func (d Deployment) Pass(s contract.ServerPath) store.Path       { return d.Server(s).Join("pass") }     // PassRecord
func (d Deployment) ApprovalRequests(s contract.ServerPath) store.Path {
	return d.Server(s).Join("knock")
}                                                                // ApprovalRequests
func (d Deployment) Admission(s contract.ServerPath) store.Path  { return d.Server(s).Join("admission") } // AdmissionRecord
func (d Deployment) State(s contract.ServerPath) store.Path      { return d.Server(s).Join("state") }     // ServerState, which its agent reports
func (d Deployment) Requests(s contract.ServerPath) store.Path   { return d.Server(s).Join("requests") }  // RequestsRecord
func (d Deployment) Answers(s contract.ServerPath) store.Path    { return d.Server(s).Join("answers") }   // AnswersRecord
func (d Deployment) HeatValues(s contract.ServerPath) store.Path { return d.Server(s).Join("heat") }      // HeatValues, signed by a relay
func (d Deployment) Next(s contract.ServerPath) store.Path       { return d.Server(s).Join("next") }      // NextRecord, where a relay reports to Heat
func (d Deployment) Agent(s contract.ServerPath) store.Path      { return d.Server(s).Join("agent") }     // where its agent may create its presence
func (d Deployment) Presence(s contract.ServerPath) store.Path   { return d.Agent(s).Join("presence") }   // exists while its agent has a session
func (d Deployment) Cells(s contract.ServerPath) store.Path      { return d.Server(s).Join("cells") }

// SealsFor holds the SealsRecord for one reader.
func (d Deployment) SealsFor(s, reader contract.ServerPath) store.Path {
	return d.Seals(s).Join(store.Segment(string(reader)))
}

// Life exists as long as the deployment in which a machine, by its random id, has become the
// server. A deployment that was destroyed and applied again has nodes of the same names and
// versions, but not this one.
func (d Deployment) Life(s contract.ServerPath, id string) store.Path {
	return d.Agent(s).Join("life:" + store.Segment(id))
}

// Log holds the end of a role's output, unencoded (at most LogSize bytes).
func (d Deployment) Log(s contract.ServerPath, role string) store.Path {
	return d.Server(s).Join("log:" + store.Segment(role))
}

// Cell holds a CellRecord.
func (d Deployment) Cell(c contract.CellRef) store.Path {
	return d.Cells(c.Server).Join(store.Segment(string(c.Cell)))
}
