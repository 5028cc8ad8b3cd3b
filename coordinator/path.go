package coordinator

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Deployment is the name of a deployment: that of its stack.
type Deployment string

// Segment encodes a string as one segment of a path: bytes outside of letters,
// digits and "-_.:,@=+" are percent-encoded, and so is a leading dot ("." and
// ".." are not segments, and "zookeeper" at the root is ZooKeeper's own).
func Segment(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("-_:,@=+", c) >= 0, c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Join puts a segment below a path.
func (p Path) Join(segment string) Path {
	if p == "" {
		return Path(segment)
	}
	return p + "/" + Path(segment)
}

// Parent is the path of a node's parent.
func (p Path) Parent() Path {
	if i := strings.LastIndexByte(string(p), '/'); i > 0 {
		return p[:i]
	}
	return ""
}

// Depth is the number of segments of a path.
func (p Path) Depth() int {
	if p == "" {
		return 0
	}
	return 1 + strings.Count(string(p), "/")
}

// The nodes of a deployment, with what each holds. Their rights: docs/coordination.md, "Paths".

func (d Deployment) Root() Path              { return Path(Segment(string(d))) } // DeploymentRecord
func (d Deployment) Ready() Path             { return d.Root().Join("ready") }   // created last, after all others, and deleted first
func (d Deployment) Lock() Path              { return d.Root().Join("lock") }    // deploy.Holder: who changes the deployment and its stack
func (d Deployment) Plan() Path              { return d.Root().Join("plan") }    // the whole plan, in parts, for the operator
func (d Deployment) Files() Path             { return d.Root().Join("files") }
func (d Deployment) File(digest string) Path { return d.Files().Join(digest) }          // in parts
func (d Deployment) Groups() Path            { return d.Root().Join("groups") }         // those that scale
func (d Deployment) Group(group string) Path { return d.Groups().Join(Segment(group)) } // SlotsRecord
func (d Deployment) Servers() Path           { return d.Root().Join("servers") }

// LockHolder exists while the command with an id, which holds the lock or wants it, has a session.
func (d Deployment) LockHolder(id string) Path { return d.Root().Join("lock:" + Segment(id)) }

// What relays read and write.

func (d Deployment) Relay() Path               { return d.Root().Join("relay") }
func (d Deployment) ServersKeys() Path         { return d.Relay().Join("keys") }   // ServersKeys, in parts
func (d Deployment) Heat() Path                { return d.Relay().Join("heat") }   // HeatRecord, signed by a relay
func (d Deployment) HeatNumber() Path          { return d.Relay().Join("values") } // HeatNumber, signed by a relay
func (d Deployment) Relays() Path              { return d.Relay().Join("here") }   // relays' presences
func (d Deployment) MembersOf() Path           { return d.Relay().Join("members") }
func (d Deployment) Members(group string) Path { return d.MembersOf().Join(Segment(group)) } // MembersRecord, signed by a relay

// The nodes of a server. Pass, ApprovalRequests and Admission exist where tokens are valid for one
// enrolment: what the first machine takes, the requests of later ones, and what admits one.

func (d Deployment) Server(s contract.ServerPath) Path           { return d.Servers().Join(Segment(string(s))) } // IncarnationRecord
func (d Deployment) ServerPlan(s contract.ServerPath) Path       { return d.Server(s).Join("plan") }             // its part of the plan, in parts
func (d Deployment) Identity(s contract.ServerPath) Path         { return d.Server(s).Join("identity") }         // IdentityRecord
func (d Deployment) Keys(s contract.ServerPath) Path             { return d.Server(s).Join("keys") }             // KeysRecord: passwords of the readers' sets it is in
func (d Deployment) Public(s contract.ServerPath) Path           { return d.Server(s).Join("public") }           // PublicRecord, if it reads or writes sealed cells
func (d Deployment) Seals(s contract.ServerPath) Path            { return d.Server(s).Join("seals") }            // by reader, the keys of the values it has sealed
func (d Deployment) Pass(s contract.ServerPath) Path             { return d.Server(s).Join("pass") }             // PassRecord
func (d Deployment) ApprovalRequests(s contract.ServerPath) Path { return d.Server(s).Join("knock") }            // ApprovalRequests
func (d Deployment) Admission(s contract.ServerPath) Path        { return d.Server(s).Join("admission") }        // AdmissionRecord
func (d Deployment) State(s contract.ServerPath) Path            { return d.Server(s).Join("state") }            // ServerState, which its agent reports
func (d Deployment) Requests(s contract.ServerPath) Path         { return d.Server(s).Join("requests") }         // RequestsRecord
func (d Deployment) Answers(s contract.ServerPath) Path          { return d.Server(s).Join("answers") }          // AnswersRecord
func (d Deployment) HeatValues(s contract.ServerPath) Path       { return d.Server(s).Join("heat") }             // HeatValues, signed by a relay
func (d Deployment) Next(s contract.ServerPath) Path             { return d.Server(s).Join("next") }             // NextRecord, where a relay reports to Heat
func (d Deployment) Agent(s contract.ServerPath) Path            { return d.Server(s).Join("agent") }            // where its agent may create its presence
func (d Deployment) Presence(s contract.ServerPath) Path         { return d.Agent(s).Join("presence") }          // exists while its agent has a session
func (d Deployment) Cells(s contract.ServerPath) Path            { return d.Server(s).Join("cells") }

// SealsFor holds the SealsRecord for one reader.
func (d Deployment) SealsFor(s, reader contract.ServerPath) Path {
	return d.Seals(s).Join(Segment(string(reader)))
}

// Life exists as long as the deployment in which a machine, by its random id, has become the
// server. A deployment that was destroyed and applied again has nodes of the same names and
// versions, but not this one.
func (d Deployment) Life(s contract.ServerPath, id string) Path {
	return d.Agent(s).Join("life:" + Segment(id))
}

// Log holds the end of a role's output, unencoded (at most LogSize bytes).
func (d Deployment) Log(s contract.ServerPath, role string) Path {
	return d.Server(s).Join("log:" + Segment(role))
}

// Cell holds a CellRecord.
func (d Deployment) Cell(c contract.CellRef) Path {
	return d.Cells(c.Server).Join(Segment(string(c.Cell)))
}
