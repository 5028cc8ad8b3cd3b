package journal

import (
	"strings"

	"github.com/hotc-dev/hotc/coordinator/protocol"
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
		j.roles[l.Retry] = Role{RoleState: protocol.RoleState{Name: l.Retry, Status: protocol.RolePending, Attempt: old.Attempt + 1, Runs: old.Runs}}
		j.requests[l.Request] = true
	case l.Same != "":
		role := j.Role(l.Same)
		role.Made, role.Followed = l.Made, l.Followed
		j.roles[l.Same] = role
	case l.Answered != "":
		j.applyAnswer(l)
	case l.Forgotten != 0:
		j.forgotten = l.Forgotten
	case l.Task != "":
		j.applyTask(l)
	case l.Role != "":
		j.applyRole(l)
	case l.Signalled != "":
		j.signalled[l.Handle] = l.Signalled
	case l.Marks != nil:
		j.ran(l.Marks...)
	case l.Remembered != nil:
		if is, was := l.Remembered.Identity, j.remembered.Identity; is != nil && was != nil && is.ID != was.ID {
			j.numbers, j.forgotten = map[string]int64{}, 0 // they are one deployment's
		}
		j.remembered = j.remembered.With(*l.Remembered)
	}
}

// ran notes marks of runs.
func (j *Journal) ran(marks ...string) {
	j.runs = append(j.runs, marks...)
	j.runs = j.runs[max(0, len(j.runs)-mostMarks):]
}

// plain reports whether a line is of a task that changes nothing of its role.
func plain(l line) bool {
	return l.Task != "" && l.Made == "" && !strings.HasPrefix(l.Request, StateRequest)
}

func (j *Journal) applyRole(l line) {
	if l.Status == roleRemoved {
		j.apply(line{Retry: l.Role})
		return
	}
	role := j.Role(l.Role)
	role.Status = l.Status
	if l.Status == protocol.RoleRunning {
		role = Role{Run: l.Run, RoleState: protocol.RoleState{Name: l.Role, Status: l.Status, Made: l.Made, Started: l.At, Attempt: role.Attempt, Runs: role.Runs + 1}}
		j.ran(l.Run)
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
	if l.Status == protocol.RoleRunning {
		if name, _, _ := strings.Cut(l.Task, "."); strings.HasPrefix(j.roles[name].Updating.Request, StateRequest) {
			delete(j.tasks, j.roles[name].Updating.Request)
		}
		task = Task{Request: l.Request, Name: l.Task, Made: l.Made, Run: l.Run, UpdateState: protocol.UpdateState{Status: l.Status, Started: l.At}}
		j.ran(l.Run)
	} else {
		task.ExitCode, task.Cause, task.Ended = l.ExitCode, l.Cause, l.At
	}
	j.tasks[l.Request] = task
	if l.Status == protocol.RoleDone {
		j.done[l.Task] = l.Request
	}
	if plain(l) && l.Status != protocol.RoleRunning {
		j.end(l.Request)
	}
	if name, _, _ := strings.Cut(l.Task, "."); task.Made != "" {
		role := j.Role(name)
		role.Made, role.Update, role.Updating = task.Made, &task.UpdateState, task
		if l.Status == protocol.RoleRunning {
			role.Runs++
		}
		role.Runs = max(role.Runs, l.Runs)
		if l.Followed != nil {
			role.Followed = l.Followed
		}
		j.roles[name] = role
	}
}

// applyAnswer notes an answer. It is that of a task which has ended, or the request had none.
func (j *Journal) applyAnswer(l line) {
	j.numbers[l.Request] = l.Number
	if _, task := j.tasks[l.Request]; task {
		return
	}
	ended := protocol.UpdateState{Status: l.Answered, Ended: l.At}
	if l.Reason != "" {
		ended.Cause = &protocol.Cause{Reason: l.Reason}
	}
	j.tasks[l.Request] = Task{Request: l.Request, UpdateState: ended}
	j.end(l.Request)
}

// end notes that a request has ended, and forgets the oldest of too many.
func (j *Journal) end(request string) {
	if j.ended = append(j.ended, request); len(j.ended) > mostTasks {
		oldest := j.ended[0]
		j.forgotten = max(j.forgotten, j.numbers[oldest])
		delete(j.tasks, oldest)
		delete(j.numbers, oldest)
		j.ended = j.ended[1:]
	}
}
