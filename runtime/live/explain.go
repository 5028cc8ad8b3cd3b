package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// Explain says why the roles wait that a question is about (operate.Questioned), with their last lines,
// and with what to check or to do.
func (o *Observer) Explain(ctx context.Context, v *View, about string) (*status.Explanation, error) {
	roles, err := operate.Questioned(v.Status, about)
	if err != nil {
		return nil, err
	}
	i := status.Explain(v.Status, roles)
	o.Advise(i)
	within, stop := o.Within(ctx)
	defer stop()
	return i, i.ReadLogs(within, o, o.Deployment)
}

// Advise adds to root causes what may keep an agent away, and what to check or to do.
func (o *Observer) Advise(i *status.Explanation) {
	came := len(lists.Only(i.Status.Servers, (*status.Server).Came))
	stack := protocol.ShellWord(string(o.Deployment))
	for _, f := range i.Findings {
		switch f.Kind {
		case status.KindAbsent:
			if perhaps := i.Status.ByPath[f.Server].Perhaps; perhaps != "" {
				f.Perhaps = append(f.Perhaps, "Heat has not created it if "+perhaps+": no live agent knows")
			}
			if i.Status.Restored {
				f.Perhaps = append(f.Perhaps, "the deployment was restored, and a server that was there before has not rejoined yet: it does so by itself once its agent runs and reaches the coordinator")
			}
			f.Perhaps = append(f.Perhaps,
				"Heat has not created the server yet, or could not: openstack stack resource list "+stack,
				"it is still booting, or its user-data did not run: openstack console log show SERVER",
				"its machine is older than its first role: user-data is for new machines; openstack stack resource mark unhealthy "+stack+" RESOURCE, and the next update replaces it",
				"it cannot reach the coordinator: a route, a firewall, or an address that only works from this machine ("+o.Coordinator+")")
			if came == 0 {
				f.Perhaps = append(f.Perhaps, "its token is refused, because the stack has another hotc_secret or another name than "+string(o.Deployment)+": its console shows that")
			} else {
				f.Perhaps = append(f.Perhaps, fmt.Sprintf("not the secret: %s joined with tokens of the same secret", source.Counted(came, "other server")))
			}
		case status.KindNotGiven:
			f.Message = o.Command("apply", "DIR") + operate.SecretFlags(f.Secret)
		case status.KindRefused:
			f.Message = strings.Join(o.Asking(f.Server, i.Status.ByPath[f.Server].AwaitingApproval), "; ")
		default:
		}
	}
}
