package deploytest

import (
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

const GivenPassword = contract.CellName("/operator:db_password")

// WithGiven is a database and an application that read a secret supplied by the operator.
func WithGiven(readers ...contract.ServerPath) *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Secrets: []contract.Secret{{Name: "db_password", Cell: GivenPassword, At: "site.yaml:2:3", Declaration: json.RawMessage(`{}`)}},
	}
	for _, r := range readers {
		p.Servers = append(p.Servers, contract.Server{Path: r, At: "site.yaml:9:3", Roles: []contract.Role{Reader(GivenPassword)}})
	}
	p.Servers = append(p.Servers, contract.Server{Path: "lb", At: "site.yaml:20:3", Roles: []contract.Role{}})
	p.Derive()
	return p
}

func (b Bed) Give(t *testing.T, p *contract.Plan, value string) {
	t.Helper()
	if err := deploy.Give(t.Context(), b.Operator(t), Site, Secret, p, p.Secrets[0], json.RawMessage(value), Noon); err != nil {
		t.Fatal(err)
	}
}
