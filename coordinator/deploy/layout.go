package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// MaxFiles bounds the files of a deployment, in bytes.
const MaxFiles = 16 << 20

// node is a node of a deployment.
type node struct {
	store.NewNode
	class class
	part  bool // of the parent's text
}

// bare are the nodes as a store creates them.
func bare(nodes []node) []store.NewNode {
	return lists.Map(nodes, func(n node) store.NewNode { return n.NewNode })
}

// unwritten is a record that was not written yet.
var unwritten = []byte("{}")

// node is a node of a class, for some servers (see grants).
func (k *keyring) node(path store.Path, data []byte, c class, own contract.ServerPath, others ...contract.ServerPath) node {
	return node{NewNode: store.NewNode{Path: path, Data: data, Grants: k.grants(c, own, others...)}, class: c}
}

// text is a node whose text may be in parts.
func (k *keyring) text(path store.Path, text []byte, c class, own contract.ServerPath, others ...contract.ServerPath) []node {
	var nodes []node
	for i, n := range protocol.InParts(path, text, k.grants(c, own, others...)) {
		nodes = append(nodes, node{NewNode: n, class: c, part: i > 0})
	}
	return nodes
}

// layer builds the nodes of a deployment.
type layer struct {
	*keyring
	plan *contract.Plan
	err  error // the first one
}

// must returns data, and notes an error.
func (l *layer) must(data []byte, err error) []byte {
	if l.err == nil {
		l.err = err
	}
	return data
}

// layout is every node of a deployment but `ready`, parents before children, with the rights that
// follow from the plan (docs/coordination.md, "Paths"). If files is nil, their nodes are empty.
func layout(k *keyring, p *contract.Plan, planJSON []byte, files Files) ([]node, error) {
	l, d := &layer{keyring: k, plan: p}, k.deployment
	nodes := []node{l.node(d.Root(), l.must(k.deploymentRecord(k.record)), ofRecord, "")}
	nodes = append(nodes, l.text(d.Plan(), planJSON, ofPlan, "")...)
	nodes = append(nodes, l.node(d.Files(), nil, ofFolder, ""))
	fileNodes, err := layFiles(k, p, files)
	if err != nil {
		return nil, err
	}
	// A server's reader sets must be known before its own nodes are built.
	cells, sealed, given := l.cells(), l.sealed(), l.supplied()
	nodes = slices.Concat(nodes, fileNodes, l.relays(), l.groups(), []node{l.node(d.Servers(), nil, ofFolder, "")})
	for i := range p.Servers {
		s := &p.Servers[i]
		nodes = append(append(append(nodes, l.server(s)...), sealed[s.Path]...), cells[s.Path]...)
	}
	return append(nodes, given...), l.err
}

// layFiles builds the files' nodes, each readable by the servers whose roles use it.
func layFiles(k *keyring, p *contract.Plan, files Files) ([]node, error) {
	users := usersOf(p)
	var nodes []node
	total := 0
	for _, f := range p.Files {
		content, err := readFile(f, files)
		if err != nil {
			return nil, err
		}
		if total += len(content); total > MaxFiles {
			return nil, fmt.Errorf("the files have more than %d bytes in total: %w", MaxFiles, store.ErrTooLarge)
		}
		nodes = append(nodes, k.text(k.deployment.File(f.Digest), content, ofFile, "", users[f.Digest]...)...)
		delete(users, f.Digest)
	}
	if missing := slices.Sorted(maps.Keys(users)); len(missing) > 0 {
		return nil, fmt.Errorf("the plan does not list the file %s, which a role of %s uses", missing[0], users[missing[0]][0])
	}
	return nodes, nil
}

func readFile(f contract.File, files Files) ([]byte, error) {
	if files == nil {
		return nil, nil
	}
	content, err := files(f.Digest)
	if err != nil {
		return nil, fmt.Errorf("read the file %s of the plan: %w", f.Name, err)
	}
	if !protocol.HasDigest(content, f.Digest) {
		return nil, fmt.Errorf("the file %s has changed since it was compiled: its SHA-256 is not %s", f.Name, f.Digest)
	}
	return content, nil
}

// usersOf are the servers whose roles use a file, by its digest.
func usersOf(p *contract.Plan) map[string][]contract.ServerPath {
	users := map[string][]contract.ServerPath{}
	for s, r := range p.EachRole() {
		for _, digest := range r.AllFiles() {
			users[digest] = append(users[digest], s.Path)
		}
	}
	return users
}

// emptyCell is the record of a cell that was not written yet.
func (l *layer) emptyCell() []byte {
	return l.must(protocol.Encode(protocol.CellRecord{State: protocol.Empty}))
}

// cells builds the cells' nodes, by the server that writes them.
func (l *layer) cells() map[contract.ServerPath][]node {
	cells, crossing, empty := map[contract.ServerPath][]node{}, cellsForHeat(l.plan), l.emptyCell()
	for _, c := range l.plan.Cells {
		class := ofCell
		if crossing[c.Name] {
			class = ofCrossing
		}
		path := l.deployment.Cell(contract.CellRef{Cell: c.Name, Server: c.Server})
		cells[c.Server] = append(cells[c.Server], l.node(path, empty, class, c.Server, c.Readers...))
	}
	return cells
}

// cellsForHeat are those that Heat reads, by way of a relay if there is one, which cannot open
// sealed ones.
func cellsForHeat(p *contract.Plan) map[contract.CellName]bool {
	cells := map[contract.CellName]bool{}
	for _, r := range p.EachRole() {
		for _, o := range r.ForHeat() {
			cells[o.Cell] = true
		}
	}
	for _, c := range p.Cells {
		if c.Sealed {
			delete(cells, c.Name)
		}
	}
	return cells
}

// relays builds the nodes that relays read and write.
func (l *layer) relays() []node {
	d, followers := l.deployment, l.plan.Followers()
	keys, err := serversKeys(l.keyring, l.plan)
	l.must(nil, err)
	nodes := []node{l.node(d.Relay(), nil, ofFolder, "")}
	nodes = append(nodes, l.text(d.ServersKeys(), l.must(l.sign(protocol.KindKeysOf, "", keys)), ofServersKeys, "")...)
	nodes = append(nodes, l.node(d.Heat(), unwritten, ofHeat, ""), l.node(d.HeatNumber(), unwritten, ofHeat, ""), l.node(d.Relays(), nil, ofRelays, ""))
	groups := l.plan.Groups()
	if len(groups) > 0 {
		nodes = append(nodes, l.node(d.MembersOf(), nil, ofFolder, ""))
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		nodes = append(nodes, l.node(d.Members(group), unwritten, ofMembers, "", followers[group]...))
	}
	return nodes
}

func serversKeys(k *keyring, p *contract.Plan) (protocol.ServersKeys, error) {
	keys := protocol.ServersKeys{Keys: map[contract.ServerPath]sign.Public{}}
	for _, s := range p.Servers {
		public, err := k.public(s.Path)
		if err != nil {
			return keys, err
		}
		keys.Keys[s.Path] = public
	}
	return keys, nil
}

// server builds a server's own nodes; its reader sets must be known by now.
func (l *layer) server(s *contract.Server) []node {
	d, path := l.deployment, s.Path
	nodes := []node{
		l.node(d.Server(path), l.must(protocol.Encode(protocol.IncarnationRecord{})), ofServer, path),
		l.node(d.Identity(path), l.must(l.identity(path, time.Time{})), ofIdentity, path),
	}
	nodes = append(nodes, l.text(d.ServerPlan(path), l.must(l.signedPart(s)), ofServerPlan, path)...)
	nodes = append(nodes, l.text(d.Keys(path), l.must(l.keys(path, l.members[path])), ofKeys, path)...)
	nodes = append(nodes,
		l.node(d.State(path), unwritten, ofState, path),
		l.node(d.Requests(path), unwritten, ofRequests, path),
		l.node(d.Answers(path), unwritten, ofReport, path),
		l.node(d.Agent(path), nil, ofAgent, path))
	if protocol.HearsOfHeat(s, l.plan.Signal == contract.RelaySignals) {
		nodes = append(nodes, l.node(d.HeatValues(path), unwritten, ofHeatValues, path))
	}
	if l.plan.Signal == contract.RelaySignals {
		nodes = append(nodes, l.node(d.Next(path), unwritten, ofNext, path))
	}
	if l.record.Enrol == protocol.EnrolOnce { // by which a machine enrols
		pass := protocol.PassRecord{Password: l.secret.MemberCredential(d, l.record, path).Password}
		nodes = append(nodes,
			l.node(d.Pass(path), l.must(protocol.Encode(pass)), ofPass, path),
			l.node(d.ApprovalRequests(path), unwritten, ofApproval, path),
			l.node(d.Admission(path), unwritten, ofAdmission, path))
	}
	for _, r := range s.Roles {
		nodes = append(nodes, l.node(d.Log(path, r.Name), nil, ofReport, path))
	}
	return append(nodes, l.node(d.Cells(path), nil, ofFolder, ""))
}

// sealed builds the nodes for sealed cells, by server: the readers' and writers' public keys, and
// the keys of the boxes for each pair of them.
func (l *layer) sealed() map[contract.ServerPath][]node {
	type servers = map[contract.ServerPath]bool
	writers, readers := map[contract.ServerPath]servers{}, map[contract.ServerPath]servers{}
	add := func(to map[contract.ServerPath]servers, key, s contract.ServerPath) {
		if to[key] == nil {
			to[key] = servers{}
		}
		to[key][s] = true
	}
	for _, c := range l.plan.Cells {
		if !c.Sealed {
			continue
		}
		for _, r := range append([]contract.ServerPath{c.Server}, c.Readers...) {
			add(writers, r, c.Server)
			add(readers, c.Server, r)
		}
	}
	for _, secret := range l.plan.Secrets {
		for _, r := range secret.Readers {
			add(writers, r, r) // the operator may read its key anyway
		}
	}
	nodes, d := map[contract.ServerPath][]node{}, l.deployment
	for _, s := range l.plan.Servers {
		if len(writers[s.Path]) == 0 {
			continue
		}
		own := []node{l.node(d.Public(s.Path), unwritten, ofShared, s.Path, slices.Sorted(maps.Keys(writers[s.Path]))...)}
		if len(readers[s.Path]) > 0 {
			own = append(own, l.node(d.Seals(s.Path), nil, ofFolder, ""))
		}
		for _, r := range slices.Sorted(maps.Keys(readers[s.Path])) {
			own = append(own, l.node(d.SealsFor(s.Path, r), unwritten, ofShared, s.Path, r))
		}
		nodes[s.Path] = own
	}
	return nodes
}

// supplied builds the nodes of the operator's secrets: as those of a server that writes sealed cells.
func (l *layer) supplied() []node {
	if len(l.plan.Secrets) == 0 {
		return nil
	}
	d, seals, empty := l.deployment, ofGivenSeals, l.emptyCell()
	if l.record.Enrol == protocol.EnrolOnce {
		seals = ofTakenSeals
	}
	nodes := []node{l.node(d.Server(contract.Operator), nil, ofFolder, ""), l.node(d.Cells(contract.Operator), nil, ofFolder, "")}
	for _, s := range l.plan.Secrets {
		nodes = append(nodes, l.node(d.Cell(s.Ref()), empty, ofCell, contract.Operator, s.Readers...))
	}
	nodes = append(nodes, l.node(d.Seals(contract.Operator), nil, ofFolder, ""))
	for _, r := range secretReaders(l.plan) {
		nodes = append(nodes, l.node(d.SealsFor(contract.Operator, r), unwritten, seals, r))
	}
	return nodes
}

// groups builds the nodes of scaling groups, which the agents of all members may write.
func (l *layer) groups() []node {
	records := map[string]*protocol.SlotsRecord{}
	shared := map[string][]contract.ServerPath{}
	for _, s := range l.plan.Servers {
		if s.Slot == nil {
			continue
		}
		r := records[s.Slot.Group]
		if r == nil {
			r = &protocol.SlotsRecord{}
			records[s.Slot.Group] = r
		}
		if missing := s.Slot.Number + 1 - len(r.Slots); missing > 0 {
			r.Slots = append(r.Slots, make([]protocol.SlotRecord, missing)...)
		}
		if !slices.Contains(shared[s.Slot.Group], s.Slot.Shared) {
			shared[s.Slot.Group] = append(shared[s.Slot.Group], s.Slot.Shared)
			r.Within = append(r.Within, strings.TrimPrefix(string(s.Slot.Shared), s.Slot.Group+"/"+contract.AnyMember))
		}
	}
	if len(records) == 0 {
		return nil
	}
	nodes := []node{l.node(l.deployment.Groups(), nil, ofFolder, "")}
	for _, group := range slices.Sorted(maps.Keys(records)) {
		data := l.must(protocol.Encode(records[group]))
		nodes = append(nodes, l.node(l.deployment.Group(group), data, ofGroup, shared[group][0], shared[group][1:]...))
	}
	return nodes
}
