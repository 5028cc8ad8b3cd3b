package contract_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Each kind of cell is made and parsed by one file, whatever its server is called.
func TestCellNames(t *testing.T) {
	for _, server := range []contract.ServerPath{"db", "tier/2/db", "my.db", "a.b:c"} {
		role := server.Role("mysql")
		if of, name := role.Split(); of != server || name != "mysql" {
			t.Errorf("%s is split into %s and %s", role, of, name)
		}
		for cell, want := range map[contract.CellName]contract.CellParts{
			role.Output("url"):                      {Kind: contract.OutputCell, Role: role, Name: "url"},
			role.Output("Exec[a.b:c]"):              {Kind: contract.OutputCell, Role: role, Name: "Exec[a.b:c]"},
			role.Completion():                       {Kind: contract.CompletionCell, Role: role},
			server.Fact(contract.FactID):            {Kind: contract.FactCell, Name: "id"},
			server.Fact(contract.AddressFact(0, 1)): {Kind: contract.FactCell, Name: "address.0.1"},
			contract.SecretCell("db:password"):      {Kind: contract.SuppliedCell, Name: "db:password"},
			contract.HeatCell("3f2a90c1d4e5"):       {Kind: contract.HeatsCell, Name: "3f2a90c1d4e5"},
		} {
			if got := cell.Of(server); got != want {
				t.Errorf("%s, which %s writes, is parsed as %+v, want %+v", cell, server, got, want)
			}
			if outside := want.Kind == contract.SuppliedCell || want.Kind == contract.HeatsCell; cell.FromOutside() != outside {
				t.Errorf("%s: from outside is not %v", cell, outside)
			}
		}
	}
}
