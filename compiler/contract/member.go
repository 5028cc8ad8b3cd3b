package contract

import "slices"

// Member is a possible member of a group.
type Member struct {
	Group  string     `json:"group"`  // its path
	Number int        `json:"number"` // from 0
	Server ServerPath `json:"server"` // the member's server that writes the cell
}

// members returns the groups' members whose cells roles of the server follow.
func (s *Server) members() []*Member {
	var all []*Member
	for _, r := range s.Roles {
		for i := range r.Follows {
			if m := r.Follows[i].Machine(); m != nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// Followers returns the servers with roles that follow a group's membership, by group.
func (p *Plan) Followers() map[string][]ServerPath {
	followers := map[string][]ServerPath{}
	for i := range p.Servers {
		s := &p.Servers[i]
		for _, m := range s.members() {
			if of := followers[m.Group]; len(of) == 0 || of[len(of)-1] != s.Path {
				followers[m.Group] = append(of, s.Path)
			}
		}
	}
	return followers
}

// Groups returns the servers of the groups whose members relays have to know, by group: of those
// that roles follow, and of those that change without an update of the stack.
func (p *Plan) Groups() map[string][]ServerPath {
	followed := map[string][]ServerPath{}
	for i := range p.Servers {
		if s := &p.Servers[i]; s.Slot != nil {
			followed[s.Slot.Group] = append(followed[s.Slot.Group], s.Path)
		}
		for _, m := range p.Servers[i].members() {
			followed[m.Group] = append(followed[m.Group], m.Server)
		}
	}
	for group, servers := range followed {
		slices.Sort(servers)
		followed[group] = slices.Compact(servers)
	}
	return followed
}
