package operate

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// mostNamed is how many names a message lists.
const mostNamed = 12

// FindServer finds a server by its path.
func FindServer(v *status.Status, path string) (*status.Server, error) {
	if s := v.ByPath[contract.ServerPath(path)]; s != nil {
		return s, nil
	}
	known := lists.Map(v.Servers, func(s *status.Server) string { return string(s.Path) })
	return nil, source.Fail(source.UnknownName, "the deployment has no server "+path, "its servers: "+someOf(known))
}

// FindRole finds a role by SERVER.ROLE, split at the last dot.
func FindRole(v *status.Status, name string) (*status.Role, error) {
	server, role := contract.RoleKey(name).Split()
	if server == "" || role == "" {
		server, role = contract.ServerPath(name), "" // no role is named: the server is wrong
	}
	s, err := FindServer(v, string(server))
	if err != nil {
		return nil, err
	}
	if r := v.Role(s.Path, role); r != nil {
		return r, nil
	}
	known := lists.Map(s.Roles, func(r *status.Role) string { return r.Name })
	if role == "" {
		return nil, source.Fail(source.Usage, "which role of the server "+name+"?", "its roles: "+strings.Join(known, ", "))
	}
	return nil, source.Fail(source.UnknownName, "the server "+string(s.Path)+" has no role "+role, "its roles: "+strings.Join(known, ", "))
}

// Questioned are the roles that a question is about: a role, a server's, or without a name all that
// have not finished.
func Questioned(v *status.Status, name string) ([]*status.Role, error) {
	if name == "" {
		return v.Open(), nil
	}
	if s := v.ByPath[contract.ServerPath(name)]; s != nil {
		if open := s.Open(); len(open) > 0 {
			return open, nil
		}
		return s.Roles, nil
	}
	r, err := FindRole(v, name)
	if err != nil {
		return nil, err
	}
	return []*status.Role{r}, nil
}

// nearest begins a hint with the name that was probably meant.
func nearest(name string, names []string) string {
	if near := hot.Nearest(name, names); near != "" {
		return "did you mean " + near + "? "
	}
	return ""
}

func someOf(names []string) string {
	if len(names) > mostNamed {
		names = append(names[:mostNamed:mostNamed], "…")
	}
	return strings.Join(names, ", ")
}
