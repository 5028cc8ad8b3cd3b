package status

import (
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// The status of a deployment for programs: the result of `hotc status --json` (docs/json.md).
type (
	// Report is that of a deployment.
	Report struct {
		Stack    string         `json:"stack"`
		Ready    bool           `json:"ready"`
		Restored bool           `json:"restored,omitempty"`
		Finished bool           `json:"finished"`
		Failed   bool           `json:"failed"`
		Servers  []ServerReport `json:"servers"`
		// Removed are the servers that were removed from the deployment.
		Removed []deploy.Removed `json:"removed,omitempty"`
		Cycles  [][]string       `json:"cycles"`
		Heat    HeatReport       `json:"heat"`
	}
	// HeatReport is what Heat knows of the deployment, and waits for.
	HeatReport struct {
		Stack
		Signal contract.Signalling `json:"signal"`
		Relays int                 `json:"relays"`
		// Waits are Heat's, as a relay last saw them, Untold why Heat was not signalled yet.
		Waits  []protocol.HeatWait `json:"waits"`
		Untold []Untold            `json:"untold"`
	}
	// ServerReport is that of a server.
	ServerReport struct {
		Path  contract.ServerPath `json:"path"`
		Came  bool                `json:"came"`
		Alive bool                `json:"alive"`
		Lost  bool                `json:"lost"`
		Gone  bool                `json:"gone"`
		Left  bool                `json:"left,omitempty"`
		// Going is the progress of a machine that Heat is about to delete.
		Going       *protocol.GoingState `json:"going,omitempty"`
		Missing     string               `json:"missing,omitempty"`
		Perhaps     string               `json:"perhaps_missing,omitempty"`
		Incarnation int                  `json:"incarnation"`
		Instance    string               `json:"instance,omitempty"`
		Phase       string               `json:"phase,omitempty"`
		Since       time.Time            `json:"since,omitzero"`
		Message     string               `json:"message,omitempty"`
		Unreadable  []string             `json:"unreadable,omitempty"`
		Agent       string               `json:"agent,omitempty"`
		Roles       []RoleReport         `json:"roles"`
		Asks        []AskingReport       `json:"asks"`
	}
	// AskingReport is a machine that asks to become the server.
	AskingReport struct {
		Instance string    `json:"instance"`
		Key      string    `json:"key"`
		Since    time.Time `json:"since"`
	}
	// RoleReport is that of a role.
	RoleReport struct {
		Name           string          `json:"name"`
		Status         string          `json:"status"`
		Started        time.Time       `json:"started,omitzero"`
		Ended          time.Time       `json:"ended,omitzero"`
		ExitCode       *int            `json:"exit_code,omitempty"`
		Blocked        []WaitReport    `json:"blocked"`
		BlockedSeconds float64         `json:"blocked_seconds"`
		Cause          *protocol.Cause `json:"cause,omitempty"`
		// Update is the last run of the update hook, ToUpdate that one is due.
		Update   *protocol.UpdateState `json:"update,omitempty"`
		ToUpdate bool                  `json:"to_update,omitempty"`
		// WaitsFor is the part of a change that a role waits for.
		WaitsFor string `json:"waits_for,omitempty"`
		// Behind is why it is not brought up to date with what it follows: the writer has failed.
		Behind *protocol.Cause `json:"behind,omitempty"`
		// Superseded says that what is running is not the newest.
		Superseded bool `json:"superseded,omitempty"`
		// Unreached names values that have changed since the role ran, and that do not reach it.
		Unreached []string `json:"unreached,omitempty"`
	}
	// WaitReport is a read that waits.
	WaitReport struct {
		Cell     contract.CellName `json:"cell"`
		Input    string            `json:"input,omitempty"`
		At       contract.Position `json:"at,omitempty"`
		Since    time.Time         `json:"since"`
		Producer ProducerReport    `json:"producer"`
	}
	// ProducerReport is the status of a cell's writer.
	ProducerReport struct {
		Server contract.ServerPath `json:"server,omitempty"`
		Role   string              `json:"role,omitempty"`
		Came   bool                `json:"came"`
		Alive  bool                `json:"alive"`
		Status string              `json:"status,omitempty"`
	}
)

// Report reports some of the servers, and the removed ones.
func (v *Status) Report(stack string, of []*Server, removed []deploy.Removed) Report {
	report := Report{Stack: stack, Removed: removed, Ready: v.Ready, Restored: v.Restored, Finished: v.Finished(), Failed: AnyFailed(of), Servers: []ServerReport{}, Cycles: Subjects(v.Cycles)}
	report.Heat = HeatReport{Stack: v.Stack, Signal: v.Plan.Signal, Relays: v.Relays, Waits: append([]protocol.HeatWait{}, v.Heat.Waits...), Untold: append([]Untold{}, v.Untold()...)}
	for _, s := range of {
		server := ServerReport{
			Path: s.Path, Came: s.Came(), Alive: s.Alive, Lost: s.Lost(), Gone: s.Gone(), Left: s.Left, Going: s.State.Going, Missing: s.Missing, Perhaps: s.Perhaps,
			Incarnation: s.Incarnation.Number, Instance: s.Incarnation.Instance,
			Phase: string(s.State.Phase), Since: s.State.Since, Message: s.State.Message, Unreadable: s.Unreadable, Agent: s.State.Agent,
			Roles: lists.Map(s.Roles, v.reportRole),
			Asks:  lists.Map(s.AwaitingApproval, func(k protocol.ApprovalRequest) AskingReport { return AskingReport{k.Instance, k.Key, k.Since} }),
		}
		report.Servers = append(report.Servers, server)
	}
	return report
}

func (v *Status) reportRole(r *Role) RoleReport {
	role := RoleReport{
		Name: r.Name, Status: r.Word(), Started: r.Started, Ended: r.Ended, ExitCode: r.ExitCode,
		Blocked: []WaitReport{}, BlockedSeconds: r.BlockedSeconds, Cause: r.Cause,
		Update: r.Update, Behind: r.Behind(), ToUpdate: r.toUpdate(), Superseded: r.Verdict.State == reconcile.Superseded, Unreached: r.Unreached(),
	}
	if r.waitsForRest() {
		role.WaitsFor = r.Server.heatName(r.Verdict.Waits)
	}
	if !r.IsBlocked() {
		return role
	}
	for _, w := range r.Blocked {
		c := v.Cells[w.Cell]
		producer := ProducerReport{Server: c.Server, Role: c.Role}
		if s := v.ByPath[c.Server]; s != nil {
			producer.Came, producer.Alive = s.Came(), s.Alive
		}
		if p := v.Role(c.Server, c.Role); p != nil {
			producer.Status = p.Word()
		}
		role.Blocked = append(role.Blocked, WaitReport{Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since, Producer: producer})
	}
	slices.SortStableFunc(role.Blocked, func(a, b WaitReport) int { return a.Since.Compare(b.Since) })
	return role
}

// WhyReport is an explanation for programs: the result of `hotc why --json` (docs/json.md).
type WhyReport struct {
	Stack    string      `json:"stack"`
	About    string      `json:"about"`
	Findings []*Finding  `json:"findings"`
	Roots    []RootCause `json:"roots"`
	Cycles   [][]string  `json:"cycles"`
	// Unreadable are records of servers that cannot be read.
	Unreadable []string `json:"unreadable,omitempty"`
	// Untold is why Heat was not signalled yet.
	Untold []Untold `json:"untold,omitempty"`
	// Heat is what Heat says of the stack.
	Heat Stack `json:"heat"`
}

// Report is the explanation as a report; about is the subject asked about, "" is all.
func (i *Explanation) Report(stack, about string) WhyReport {
	report := WhyReport{Stack: stack, About: about, Findings: i.Findings, Roots: i.Roots(), Cycles: Subjects(i.Cycles), Untold: i.Status.Untold(), Heat: i.Status.Stack,
		Unreadable: lists.Flat(i.Status.Servers, func(s *Server) []string { return s.Unreadable })}
	if report.Findings == nil {
		report.Findings = []*Finding{}
	}
	return report
}
