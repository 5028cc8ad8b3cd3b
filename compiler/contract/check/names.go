package check

import (
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// names checks what the schema cannot: servers, cells and files that are named exist, once.
func names(p *contract.Plan) error {
	c := checker{
		servers: map[contract.ServerPath]bool{},
		cells:   map[contract.CellName]contract.ServerPath{},
		files:   map[string]bool{},
	}
	for i, s := range p.Servers {
		c.must(!c.servers[s.Path], "/servers/%d/path: duplicate %s", i, s.Path)
		c.servers[s.Path] = true
	}
	for i, f := range p.Files {
		c.must(!c.files[f.Digest], "/files/%d/digest: duplicate %s", i, f.Digest)
		c.files[f.Digest] = true
	}
	for i, cell := range p.Cells {
		_, twice := c.cells[cell.Name]
		c.must(!twice, "/cells/%d/name: duplicate %s", i, cell.Name)
		c.must(c.servers[cell.Server], "/cells/%d/server: the plan has no server %s", i, cell.Server)
		c.cells[cell.Name] = cell.Server
	}
	for i, s := range p.Secrets {
		_, twice := c.cells[s.Cell]
		c.must(!twice, "/secrets/%d/cell: duplicate %s", i, s.Cell)
		c.must(s.Cell == contract.SecretCell(s.Name), "/secrets/%d/cell: %s is not the cell of %s", i, s.Cell, s.Name)
		c.must(len(s.Readers) > 0, "/secrets/%d/cell: no role reads %s", i, s.Cell)
		c.cells[s.Cell] = contract.Operator
	}
	for i := range p.Servers {
		c.server(fmt.Sprintf("/servers/%d", i), &p.Servers[i])
	}
	if len(c.wrong) > mostReported {
		c.wrong = append(c.wrong[:mostReported:mostReported], fmt.Errorf("and %d more", len(c.wrong)-mostReported))
	}
	return errors.Join(c.wrong...)
}

type checker struct {
	servers map[contract.ServerPath]bool
	cells   map[contract.CellName]contract.ServerPath // their writers
	files   map[string]bool
	wrong   []error
}

func (c *checker) must(holds bool, format string, args ...any) {
	if !holds {
		c.wrong = append(c.wrong, fmt.Errorf(format, args...))
	}
}

func (c *checker) server(at string, s *contract.Server) {
	roles := map[string]bool{}
	for j, r := range s.Roles {
		at := fmt.Sprintf("%s/roles/%d", at, j)
		c.must(!roles[r.Name], "%s/name: duplicate %s", at, r.Name)
		roles[r.Name] = true
		c.role(at, s, r)
	}
}

func (c *checker) role(at string, s *contract.Server, r contract.Role) {
	for j, digest := range r.Files {
		c.must(c.files[digest], "%s/files/%d: the plan lists no file %s", at, j, digest)
	}
	c.tasks(at+"/actions", r.Actions)
	c.tasks(at+"/hooks", r.Hooks)
	for j, f := range r.Render {
		c.must(c.files[f.Template], "%s/render/%d/template: the plan lists no file %s", at, j, f.Template)
	}
	for j, d := range r.DependsOn {
		c.must(c.cells[d.Cell] != "", "%s/depends_on/%d/cell: the plan has no cell %s", at, j, d.Cell)
	}
	inputs := map[string]bool{}
	for j, in := range r.Inputs {
		c.must(!inputs[in.Name], "%s/inputs/%d/name: duplicate %s", at, j, in.Name)
		inputs[in.Name] = true
		for n, cell := range in.Reads {
			c.must(c.cells[cell] != "", "%s/inputs/%d/reads/%d: the plan has no cell %s", at, j, n, cell)
		}
	}
	outputs := map[string]bool{}
	for j, out := range r.Outputs {
		outputs[out.Name] = true
		c.must(c.cells[out.Cell] == s.Path, "%s/outputs/%d/cell: %s is not a cell of %s", at, j, out.Cell, s.Path)
	}
	for j, signal := range r.Signals {
		for n, name := range signal.Outputs {
			c.must(outputs[name], "%s/signals/%d/outputs/%d: the role has no output %s", at, j, n, name)
		}
	}
}

func (c *checker) tasks(at string, tasks []contract.Task) {
	named := map[string]bool{}
	for i, t := range tasks {
		c.must(!named[t.Name], "%s/%d/name: duplicate %s", at, i, t.Name)
		named[t.Name] = true
		for j, digest := range t.Files {
			c.must(c.files[digest], "%s/%d/files/%d: the plan lists no file %s", at, i, j, digest)
		}
	}
}
