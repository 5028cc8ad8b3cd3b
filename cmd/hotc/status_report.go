package main

import (
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// The result of `hotc status --json` (docs/json.md).
type (
	statusReport struct {
		Stack    string         `json:"stack"`
		Ready    bool           `json:"ready"`
		Restored bool           `json:"restored,omitempty"`
		Finished bool           `json:"finished"`
		Failed   bool           `json:"failed"`
		Servers  []serverReport `json:"servers"`
		// Removed are the servers that were taken out of the deployment.
		Removed []removedReport `json:"removed,omitempty"`
		Cycles  [][]string      `json:"cycles"`
		// Heat is how it stands between the deployment and Heat.
		Heat heatReport `json:"heat"`
	}
	removedReport struct {
		Path  contract.ServerPath `json:"path"`
		Since time.Time           `json:"since"`
	}
	heatReport struct {
		Signal contract.Signalling `json:"signal"`
		Relays int                 `json:"relays"`
		// Waits are Heat's, as a relay saw them last, Untold why Heat does not know yet.
		Waits  []coordinator.HeatWait `json:"waits"`
		Untold []status.Untold        `json:"untold"`
	}
	serverReport struct {
		Path        contract.ServerPath `json:"path"`
		Came        bool                `json:"came"`
		Alive       bool                `json:"alive"`
		Lost        bool                `json:"lost"`
		Gone        bool                `json:"gone"`
		Left        bool                `json:"left,omitempty"`
		Missing     string              `json:"missing,omitempty"`
		Perhaps     string              `json:"perhaps_missing,omitempty"`
		Incarnation int                 `json:"incarnation"`
		Instance    string              `json:"instance,omitempty"`
		Phase       string              `json:"phase,omitempty"`
		Since       time.Time           `json:"since,omitzero"`
		Message     string              `json:"message,omitempty"`
		Unreadable  []string            `json:"unreadable,omitempty"`
		Agent       string              `json:"agent,omitempty"`
		Roles       []roleReport        `json:"roles"`
		Asks        []askingReport      `json:"asks"`
	}
	askingReport struct {
		Instance string    `json:"instance"`
		Key      string    `json:"key"`
		Since    time.Time `json:"since"`
	}
	roleReport struct {
		Name           string             `json:"name"`
		Status         string             `json:"status"`
		Started        time.Time          `json:"started,omitzero"`
		Ended          time.Time          `json:"ended,omitzero"`
		ExitCode       *int               `json:"exit_code,omitempty"`
		Blocked        []waitReport       `json:"blocked"`
		BlockedSeconds float64            `json:"blocked_seconds"`
		Cause          *coordinator.Cause `json:"cause,omitempty"`
		// Update is the last run of the hook update, ToUpdate that one is to come.
		Update   *coordinator.UpdateState `json:"update,omitempty"`
		ToUpdate bool                     `json:"to_update,omitempty"`
		// Superseded says that what runs is not the newest.
		Superseded bool `json:"superseded,omitempty"`
		// Unreached names what Heat gives otherwise than when the role ran, which nothing brings it to.
		Unreached []string `json:"unreached,omitempty"`
	}
	waitReport struct {
		Cell     contract.CellName `json:"cell"`
		Input    string            `json:"input,omitempty"`
		At       contract.Position `json:"at,omitempty"`
		Since    time.Time         `json:"since"`
		Producer producerReport    `json:"producer"`
	}
	producerReport struct {
		Server contract.ServerPath `json:"server,omitempty"`
		Role   string              `json:"role,omitempty"`
		Came   bool                `json:"came"`
		Alive  bool                `json:"alive"`
		Status string              `json:"status,omitempty"`
	}
)

func statusOf(stack string, v *status.Status, of []*status.Server, removed []deploy.Removed) statusReport {
	report := statusReport{Stack: stack, Ready: v.Ready, Restored: v.Restored, Finished: v.Finished(), Failed: status.AnyFailed(of), Servers: []serverReport{}, Cycles: status.Subjects(v.Cycles)}
	report.Heat = heatReport{Signal: v.Plan.Signal, Relays: v.Relays, Waits: append([]coordinator.HeatWait{}, v.Heat.Waits...), Untold: append([]status.Untold{}, v.Untold()...)}
	for _, s := range of {
		server := serverReport{
			Path: s.Path, Came: s.Came(), Alive: s.Alive, Lost: s.Lost(), Gone: s.Gone(), Left: s.Left, Missing: s.Missing, Perhaps: s.Perhaps,
			Incarnation: s.Incarnation.Number, Instance: s.Incarnation.Instance,
			Phase: string(s.State.Phase), Since: s.State.Since, Message: s.State.Message, Unreadable: s.Unreadable, Agent: s.State.Agent,
			Roles: []roleReport{}, Asks: []askingReport{},
		}
		for _, k := range s.AwaitingApproval {
			server.Asks = append(server.Asks, askingReport{Instance: k.Instance, Key: k.Key, Since: k.Since})
		}
		for i := range s.Roles {
			server.Roles = append(server.Roles, reportRole(v, &s.Roles[i]))
		}
		report.Servers = append(report.Servers, server)
	}
	for _, x := range removed {
		report.Removed = append(report.Removed, removedReport(x))
	}
	return report
}

func reportRole(v *status.Status, r *status.Role) roleReport {
	role := roleReport{
		Name: r.Name, Status: r.Word(), Started: r.Started, Ended: r.Ended, ExitCode: r.ExitCode,
		Blocked: []waitReport{}, BlockedSeconds: r.BlockedSeconds, Cause: r.Cause,
		Update: r.Update, ToUpdate: r.Renewal() == status.ToUpdate, Superseded: r.Renewal() == status.Superseded, Unreached: r.Unreached(),
	}
	if !r.IsBlocked() {
		return role
	}
	for _, w := range r.Blocked {
		c := v.Cells[w.Cell]
		producer := producerReport{Server: c.Server, Role: c.Role}
		if s := v.ByPath[c.Server]; s != nil {
			producer.Came, producer.Alive = s.Came(), s.Alive
		}
		if p := v.Role(c.Server, c.Role); p != nil {
			producer.Status = p.Word()
		}
		role.Blocked = append(role.Blocked, waitReport{Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since, Producer: producer})
	}
	slices.SortStableFunc(role.Blocked, func(a, b waitReport) int { return a.Since.Compare(b.Since) })
	return role
}
