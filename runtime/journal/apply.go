package journal

import (
	"strings"

	"github.com/hotc-dev/hotc/coordinator"
)

// apply applies a line to the state.
func (j *Journal) apply(l line) {
	switch {
	case l.Journal != 0:
		j.id = l.ID
	case l.Trying != 0:
		j.trying = l.Trying
	case l.Enrolled != 0:
		j.enrolled = l.Enrolled
	case l.Retry != "":
		old := j.roles[l.Retry]
		j.roles[l.Retry] = Role{RoleState: coordinator.RoleState{Name: l.Retry, Status: coordinator.RolePending, Attempt: old.Attempt + 1, Runs: old.Runs}}
		j.requests[l.Request] = true
	case l.Same != "":
		role := j.Role(l.Same)
		role.Made, role.Followed = l.Made, l.Followed
		j.roles[l.Same] = role
	case l.Task != "":
		j.applyTask(l)
	case l.Role != "":
		j.applyRole(l)
	case l.Signalled != "":
		j.signalled[l.Handle] = l.Signalled
	case l.Marks != nil:
		j.runs = append(j.runs, l.Marks...)
	case l.Remembered != nil:
		j.remembered = j.remembered.With(*l.Remembered)
	}
}

func (j *Journal) applyRole(l line) {
	if l.Status == roleRemoved {
		j.apply(line{Retry: l.Role})
		return
	}
	role := j.Role(l.Role)
	role.Status = l.Status
	if l.Status == coordinator.RoleRunning {
		role = Role{Run: l.Run, RoleState: coordinator.RoleState{Name: l.Role, Status: l.Status, Made: l.Made, Started: l.At, Attempt: role.Attempt, Runs: role.Runs + 1}}
		j.runs = append(j.runs, l.Run)
	} else {
		role.ExitCode, role.Cause, role.Ended, role.ByHand, role.Followed = l.ExitCode, l.Cause, l.At, l.ByHand, l.Followed
	}
	role.Runs = max(role.Runs, l.Runs)
	if l.Request != "" {
		role.Attempt++
		j.requests[l.Request] = true
	}
	if l.Attempt > 0 {
		role.Attempt = l.Attempt
	}
	if l.Made != "" {
		role.Made = l.Made
	}
	j.roles[l.Role] = role
}

func (j *Journal) applyTask(l line) {
	task := j.tasks[l.Request]
	task.Request, task.Name, task.Status, task.Made = l.Request, l.Task, l.Status, l.Made
	if l.Status == coordinator.RoleRunning {
		if name, _, _ := strings.Cut(l.Task, "."); strings.HasPrefix(j.roles[name].Updating.Request, StateRequest) {
			delete(j.tasks, j.roles[name].Updating.Request)
		}
		task = Task{Request: l.Request, Name: l.Task, Made: l.Made, Run: l.Run, UpdateState: coordinator.UpdateState{Status: l.Status, Started: l.At}}
		j.runs = append(j.runs, l.Run)
	} else {
		task.ExitCode, task.Cause, task.Ended = l.ExitCode, l.Cause, l.At
	}
	j.tasks[l.Request] = task
	if name, _, _ := strings.Cut(l.Task, "."); task.Made != "" {
		role := j.Role(name)
		role.Made, role.Update, role.Updating = task.Made, &task.UpdateState, task
		if l.Status == coordinator.RoleRunning {
			role.Runs++
		}
		role.Runs = max(role.Runs, l.Runs)
		if l.Followed != nil {
			role.Followed = l.Followed
		}
		j.roles[name] = role
	}
}
