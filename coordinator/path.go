package coordinator

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Deployment is the name of a deployment: that of its stack.
type Deployment string

// Segment writes any text as one segment of a path: bytes outside of letters,
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

// Depth is how many segments a path has.
func (p Path) Depth() int {
	if p == "" {
		return 0
	}
	return 1 + strings.Count(string(p), "/")
}

// Root is the deployment's own node; it holds a DeploymentRecord.
func (d Deployment) Root() Path { return Path(Segment(string(d))) }

// Ready stands when all else does; it is created last and deleted first.
func (d Deployment) Ready() Path { return d.Root().Join("ready") }

// Plan holds the whole plan, in parts, for the operator.
func (d Deployment) Plan() Path { return d.Root().Join("plan") }

// Files holds the roles' files by digest.
func (d Deployment) Files() Path { return d.Root().Join("files") }

// File holds one file, in parts.
func (d Deployment) File(digest string) Path { return d.Files().Join(digest) }

// Groups holds the groups that scale.
func (d Deployment) Groups() Path { return d.Root().Join("groups") }

// Group holds the SlotsRecord of a group that scales.
func (d Deployment) Group(group string) Path { return d.Groups().Join(Segment(group)) }

// Servers holds the servers.
func (d Deployment) Servers() Path { return d.Root().Join("servers") }

// Server holds a server's IncarnationRecord.
func (d Deployment) Server(s contract.ServerPath) Path { return d.Servers().Join(Segment(string(s))) }

// ServerPlan holds the server's part of the plan, in parts.
func (d Deployment) ServerPlan(s contract.ServerPath) Path { return d.Server(s).Join("plan") }

// Identity holds the IdentityRecord of a server.
func (d Deployment) Identity(s contract.ServerPath) Path { return d.Server(s).Join("identity") }

// Keys holds the KeysRecord of a server: passwords of the readers' sets it is in.
func (d Deployment) Keys(s contract.ServerPath) Path { return d.Server(s).Join("keys") }

// Public holds the PublicRecord of a server that reads or writes sealed cells.
func (d Deployment) Public(s contract.ServerPath) Path { return d.Server(s).Join("public") }

// Seals holds, by reader, the keys of what a server has sealed.
func (d Deployment) Seals(s contract.ServerPath) Path { return d.Server(s).Join("seals") }

// SealsFor holds the SealsRecord for one reader.
func (d Deployment) SealsFor(s, reader contract.ServerPath) Path {
	return d.Seals(s).Join(Segment(string(reader)))
}

// Pass, ApprovalRequests and Admission are there where tokens are good for one enrolment: what the
// first machine takes, what later ones say of themselves, and what lets that one in.
func (d Deployment) Pass(s contract.ServerPath) Path { return d.Server(s).Join("pass") }

// ApprovalRequests holds the record of that name.
func (d Deployment) ApprovalRequests(s contract.ServerPath) Path { return d.Server(s).Join("knock") }

// Admission holds an AdmissionRecord.
func (d Deployment) Admission(s contract.ServerPath) Path { return d.Server(s).Join("admission") }

// State holds the ServerState that the server's agent reports.
func (d Deployment) State(s contract.ServerPath) Path { return d.Server(s).Join("state") }

// Requests holds the RequestsRecord of what the server's agent is asked for.
func (d Deployment) Requests(s contract.ServerPath) Path { return d.Server(s).Join("requests") }

// Answers holds the AnswersRecord of what it answered.
func (d Deployment) Answers(s contract.ServerPath) Path { return d.Server(s).Join("answers") }

// Agent is where the server's agent may create its presence.
func (d Deployment) Agent(s contract.ServerPath) Path { return d.Server(s).Join("agent") }

// Life stands as long as the deployment in which a machine, by its random id, has
// become the server. A deployment that was made anew has nodes of the same names and
// versions, but not this one.
func (d Deployment) Life(s contract.ServerPath, id string) Path {
	return d.Agent(s).Join("life:" + Segment(id))
}

// Presence stands while the server's agent has a session.
func (d Deployment) Presence(s contract.ServerPath) Path { return d.Agent(s).Join("presence") }

// Log holds the end of what a role printed, as it stands (at most LogSize bytes).
func (d Deployment) Log(s contract.ServerPath, role string) Path {
	return d.Server(s).Join("log:" + Segment(role))
}

// Cells holds a server's cells.
func (d Deployment) Cells(s contract.ServerPath) Path { return d.Server(s).Join("cells") }

// Cell holds a CellRecord.
func (d Deployment) Cell(c contract.CellRef) Path {
	return d.Cells(c.Server).Join(Segment(string(c.Cell)))
}
