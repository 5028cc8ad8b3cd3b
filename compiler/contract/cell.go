package contract

import "strings"

// Only this file makes and parses the names of roles and cells.

// RoleKey names a role in a deployment: SERVER.ROLE, split at the last dot.
type RoleKey string

// Role names a role of the server.
func (s ServerPath) Role(name string) RoleKey { return RoleKey(string(s) + "." + name) }

// Split returns the role's server, and its name.
func (k RoleKey) Split() (ServerPath, string) {
	at := strings.LastIndexByte(string(k), '.')
	return ServerPath(k[:max(at, 0)]), string(k[at+1:])
}

// CellName names a cell in a deployment.
type CellName string

// CellKind is the kind of a cell.
type CellKind uint8

// The kinds of cells, and the forms of their names.
const (
	OutputCell     CellKind = iota // a role's output: SERVER.ROLE:OUTPUT
	CompletionCell                 // a role's completion: SERVER.ROLE
	FactCell                       // a fact that a server's agent publishes: SERVER:FACT
	SuppliedCell                   // a parameter that `hotc apply` sets: Operator:PARAMETER
	HeatsCell                      // a value of Server.Deploy that a role follows: HeatSource:KEY
)

// Completion names the cell of the role's completion.
func (k RoleKey) Completion() CellName { return CellName(k) }

// Output names the cell of one of the role's outputs.
func (k RoleKey) Output(name string) CellName { return CellName(string(k) + ":" + name) }

// Fact names the cell of a fact that the server's agent publishes.
func (s ServerPath) Fact(fact Fact) CellName { return CellName(string(s) + ":" + string(fact)) }

// SecretCell names the cell of a parameter that `hotc apply` sets.
func SecretCell(parameter string) CellName { return CellName(string(Operator) + ":" + parameter) }

// HeatCell stands for a value of Server.Deploy that a role follows. The coordinator has no
// such cell: the relay writes all values of a server into one record.
func HeatCell(key string) CellName { return CellName(string(HeatSource) + ":" + key) }

// CellParts are what a cell's name consists of.
type CellParts struct {
	Kind CellKind
	Role RoleKey // of an output or a completion
	Name string  // of the output, fact or parameter; the key of Heat's value
}

// Of parses a cell's name. Only with the server that writes the cell it is unambiguous: a server's
// name may have dots and colons.
func (c CellName) Of(writer ServerPath) CellParts {
	if name, supplied := c.Parameter(); supplied {
		return CellParts{Kind: SuppliedCell, Name: name}
	}
	if key, heats := c.HeatKey(); heats {
		return CellParts{Kind: HeatsCell, Name: key}
	}
	role, name, named := strings.Cut(strings.TrimPrefix(string(c), string(writer)), ":")
	switch {
	case !named:
		return CellParts{Kind: CompletionCell, Role: RoleKey(c)}
	case role == "":
		return CellParts{Kind: FactCell, Name: name}
	}
	return CellParts{OutputCell, RoleKey(string(writer) + role), name}
}

// HeatKey is the key of a value from Heat.
func (c CellName) HeatKey() (key string, is bool) {
	return strings.CutPrefix(string(c), string(HeatSource)+":")
}

// Parameter is the secret parameter in the cell, set by an operator.
func (c CellName) Parameter() (name string, is bool) {
	return strings.CutPrefix(string(c), string(Operator)+":")
}

// FromOutside reports whether the cell's value comes from Heat or an operator, not from a
// server. A role follows it without declaring so.
func (c CellName) FromOutside() bool {
	_, heats := c.HeatKey()
	_, operators := c.Parameter()
	return heats || operators
}
