package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// pseudoTerminal opens a terminal of so many columns: what is written to out can be read from in.
func pseudoTerminal(t *testing.T) (in, out *os.File, resize func(columns int)) {
	t.Helper()
	in, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { in.Close() })
	fd := int(in.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if out, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return in, out, func(columns int) {
		if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
	}
}

// screen is what a terminal shows of what was written to it, unwrapped.
func screen(written string) []string {
	lines := []string{""}
	for _, part := range regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]|\r?\n|[^\x1b\r\n]+|.").FindAllString(written, -1) {
		last := &lines[len(lines)-1]
		switch {
		case strings.HasSuffix(part, "\n"):
			lines = append(lines, "")
		case part == "\x1b[2K":
			*last = ""
		case part == "\x1b[G", strings.HasPrefix(part, "\x1b[") && strings.HasSuffix(part, "m"):
		default:
			*last += part
		}
	}
	return lines
}

// The live view of hotc up leaves nothing behind of its last line, whatever the terminal is and
// however long names are; a last line never wraps, also after the terminal has become narrower.
// NO_COLOR takes the colours away and nothing else; where the cursor cannot be moved there is no
// last line.
func TestLiveView(t *testing.T) {
	long := contract.ServerPath("tier-of-many-names/" + strings.Repeat("inner/", 12) + "0/database")
	for name, c := range map[string]struct {
		columns, then int
		environment   [2]string
		live, colours bool
	}{
		"40 columns":         {40, 40, [2]string{"TERM", "xterm"}, true, true},
		"60 columns":         {60, 60, [2]string{"TERM", "xterm"}, true, true},
		"narrower meanwhile": {100, 30, [2]string{"TERM", "xterm"}, true, true},
		"hardly any room":    {5, 3, [2]string{"TERM", "xterm"}, true, true},
		"NO_COLOR":           {60, 60, [2]string{"NO_COLOR", "1"}, true, false},
		"TERM=dumb":          {60, 60, [2]string{"TERM", "dumb"}, false, false},
		"a pipe":             {0, 0, [2]string{"TERM", "xterm"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			t.Setenv("TERM", "xterm")
			t.Setenv(c.environment[0], c.environment[1])
			in, out, resize := pseudoTerminal(t)
			if c.columns == 0 {
				var err error
				if in, out, err = os.Pipe(); err != nil {
					t.Fatal(err)
				}
				resize = func(int) {}
			}
			all := make(chan string)
			go func() {
				text, _ := io.ReadAll(in) // a terminal whose other side is closed is an error
				all <- string(text)
			}()
			ink := terminal.NewInk()
			to := terminal.NewWriter(out, ink)
			s := streams{ink: ink, out: stream{File: out, to: to}, err: stream{File: out, to: to}}
			p := &contract.Plan{Servers: []contract.Server{{Path: long, Roles: []contract.Role{{Name: "mysql"}}}, {Path: "web", Roles: []contract.Role{{Name: "serve"}}}}}
			roles := func(state protocol.RoleStatus) *status.Status {
				var servers []deploy.ServerSnapshot
				for _, x := range p.Servers {
					servers = append(servers, deploy.ServerSnapshot{Path: x.Path, Alive: true, Incarnation: protocol.IncarnationRecord{Number: 1},
						State: protocol.ServerState{Roles: []protocol.RoleState{{Name: x.Roles[0].Name, Status: state}}}})
				}
				return status.New(p, &deploy.Snapshot{Ready: true, Servers: servers}, nil)
			}
			resize(c.columns)
			v := newUpView(t.Context(), s, &target{stack: "s"}, p, true)
			v.Say("Heat creates the stack s")
			v.Event(heat.Event{ID: "1", Name: "s", Physical: "id", StackID: "id", StackName: "s", State: "CREATE_IN_PROGRESS"})
			v.Roles(roles(protocol.RolePending))
			v.Roles(roles(protocol.RoleRunning))
			drawn := utf8.RuneCountInString(v.drawn)
			if live := drawn > 0; live != c.live || live && drawn >= c.columns {
				t.Errorf("a last line of %d characters on %d", drawn, c.columns)
			}
			resize(c.then)
			v.Roles(roles(protocol.RoleDone))
			if drawn := utf8.RuneCountInString(v.drawn); c.live && drawn >= c.then {
				t.Errorf("a last line of %d characters on %d", drawn, c.then)
			}
			v.clear()
			fmt.Fprintln(s.out, "the end")
			if err := to.Flush(); err != nil {
				t.Fatal(err)
			}
			out.Close()
			text := <-all
			if colours := regexp.MustCompile("\x1b\\[[0-9;]*m").MatchString(text); colours != c.colours {
				t.Errorf("colours: %v: %q", colours, text)
			}
			if !c.live && strings.Contains(text, "\x1b") {
				t.Errorf("it moves the cursor: %q", text)
			}
			seen := strings.Join(screen(text), "\n")
			seen = regexp.MustCompile(`(?m)^ *[0-9.]+s +`).ReplaceAllString(seen, "") // how long it took
			seen = regexp.MustCompile(` +`).ReplaceAllString(seen, " ")
			want := strings.Join([]string{"hotc Heat creates the stack s", "Heat s CREATE_IN_PROGRESS", "role " + string(long) + ".mysql runs", "role web.serve runs",
				"role " + string(long) + ".mysql done in 0.0s", "role web.serve done in 0.0s", "the end", ""}, "\n")
			if seen != want {
				t.Errorf("the screen shows\n%s\nwant\n%s", seen, want)
			}
		})
	}
}
