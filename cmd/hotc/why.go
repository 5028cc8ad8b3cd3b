package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

func newWhyCommand(io streams) *cobra.Command {
	var (
		t      target
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "why [SERVER[.ROLE]]",
		Short: "Say what a role is waiting for, down to the root",
		Long: `Follow the waits of a role, or of a server's roles, to their root: the role that
still runs, the failure, the agent that never came, or the cycle. Without a name:
the roots of everything that has not finished. Ends with status 3 if any of it has failed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			v, err := s.look(ctx)
			if err == nil {
				v, err = s.lookForCycles(ctx, v)
			}
			if err != nil {
				return err
			}
			roles, err := questioned(v, args)
			if err != nil {
				return err
			}
			i := investigate(v, roles)
			if err := s.illustrate(ctx, i); err != nil {
				return err
			}
			switch {
			case asJSON:
				err = printJSON(io.out, whyOf(t.stack, args, i))
			case len(args) == 0:
				_, err = fmt.Fprint(io.out, rootsText(i, time.Now()))
			default:
				_, err = fmt.Fprint(io.out, storyText(i, time.Now()))
			}
			if err == nil && i.failed() {
				err = errFailed
			}
			return err
		}),
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// whyReport is the result of `hotc why --json` (docs/json.md).
type whyReport struct {
	Stack    string      `json:"stack"`
	About    string      `json:"about"`
	Findings []*finding  `json:"findings"`
	Roots    []rootCause `json:"roots"`
	Cycles   [][]string  `json:"cycles"`
	// Unreadable are records of servers that are none.
	Unreadable []string `json:"unreadable,omitempty"`
}

func whyOf(stack string, args []string, i *investigation) whyReport {
	report := whyReport{Stack: stack, Findings: i.order, Roots: i.roots(), Cycles: subjectsOf(i.cycles)}
	for _, s := range i.standing.servers {
		report.Unreadable = append(report.Unreadable, s.Unreadable...)
	}
	if len(args) > 0 {
		report.About = args[0]
	}
	if report.Findings == nil {
		report.Findings = []*finding{}
	}
	return report
}

// questioned are the roles that the question is about: a role, a server's, or all
// that have not finished.
func questioned(v *standing, args []string) ([]*roleStanding, error) {
	if len(args) == 0 {
		var open []*roleStanding
		for _, s := range v.servers {
			open = append(open, openRoles(s)...)
		}
		return open, nil
	}
	if s := v.byPath[plan.ServerPath(args[0])]; s != nil {
		if open := openRoles(s); len(open) > 0 {
			return open, nil
		}
		var all []*roleStanding
		for i := range s.roles {
			all = append(all, &s.roles[i])
		}
		return all, nil
	}
	r, err := findRole(v, args[0])
	if err != nil {
		return nil, err
	}
	return []*roleStanding{r}, nil
}

// openRoles are a server's roles that are not done, or not up to date. A server that nobody has seen
// and that has only facts to give stands for itself, and so does one whose new machine waits to be let in.
func openRoles(s *serverStanding) []*roleStanding {
	var open []*roleStanding
	if s.missing != "" {
		return nil
	}
	for i := range s.roles {
		if s.roles[i].Status != coordinator.RoleDone || s.roles[i].renewal() != upToDate {
			open = append(open, &s.roles[i])
		}
	}
	if len(s.roles) == 0 && (!s.came() || s.lost()) || len(open) == 0 && len(s.Knocks) > 0 && !s.Alive {
		open = append(open, &roleStanding{server: s})
	}
	return open
}

func findRole(v *standing, name string) (*roleStanding, error) {
	server, role, err := serverAndRole(name)
	if err != nil {
		return nil, unknownServer(v, name)
	}
	s := v.byPath[plan.ServerPath(server)]
	if s == nil {
		return nil, unknownServer(v, server)
	}
	if r := v.role(s.Path, role); r != nil {
		return r, nil
	}
	var known []string
	for i := range s.roles {
		known = append(known, s.roles[i].Name)
	}
	return nil, source.Fail(source.UnknownName, "the server "+server+" has no role "+role, "its roles: "+strings.Join(known, ", "))
}

// mostLogs is how many roles' last lines are fetched for one answer.
const mostLogs = 10

// illustrate adds what only the coordinator's nodes tell of the roots: the last
// lines of roles that run, and what may have kept an agent away.
func (s *session) illustrate(ctx context.Context, i *investigation) error {
	within, stop := s.within(ctx)
	defer stop()
	fetched := 0
	for _, f := range i.order {
		switch {
		case f.Kind == findAbsent:
			f.Perhaps = whyAbsent(i.standing, s.target)
			if perhaps := i.standing.byPath[f.Server].perhaps; perhaps != "" {
				f.Perhaps = append([]string{"Heat has not made it, if " + perhaps + ": no agent that is there can tell"}, f.Perhaps...)
			}
		case (f.Kind == findRunning || f.Kind == findFailed) && len(f.LastLines) == 0 && fetched < mostLogs:
			fetched++
			text, err := coordinator.ReadLog(within, s, s.deployment, f.Server, f.Role)
			if err != nil {
				return s.explain(ctx, err)
			}
			f.LastLines = lastLines(string(text))
		}
	}
	return nil
}

// whyAbsent lists what keeps agents away, as far as it can be told from here.
func whyAbsent(v *standing, t *target) []string {
	came := 0
	for _, s := range v.servers {
		if s.came() {
			came++
		}
	}
	stack := shellQuote(t.stack)
	perhaps := []string{
		"Heat has not made the server yet, or could not: openstack stack resource list " + stack,
		"it is still booting, or its user-data did not run: see its console, openstack console log show SERVER",
		"it cannot reach the coordinator: a route, a firewall, or an address that only works from here (" + t.coordinatorName() + ")",
	}
	if came == 0 {
		return append(perhaps, "its token is refused, because the stack has another hotc_secret or another name than "+t.stack+": the agent then says so on its console")
	}
	return append(perhaps, fmt.Sprintf("not the secret: %s came with tokens of the same one", counted(came, "other server")))
}

// shownLines is how many of a role's last lines an answer shows.
const shownLines = 5

func lastLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		if line = strings.TrimRight(line, "\r"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-shownLines):]
}
