package zookeeper

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// BenchmarkMemberJoins is the coordinator's part of a join: from the beginning of the write of
// what a new member gives until the server of the role that follows its group has read that. The
// peer is a bare watch of the library on the node of another member, which joins in the next turn.
func BenchmarkMemberJoins(b *testing.B) {
	const deployment = protocol.Deployment("joins")
	server := zktest.Start(b, zktest.AsInstalled)
	url := server.URL("hotc/joins")
	for range b.N {
		const turns = 60 // b.N is one: each turn takes a member of its own
		secret, err := protocol.NewSecret(rand.Reader)
		must(b, err)
		cellOf := func(i int) contract.CellName { return contract.CellName(fmt.Sprintf("web/%d.app:url", i)) }
		reader := contract.Role{Name: "proxy", Driver: "script", Idempotent: true}
		lb := contract.Server{Path: "lb"}
		p := &contract.Plan{Format: contract.Format, Signal: contract.NobodySignals, Outputs: []contract.StackOutput{}}
		for i := range turns {
			web, cell := contract.ServerPath(fmt.Sprint("web/", i)), cellOf(i)
			p.Servers = append(p.Servers, contract.Server{Path: web,
				Roles: []contract.Role{{Name: "app", Driver: "script", Outputs: []contract.Output{{Name: "url", Cell: cell, Type: contract.JSON}}}}})
			p.Cells = append(p.Cells, contract.Cell{Name: cell, Server: web, Role: "app"})
			reader.Inputs = append(reader.Inputs, contract.Input{Name: string(cell), Reads: []contract.CellName{cell}})
			reader.Follows = append(reader.Follows, contract.Follow{Cell: cell, Watch: true, Member: &contract.Member{Group: "web", Number: i, Server: web}})
		}
		lb.Roles = []contract.Role{reader}
		p.Servers = append(p.Servers, lb)
		p.Derive()
		text, err := json.Marshal(p)
		must(b, err)
		op := join(b, b.Context(), url, sessionTimeout, secret.Operator(deployment))
		_, err = deploy.Publish(b.Context(), op, deploy.Publication{Deployment: deployment, Secret: secret, Plan: p, JSON: text, Now: time.Now()})
		must(b, err)
		enter := func(server contract.ServerPath) (*client, *member.Session) {
			token := secret.ServerToken(deployment, server)
			s := join(b, b.Context(), url, sessionTimeout, protocol.ServerCredential(server, token))
			s.Among("servers")
			m := member.Join(s, deployment, server, token)
			_, err := m.Plan(b.Context())
			must(b, err)
			session, err := m.Enrol(b.Context(), "journal", "i-"+string(server), false, time.Now())
			must(b, err)
			return s, session
		}
		store, follower := enter("lb")
		news := make(chan contract.CellName, turns)
		for i := 0; i < turns; i += 2 {
			must(b, follower.Follow(b.Context(), cellOf(i), func() { news <- cellOf(i) }))
		}
		var writers []*member.Session
		for i := range turns {
			_, w := enter(contract.ServerPath(fmt.Sprint("web/", i)))
			writers = append(writers, w)
		}
		conn, err := dialBare(server.Addr())
		must(b, err)
		must(b, conn.AddAuth("digest", auth(protocol.ServerCredential("lb", secret.ServerToken(deployment, "lb")))))
		settle()
		var took [2][]time.Duration
		for i := range turns {
			var event <-chan zk.Event
			node := store.at(deployment.Cell(contract.CellRef{Cell: cellOf(i), Server: p.Servers[i].Path}))
			if i%2 == 1 {
				_, _, event, err = conn.GetW(node)
				must(b, err)
			}
			begin := time.Now()
			written := make(chan error, 1)
			go func() { written <- writers[i].Put(b.Context(), cellOf(i), json.RawMessage(`"here"`), time.Now()) }()
			if i%2 == 1 {
				<-event
				_, _, err = conn.Get(node)
				must(b, err)
			}
			for i%2 == 0 {
				if cell := <-news; cell != cellOf(i) { // a watch tells once of what stands there
					continue
				}
				if r, err := follower.Cell(b.Context(), cellOf(i)); err != nil {
					b.Fatal(err)
				} else if r.State == protocol.Valued {
					break
				}
			}
			took[i%2] = append(took[i%2], time.Since(begin))
			must(b, <-written)
		}
		conn.Close()
		for _, k := range took {
			slices.Sort(k)
		}
		report(b, took)
		must(b, deploy.Destroy(b.Context(), op, deployment))
	}
}
