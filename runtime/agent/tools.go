package agent

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/install"
)

// wanted is a tool as required by a role.
type wanted struct {
	name string
	as   contract.Install
}

// ensure finds a tool, and installs it if needed, once per server. Meanwhile the server's phase is
// "installing".
func (a *agent) ensure(ctx context.Context, tool driver.Tool, want contract.Install, log *os.File) (string, error) {
	if program, known := a.tools[wanted{tool.Name, want}]; known {
		return program, nil
	}
	i := install.Installer{
		Forbidden: a.InstallNothing, Folder: filepath.Join(a.State, "tools"), Environment: a.host().ToolEnvironment(), Log: log,
		Begin: func(ctx context.Context, tool string) (func(), error) {
			a.console.say("installing %s", tool)
			before := ""
			err := a.board.commit(ctx, nil, func(s *protocol.ServerState) {
				before, s.Phase, s.Message = s.Message, protocol.PhaseInstalling, tool
			})
			// If the report of the end is lost, the role's own report follows.
			return func() {
				a.board.show(func(s *protocol.ServerState) { s.Phase, s.Message = protocol.PhaseRunning, before })
			}, err
		},
	}
	program, err := i.Ensure(ctx, tool, want)
	if err == nil {
		a.tools[wanted{tool.Name, want}] = program
	}
	return program, err
}
