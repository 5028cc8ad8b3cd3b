package deploy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// MaxFiles is how many bytes of files the coordinator carries for a deployment.
const MaxFiles = 16 << 20

// layout is every node of a deployment but `ready`, parents before children,
// with the rights that follow from the plan (docs/coordination.md, "Paths"). Without the
// files' contents their nodes are empty.
func layout(d coordinator.Deployment, k *keyring, p *contract.Plan, planJSON []byte, files Files) ([]coordinator.NewNode, error) {
	root, err := k.deploymentRecord(k.record)
	if err != nil {
		return nil, err
	}
	nodes := []coordinator.NewNode{{Path: d.Root(), Data: root, Grants: k.grants(ofRecord, "")}}
	nodes = append(nodes, coordinator.InParts(d.Plan(), planJSON, k.grants(ofPlan, ""))...)
	nodes = append(nodes, coordinator.NewNode{Path: d.Files(), Grants: k.grants(ofFolder, "")})
	fileNodes, err := layFiles(d, k, p, files)
	if err != nil {
		return nil, err
	}
	nodes = append(nodes, fileNodes...)
	cells, err := layCells(d, k, p)
	if err != nil {
		return nil, err
	}
	sealed := laySealed(d, k, p)
	given, err := layGiven(d, k, p)
	if err != nil {
		return nil, err
	}
	relay, err := layRelay(d, k, p)
	if err != nil {
		return nil, err
	}
	nodes = append(nodes, relay...)
	groups, err := layGroups(d, k, p)
	if err != nil {
		return nil, err
	}
	nodes = append(nodes, groups...)
	nodes = append(nodes, coordinator.NewNode{Path: d.Servers(), Grants: k.grants(ofFolder, "")})
	for i := range p.Servers {
		serverNodes, err := layServer(d, k, &p.Servers[i])
		if err != nil {
			return nil, err
		}
		nodes = slices.Concat(nodes, serverNodes, sealed[p.Servers[i].Path], cells[p.Servers[i].Path])
	}
	return append(nodes, given...), nil
}

// layFiles makes the files' nodes, each readable by the servers whose roles use it.
func layFiles(d coordinator.Deployment, k *keyring, p *contract.Plan, files Files) ([]coordinator.NewNode, error) {
	users := usersOf(p)
	var nodes []coordinator.NewNode
	total := 0
	for _, f := range p.Files {
		content, err := readFile(f, files)
		if err != nil {
			return nil, err
		}
		if total += len(content); total > MaxFiles {
			return nil, fmt.Errorf("the files have more than %d bytes together: %w", MaxFiles, coordinator.ErrTooLarge)
		}
		nodes = append(nodes, coordinator.InParts(d.File(f.Digest), content, k.grants(ofFile, "", users[f.Digest]...))...)
		delete(users, f.Digest)
	}
	if missing := slices.Sorted(maps.Keys(users)); len(missing) > 0 {
		return nil, fmt.Errorf("the plan lists no file %s, which a role of %s uses", missing[0], users[missing[0]][0])
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
	if !coordinator.HasDigest(content, f.Digest) {
		return nil, fmt.Errorf("the file %s is not what was compiled: its sha256 is not %s", f.Name, f.Digest)
	}
	return content, nil
}

// usersOf are the servers whose roles use a file, by its digest.
func usersOf(p *contract.Plan) map[string][]contract.ServerPath {
	users := map[string][]contract.ServerPath{}
	for _, s := range p.Servers {
		for _, r := range s.Roles {
			for _, digest := range r.AllFiles() {
				users[digest] = append(users[digest], s.Path)
			}
		}
	}
	return users
}

// layCells makes the cells' nodes by the server that writes them.
func layCells(d coordinator.Deployment, k *keyring, p *contract.Plan) (map[contract.ServerPath][]coordinator.NewNode, error) {
	known := map[contract.ServerPath]bool{}
	for _, s := range p.Servers {
		known[s.Path] = true
	}
	empty, err := coordinator.Encode(coordinator.CellRecord{State: coordinator.Empty})
	if err != nil {
		return nil, err
	}
	cells, crossing := map[contract.ServerPath][]coordinator.NewNode{}, crossingCells(p)
	for _, c := range p.Cells {
		for _, s := range append([]contract.ServerPath{c.Server}, c.Readers...) {
			if !known[s] {
				return nil, fmt.Errorf("the plan has no server %s, which the cell %s names", s, c.Name)
			}
		}
		path := d.Cell(contract.CellRef{Cell: c.Name, Server: c.Server})
		cells[c.Server] = append(cells[c.Server], coordinator.NewNode{Path: path, Data: empty, Grants: k.grants(classOf(crossing, c), c.Server, c.Readers...)})
	}
	return cells, nil
}

func classOf(crossing map[contract.CellName]bool, c contract.Cell) class {
	if crossing[c.Name] {
		return ofCrossing
	}
	return ofShared
}

// crossingCells are those that Heat reads, by way of a relay if there is one: what is sealed
// no relay can open.
func crossingCells(p *contract.Plan) map[contract.CellName]bool {
	cells := map[contract.CellName]bool{}
	for _, s := range p.Servers {
		for i := range s.Roles {
			for _, o := range s.Roles[i].ForHeat() {
				cells[o.Cell] = true
			}
		}
	}
	for _, c := range p.Cells {
		if c.Sealed {
			delete(cells, c.Name)
		}
	}
	return cells
}

// layRelay makes the nodes that relays read and write.
func layRelay(d coordinator.Deployment, k *keyring, p *contract.Plan) ([]coordinator.NewNode, error) {
	keys, err := serversKeys(k, p)
	if err != nil {
		return nil, err
	}
	text, err := k.sign(coordinator.KindKeysOf, "", keys)
	if err != nil {
		return nil, err
	}
	nodes := slices.Concat([]coordinator.NewNode{{Path: d.Relay(), Grants: k.grants(ofFolder, "")}}, coordinator.InParts(d.ServersKeys(), text, k.grants(ofServersKeys, "")),
		[]coordinator.NewNode{{Path: d.Heat(), Data: []byte("{}"), Grants: k.grants(ofHeat, "")},
			{Path: d.HeatNumber(), Data: []byte("{}"), Grants: k.grants(ofHeat, "")}, {Path: d.Relays(), Grants: k.grants(ofRelays, "")}})
	followers := p.Followers()
	if len(followers) > 0 {
		nodes = append(nodes, coordinator.NewNode{Path: d.MembersOf(), Grants: k.grants(ofFolder, "")})
	}
	for _, group := range slices.Sorted(maps.Keys(followers)) {
		nodes = append(nodes, coordinator.NewNode{Path: d.Members(group), Data: []byte("{}"), Grants: k.grants(ofMembers, "", followers[group]...)})
	}
	return nodes, nil
}

func serversKeys(k *keyring, p *contract.Plan) (coordinator.ServersKeys, error) {
	keys := coordinator.ServersKeys{Keys: map[contract.ServerPath]sign.Public{}}
	for _, s := range p.Servers {
		public, err := k.public(s.Path)
		if err != nil {
			return keys, err
		}
		keys.Keys[s.Path] = public
	}
	return keys, nil
}

// layServer makes a server's own nodes; its readers' sets must be known by now.
func layServer(d coordinator.Deployment, k *keyring, s *contract.Server) ([]coordinator.NewNode, error) {
	slice, errSlice := k.signedPart(s)
	keys, errKeys := k.keys(s.Path, k.members[s.Path])
	identity, errIdentity := k.identity(s.Path, time.Time{})
	nobody, errNobody := coordinator.Encode(coordinator.IncarnationRecord{})
	if err := errors.Join(errSlice, errKeys, errIdentity, errNobody); err != nil {
		return nil, fmt.Errorf("write down the server %s: %w", s.Path, err)
	}
	nodes := []coordinator.NewNode{{Path: d.Server(s.Path), Data: nobody, Grants: k.grants(ofServer, s.Path)},
		{Path: d.Identity(s.Path), Data: identity, Grants: k.grants(ofIdentity, s.Path)}}
	nodes = append(nodes, coordinator.InParts(d.ServerPlan(s.Path), slice, k.grants(ofServerPlan, s.Path))...)
	nodes = append(nodes, coordinator.InParts(d.Keys(s.Path), keys, k.grants(ofKeys, s.Path))...)
	nodes = append(nodes,
		coordinator.NewNode{Path: d.State(s.Path), Data: []byte("{}"), Grants: k.grants(ofState, s.Path)},
		coordinator.NewNode{Path: d.Requests(s.Path), Data: []byte("{}"), Grants: k.grants(ofRequests, s.Path)},
		coordinator.NewNode{Path: d.Answers(s.Path), Data: []byte("{}"), Grants: k.grants(ofReport, s.Path)},
		coordinator.NewNode{Path: d.Agent(s.Path), Grants: k.grants(ofAgent, s.Path)})
	if coordinator.Carried(s) {
		nodes = append(nodes, coordinator.NewNode{Path: d.HeatValues(s.Path), Data: []byte("{}"), Grants: k.grants(ofHeatValues, s.Path)})
	}
	if k.record.Enrol == coordinator.EnrolOnce {
		once, err := layOnce(d, k, s.Path)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, once...)
	}
	for _, r := range s.Roles {
		nodes = append(nodes, coordinator.NewNode{Path: d.Log(s.Path, r.Name), Grants: k.grants(ofReport, s.Path)})
	}
	return append(nodes, coordinator.NewNode{Path: d.Cells(s.Path), Grants: k.grants(ofFolder, "")}), nil
}

// laySealed makes the nodes of sealed cells by server: the readers' and writers'
// public keys, and the keys of the boxes for each pair of them.
func laySealed(d coordinator.Deployment, k *keyring, p *contract.Plan) map[contract.ServerPath][]coordinator.NewNode {
	type servers = map[contract.ServerPath]bool
	writers, readers := map[contract.ServerPath]servers{}, map[contract.ServerPath]servers{}
	add := func(to map[contract.ServerPath]servers, key, s contract.ServerPath) {
		if to[key] == nil {
			to[key] = servers{}
		}
		to[key][s] = true
	}
	for _, c := range p.Cells {
		if !c.Sealed {
			continue
		}
		for _, r := range append([]contract.ServerPath{c.Server}, c.Readers...) {
			add(writers, r, c.Server)
			add(readers, c.Server, r)
		}
	}
	for _, secret := range p.Secrets {
		for _, r := range secret.Readers {
			add(writers, r, r) // the operator may read its key without being asked for
		}
	}
	nodes := map[contract.ServerPath][]coordinator.NewNode{}
	for _, s := range p.Servers {
		if len(writers[s.Path]) == 0 {
			continue
		}
		nodes[s.Path] = []coordinator.NewNode{{Path: d.Public(s.Path), Data: []byte("{}"),
			Grants: k.grants(ofShared, s.Path, slices.Sorted(maps.Keys(writers[s.Path]))...)}}
		if len(readers[s.Path]) == 0 {
			continue
		}
		nodes[s.Path] = append(nodes[s.Path], coordinator.NewNode{Path: d.Seals(s.Path), Grants: k.grants(ofFolder, "")})
		for _, r := range slices.Sorted(maps.Keys(readers[s.Path])) {
			nodes[s.Path] = append(nodes[s.Path], coordinator.NewNode{Path: d.SealsFor(s.Path, r), Data: []byte("{}"), Grants: k.grants(ofShared, s.Path, r)})
		}
	}
	return nodes
}

// layOnce makes the nodes by which a machine gets in.
func layOnce(d coordinator.Deployment, k *keyring, server contract.ServerPath) ([]coordinator.NewNode, error) {
	pass, err := coordinator.Encode(coordinator.PassRecord{Password: k.secret.MemberCredential(d, k.record, server).Password})
	if err != nil {
		return nil, err
	}
	return []coordinator.NewNode{
		{Path: d.Pass(server), Data: pass, Grants: k.grants(ofPass, server)},
		{Path: d.ApprovalRequests(server), Data: []byte("{}"), Grants: k.grants(ofApproval, server)},
		{Path: d.Admission(server), Data: []byte("{}"), Grants: k.grants(ofAdmission, server)},
	}, nil
}

// layGroups makes the nodes of groups that scale, which the agents of all members may
// write.
func layGroups(d coordinator.Deployment, k *keyring, p *contract.Plan) ([]coordinator.NewNode, error) {
	records := map[string]*coordinator.SlotsRecord{}
	shared := map[string][]contract.ServerPath{}
	for _, s := range p.Servers {
		if s.Slot == nil {
			continue
		}
		r := records[s.Slot.Group]
		if r == nil {
			r = &coordinator.SlotsRecord{}
			records[s.Slot.Group] = r
		}
		if missing := s.Slot.Number + 1 - len(r.Slots); missing > 0 {
			r.Slots = append(r.Slots, make([]coordinator.SlotRecord, missing)...)
		}
		if !slices.Contains(shared[s.Slot.Group], s.Slot.Shared) {
			shared[s.Slot.Group] = append(shared[s.Slot.Group], s.Slot.Shared)
			r.Within = append(r.Within, strings.TrimPrefix(string(s.Slot.Shared), s.Slot.Group+"/"+contract.AnyMember))
		}
	}
	if len(records) == 0 {
		return nil, nil
	}
	nodes := []coordinator.NewNode{{Path: d.Groups(), Grants: k.grants(ofFolder, "")}}
	for _, group := range slices.Sorted(maps.Keys(records)) {
		data, err := coordinator.Encode(records[group])
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, coordinator.NewNode{Path: d.Group(group), Data: data, Grants: k.grants(ofGroup, shared[group][0], shared[group][1:]...)})
	}
	return nodes, nil
}
