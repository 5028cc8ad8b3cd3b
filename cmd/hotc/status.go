package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

func newStatusCommand(io streams) *cobra.Command {
	var (
		t             target
		watch, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "status [SERVER]",
		Short: "Say who runs, and who waits for which value of whom",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := t.open(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			show := func(v *standing, now time.Time) error {
				of, err := selectServers(v, args)
				if err != nil {
					return err
				}
				report := statusOf(t.stack, v, of)
				if asJSON && watch {
					return printJSONLine(io.out, report)
				}
				if asJSON {
					return printJSON(io.out, report)
				}
				_, err = fmt.Fprint(io.out, statusText(io, v, of, t.stack, now))
				return err
			}
			if watch {
				return watchStatus(ctx, io, s, asJSON, show)
			}
			v, err := s.look(ctx)
			if err != nil {
				return err
			}
			return show(v, time.Now())
		},
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&watch, "watch", false, "go on until every server has finished")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the status as JSON, with --watch one line each time")
	return cmd
}

func selectServers(v *standing, args []string) ([]*serverStanding, error) {
	if len(args) == 0 {
		return v.servers, nil
	}
	s := v.byPath[plan.ServerPath(args[0])]
	if s == nil {
		return nil, unknownServer(v, args[0])
	}
	return []*serverStanding{s}, nil
}

func unknownServer(v *standing, name string) error {
	var known []string
	for _, s := range v.servers {
		known = append(known, string(s.Path))
	}
	if len(known) > 12 {
		known = append(known[:12], "…")
	}
	return source.Fail(source.UnknownName, "the deployment has no server "+name, "its servers: "+strings.Join(known, ", "))
}

// pause is the shortest time between two pictures of --watch: changes come in
// swarms.
const pause = 250 * time.Millisecond

// watchStatus shows the status again whenever something changed, and every five
// seconds for the clocks in it.
func watchStatus(ctx context.Context, io streams, s *session, asJSON bool, show func(*standing, time.Time) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	changes, err := s.WatchTree(ctx, s.deployment.Servers())
	if err != nil {
		return s.explain(ctx, err)
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		if io.color() && !asJSON {
			fmt.Fprint(io.out, "\x1b[H\x1b[2J")
		}
		if err := show(v, time.Now()); err != nil || v.finished() {
			return err
		}
		if err := nextChange(ctx, changes, tick.C, io.width() > 0 && !asJSON); err != nil {
			return err
		}
		if v, err = s.lookAgain(ctx, v.plan); err != nil {
			return err
		}
	}
}

// nextChange waits for a change and for the swarm around it to pass.
func nextChange(ctx context.Context, changes <-chan coordinator.Path, tick <-chan time.Time, clocks bool) error {
	if !clocks {
		tick = nil
	}
	select {
	case _, open := <-changes:
		if !open {
			return interrupted()
		}
	case <-tick:
		return nil
	case <-ctx.Done():
		return interrupted()
	}
	quiet := time.NewTimer(pause)
	defer quiet.Stop()
	for {
		select {
		case _, open := <-changes:
			if !open {
				return interrupted()
			}
		case <-quiet.C:
			return nil
		}
	}
}

// statusText is the status for people.
func statusText(io streams, v *standing, of []*serverStanding, stack string, now time.Time) string {
	t := table{width: io.width()}
	if io.color() {
		t.paint = map[int]func(string) string{2: paintStatus}
	}
	t.add("SERVER", "ROLE", "STATUS", "FOR", "")
	for _, s := range of {
		statusRows(&t, v, s, now)
	}
	return summary(v, stack) + "\n" + t.String()
}

func statusRows(t *table, v *standing, s *serverStanding, now time.Time) {
	path := string(s.Path)
	switch {
	case !s.came():
		t.add(path, "-", "never came", "", "")
		return
	case s.lost():
		t.add(path, "-", "lost", "", "its agent has no session with the coordinator")
	case len(s.roles) == 0:
		t.add(path, "-", string(s.State.Phase), ageOf(s.State.Since, now), s.State.Message)
		return
	case s.State.Phase == "" || s.State.Phase == coordinator.PhaseUp || s.State.Phase == coordinator.PhaseWaiting || s.State.Phase == coordinator.PhaseInstalling:
		word := string(s.State.Phase)
		if word == "" {
			word = "up"
		}
		t.add(path, "-", word, ageOf(s.State.Since, now), s.State.Message)
	}
	for i := range s.roles {
		r := &s.roles[i]
		t.add(path, r.Name, r.word(), roleAge(r, now), roleDetail(v, r))
	}
}

// roleAge is how long a role has been what it is.
func roleAge(r *roleStanding, now time.Time) string {
	switch {
	case r.blocked():
		return ageOf(r.Blocked[0].Since, now)
	case !r.Ended.IsZero():
		return age(r.Ended.Sub(r.Started))
	default:
		return ageOf(r.Started, now)
	}
}

// roleDetail says what a role waits for or failed of.
func roleDetail(v *standing, r *roleStanding) string {
	switch {
	case r.blocked():
		var waits []string
		for _, w := range r.Blocked {
			waits = append(waits, fmt.Sprintf("%s (%s)", w.Cell, producerText(v, w.Cell)))
		}
		return "on " + strings.Join(waits, ", ")
	case r.Cause != nil && r.Status == coordinator.RoleFailed:
		text := r.Cause.Reason
		if root := r.Cause.Root(); root != r.Cause && root.Role != "" {
			text += ", because " + string(root.Role) + " failed"
		}
		return text
	default:
		return ""
	}
}

// producerText says how the writer of a cell stands.
func producerText(v *standing, cell plan.CellName) string {
	c, known := v.cells[cell]
	s := v.byPath[c.Server]
	switch {
	case !known || s == nil:
		return "not in the plan"
	case v.cell(cell).State == coordinator.Valued:
		return "has just arrived"
	case !s.came():
		return string(c.Server) + " never came"
	case s.lost():
		return string(c.Server) + " is lost"
	}
	if r := v.role(c.Server, c.Role); r != nil {
		return string(r.key()) + " " + r.word()
	}
	return string(c.Server) + " is alive"
}

// summary is the deployment in one line.
func summary(v *standing, stack string) string {
	words := map[string]int{}
	absent, lost, roles := 0, 0, 0
	for _, s := range v.servers {
		roles += len(s.roles)
		if !s.came() {
			absent++
		}
		if s.lost() {
			lost++
		}
		for i := range s.roles {
			words[s.roles[i].word()]++
		}
	}
	text := fmt.Sprintf("%s: %s, %s", stack, count(len(v.servers), "server"), count(roles, "role"))
	var parts []string
	for _, w := range []string{"done", "running", "blocked", "pending", "failed", "skipped"} {
		if words[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", words[w], w))
		}
	}
	if absent > 0 {
		parts = append(parts, count(absent, "server")+" never came")
	}
	if lost > 0 {
		parts = append(parts, count(lost, "server")+" lost")
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if !v.ready {
		text += " (apply has not come to its end)"
	}
	return text + "\n"
}

func paintStatus(word string) string {
	colors := map[string]string{
		"done": "32", "running": "36", "blocked": "33", "failed": "31", "skipped": "31", "lost": "31", "never came": "33", "STATUS": "1",
	}
	if c := colors[word]; c != "" {
		return "\x1b[" + c + "m" + word + "\x1b[0m"
	}
	return word
}

// The result of `hotc status --json` (docs/json.md).
type (
	statusReport struct {
		Stack    string         `json:"stack"`
		Ready    bool           `json:"ready"`
		Finished bool           `json:"finished"`
		Servers  []serverReport `json:"servers"`
	}
	serverReport struct {
		Path        plan.ServerPath `json:"path"`
		Came        bool            `json:"came"`
		Alive       bool            `json:"alive"`
		Lost        bool            `json:"lost"`
		Incarnation int             `json:"incarnation"`
		Instance    string          `json:"instance,omitempty"`
		Phase       string          `json:"phase,omitempty"`
		Since       time.Time       `json:"since,omitzero"`
		Message     string          `json:"message,omitempty"`
		Agent       string          `json:"agent,omitempty"`
		Roles       []roleReport    `json:"roles"`
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
	}
	waitReport struct {
		Cell     plan.CellName  `json:"cell"`
		Input    string         `json:"input,omitempty"`
		At       plan.Position  `json:"at,omitempty"`
		Since    time.Time      `json:"since"`
		Producer producerReport `json:"producer"`
	}
	producerReport struct {
		Server plan.ServerPath `json:"server,omitempty"`
		Role   string          `json:"role,omitempty"`
		Came   bool            `json:"came"`
		Alive  bool            `json:"alive"`
		Status string          `json:"status,omitempty"`
	}
)

func statusOf(stack string, v *standing, of []*serverStanding) statusReport {
	report := statusReport{Stack: stack, Ready: v.ready, Finished: v.finished(), Servers: []serverReport{}}
	for _, s := range of {
		server := serverReport{
			Path: s.Path, Came: s.came(), Alive: s.Alive, Lost: s.lost(),
			Incarnation: s.Incarnation.Number, Instance: s.Incarnation.Instance,
			Phase: string(s.State.Phase), Since: s.State.Since, Message: s.State.Message, Agent: s.State.Agent,
			Roles: []roleReport{},
		}
		for i := range s.roles {
			server.Roles = append(server.Roles, reportRole(v, &s.roles[i]))
		}
		report.Servers = append(report.Servers, server)
	}
	return report
}

func reportRole(v *standing, r *roleStanding) roleReport {
	role := roleReport{
		Name: r.Name, Status: r.word(), Started: r.Started, Ended: r.Ended, ExitCode: r.ExitCode,
		Blocked: []waitReport{}, BlockedSeconds: r.BlockedSeconds, Cause: r.Cause,
	}
	if !r.blocked() {
		return role
	}
	for _, w := range r.Blocked {
		c := v.cells[w.Cell]
		producer := producerReport{Server: c.Server, Role: c.Role}
		if s := v.byPath[c.Server]; s != nil {
			producer.Came, producer.Alive = s.came(), s.Alive
		}
		if p := v.role(c.Server, c.Role); p != nil {
			producer.Status = p.word()
		}
		role.Blocked = append(role.Blocked, waitReport{Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since, Producer: producer})
	}
	slices.SortStableFunc(role.Blocked, func(a, b waitReport) int { return a.Since.Compare(b.Since) })
	return role
}
