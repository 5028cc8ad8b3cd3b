// Package journal is a server's memory across restarts: its identity, which of its roles
// have begun and ended, and what Heat was told.
//
// It answers one question, whatever happened to the agent: may this role be started? A
// role whose start is recorded is never started again, unless it is idempotent; so the
// record must be on the disk before the process exists, and no line may ever be lost. The
// journal is therefore one file, STATE/journal, of JSON lines, each synced before the call
// that wrote it returns. When it has doubled in size, it is compacted (compact.go). A
// crash or a full disk can tear only the last line, which then was never relied upon: it is cut off
// before the next line is written, and when the file is opened again.
//
//	{"journal":1,"id":"<random>","deployment":"blog","server":"db","instance":"<Nova's id>","at":…}
//	{"enrolled":1,"at":…}                                          the number of the incarnation
//	{"role":"mysql","status":"running","run":"<random>","made":"<definition>","at":…}
//	                                                               before its process starts
//	{"role":"mysql","status":"done","exit_code":0,"at":…}          after all its outputs are published
//	{"role":"mysql","status":"failed","exit_code":3,"cause":{…},"at":…}
//	{"role":"web","status":"done","exit_code":0,"followed":{"db.mysql:password":[1,1]},"at":…}
//	                                                               with its versions of cells
//	{"same":"web","made":"<definition>","followed":{…},"at":…}     a new plan that needs no run
//	{"role":"mysql","status":"removed","at":…}                     no longer in the plan
//	{"signalled":"SUCCESS","at":…}                                 after Heat has taken the signal
//	{"remembered":{"identity":{…},"counters":{"plan":…}},"at":…}   before it is acted upon
//	{"marks":["<random>",…],"at":…}                                 of runs whose lines were removed
//
// and for an operator's requests (docs/coordination.md, "Requests"), each with the
// request's id:
//
//	{"request":"<id>","retry":"mysql","at":…}                      the role may be started again
//	{"request":"<id>","role":"mysql","status":"done","by_hand":true,"at":…}
//	{"request":"<id>","task":"mysql.backup","status":"running","run":"<random>","at":…}
//	{"request":"<id>","task":"mysql.backup","status":"done","exit_code":0,"at":…}
//	{"request":"<id>","task":"mysql.update","status":"running","run":"<random>","made":"<definition>","followed":{…},"at":…}
//	{"request":"<id>","number":17,"answered":"refused","reason":"…","at":…}
//	                                                               what was answered, before it is
//	{"forgotten":17,"at":…}                                        requests up to this number were answered
//
// The last kind is also written when what a role follows has changed (docs/updates.md); then
// the id is of that state, and begins with "state.".
//
// The last line of a role counts. Unknown keys and lines without a known key are skipped,
// so that an older agent can read it. It never contains values of inputs or outputs.
//
// The first line identifies the machine. A journal of another instance, server or
// deployment (in an image of a server that had run) is renamed to STATE/journal.old, and
// a new one begins: a new incarnation. A lock on STATE/lock excludes a second agent.
package journal

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Format is the version of the journal that this code writes and reads.
const Format = 1

// ErrLocked reports that another agent uses the journal.
var ErrLocked = errors.New("another agent is using this state folder")

// Machine identifies the journal's machine.
type Machine struct {
	Deployment string
	Server     contract.ServerPath
	Instance   string
}

// Role is a role's record.
type Role struct {
	protocol.RoleState
	// Run is the random mark of the last run's processes, HOTC_RUN in their environment.
	Run string
	// Updating is the last run of its hook update, shown as Update.
	Updating Task
}

// Followed are versions of cells that a role follows.
type Followed = map[contract.CellName]protocol.Count

// End is how a role or task has ended.
type End struct {
	ExitCode *int            // nil if there was no process
	Cause    *protocol.Cause // nil for success
	Followed Followed        // its versions
}

// Status is done or, with a cause, failed.
func (e End) Status() protocol.RoleStatus {
	if e.Cause != nil {
		return protocol.RoleFailed
	}
	return protocol.RoleDone
}

// Task is the record of a requested action or hook.
type Task struct {
	protocol.UpdateState // pending if nothing is recorded
	Request              string
	Name                 string // of the task: ROLE.TASK
	Run                  string
	Made                 string // of a hook update: the role's new definition
}

// Journal is an open journal. Only Remember, Remembered, Keep and Kept are safe for
// concurrent use.
type Journal struct {
	writing sync.Mutex // guards file, remembered and what follows that

	file        File
	size, limit int  // of the file, in bytes (compact)
	torn        bool // what follows size is of a line that could not be written
	reserved    bool // a role is running: its end has room on the disk
	lock        io.Closer
	now         func() time.Time

	id        string
	trying    int
	enrolled  int
	roles     map[string]Role
	tasks     map[string]Task   // by request
	ended     []string          // requests of ended tasks, the oldest first
	done      map[string]string // by task, the request that did it last
	requests  map[string]bool   // those that changed a role
	numbers   map[string]int64  // of requests that were answered
	forgotten int64             // the largest one of those that are not remembered any more
	runs      []string
	signalled map[string]string // by handle; "" is that of the server's roles as a whole

	remembered member.Remembered

	disk   Disk
	values File        // see Keep; nil until it is used
	kept   member.Kept // what it should contain
	behind bool        // it does not

	valuesSize, valuesLimit int
}

// line is a line of the file.
type line struct {
	Journal    int                 `json:"journal,omitempty"`
	ID         string              `json:"id,omitempty"`
	Deployment string              `json:"deployment,omitempty"`
	Server     contract.ServerPath `json:"server,omitempty"`
	Instance   string              `json:"instance,omitempty"`
	Trying     int                 `json:"trying,omitempty"`
	Enrolled   int                 `json:"enrolled,omitempty"`
	Role       string              `json:"role,omitempty"`
	Status     protocol.RoleStatus `json:"status,omitempty"`
	Run        string              `json:"run,omitempty"`
	ExitCode   *int                `json:"exit_code,omitempty"`
	Cause      *protocol.Cause     `json:"cause,omitempty"`
	Signalled  string              `json:"signalled,omitempty"`
	Request    string              `json:"request,omitempty"`
	Retry      string              `json:"retry,omitempty"`
	Task       string              `json:"task,omitempty"`
	Made       string              `json:"made,omitempty"`
	Same       string              `json:"same,omitempty"` // a role
	Followed   Followed            `json:"followed,omitempty"`
	Runs       int                 `json:"runs,omitempty"` // as found
	Attempt    int                 `json:"attempt,omitempty"`
	ByHand     bool                `json:"by_hand,omitempty"`
	Handle     string              `json:"handle,omitempty"` // of a role's own signal
	Number     int64               `json:"number,omitempty"`
	Answered   protocol.RoleStatus `json:"answered,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	Forgotten  int64               `json:"forgotten,omitempty"`
	Remembered *member.Remembered  `json:"remembered,omitempty"`
	Marks      []string            `json:"marks,omitempty"`
	At         time.Time           `json:"at"`
}

func empty() *Journal {
	return &Journal{roles: map[string]Role{}, tasks: map[string]Task{}, done: map[string]string{}, requests: map[string]bool{}, numbers: map[string]int64{}, signalled: map[string]string{}}
}

// Open opens the journal on a disk, or creates one, for this machine.
func Open(disk Disk, m Machine, random io.Reader, now func() time.Time) (*Journal, error) {
	lock, err := disk.Lock()
	if err != nil {
		return nil, err
	}
	j := empty()
	j.disk, j.lock, j.now = disk, lock, now
	if err := j.load(disk, m, random); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// The names of the journal's files.
const (
	current  = "journal"
	setAside = "journal.old"
)

func (j *Journal) load(disk Disk, m Machine, random io.Reader) error {
	text, err := disk.Read(current)
	if errors.Is(err, fs.ErrNotExist) {
		return j.begin(disk, m, random)
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	lines, whole, err := parse(text)
	if err != nil {
		return fmt.Errorf("%v/%s: %w", disk, current, err)
	}
	if first := lines[0]; first.Deployment != m.Deployment || first.Server != m.Server || first.Instance != m.Instance {
		if err := disk.Rename(current, setAside); err != nil {
			return fmt.Errorf("rename the journal of another machine: %w", err)
		}
		return j.begin(disk, m, random)
	}
	if j.file, err = disk.Append(current); err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	if whole < len(text) {
		if err := j.file.Truncate(int64(whole)); err != nil {
			return fmt.Errorf("cut the torn end off the journal: %w", err)
		}
	}
	j.size = whole
	for _, l := range lines {
		j.apply(l)
	}
	return nil
}

// begin creates a journal of one line, by a rename, so that the first line is never torn.
func (j *Journal) begin(disk Disk, m Machine, random io.Reader) error {
	var id [16]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return fmt.Errorf("read randomness: %w", err)
	}
	first := line{Journal: Format, ID: hex.EncodeToString(id[:]), Deployment: m.Deployment, Server: m.Server, Instance: m.Instance, At: j.now().UTC()}
	text, err := json.Marshal(first)
	if err != nil {
		return fmt.Errorf("begin the journal: %w", err)
	}
	if j.file, err = Rewrite(disk, current, append(text, '\n'), 0); err != nil {
		return fmt.Errorf("begin the journal: %w", err)
	}
	j.size = len(text) + 1
	j.apply(first)
	return nil
}

// append writes a line and applies it once it is on the disk. While a role is running, a line that
// would take the room of its end is refused.
func (j *Journal) append(l line) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	l.At = j.now().UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.cut(); err != nil {
		return err
	}
	starts := l.Role != "" && l.Status == protocol.RoleRunning
	ends := l.Role != "" && !starts
	if starts || j.reserved && !ends {
		if err := reserve(j.file, int64(len(text))+endRoom); err != nil {
			return fmt.Errorf("the journal has no room for a role's end: %w", err)
		}
	}
	n, err := j.file.Write(append(text, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.torn = true
		return fmt.Errorf("write the journal: %w", errors.Join(err, j.cut()))
	}
	j.apply(l)
	j.reserved = starts || j.reserved && !ends
	if j.size += n; full(j.size, &j.limit) {
		return j.compact()
	}
	return nil
}

// cut removes what was written of a line that failed: the next one would be glued to it.
func (j *Journal) cut() error {
	if !j.torn {
		return nil
	}
	if err := j.file.Truncate(int64(j.size)); err != nil {
		return fmt.Errorf("cut the torn end off the journal: %w", err)
	}
	j.torn = false
	return nil
}

// ID is a random text that distinguishes this machine from others of the same name.
func (j *Journal) ID() string { return j.id }

// Incarnation is the number that the machine was enrolled with; 0 if it was not yet.
func (j *Journal) Incarnation() int { return j.enrolled }

// Role returns a role's record; its status is pending if there is none.
func (j *Journal) Role(name string) Role {
	role, noted := j.roles[name]
	if !noted {
		role.RoleState = protocol.RoleState{Name: name, Status: protocol.RolePending}
	}
	if role.Update != nil {
		role.Update = new(*role.Update)
	}
	return role
}

// Task returns the record of a request's action or hook.
func (j *Journal) Task(request string) Task {
	task, noted := j.tasks[request]
	if !noted {
		task.Status = protocol.RolePending
	}
	return task
}

// Did reports whether an action or a hook was done, by any request.
func (j *Journal) Did(task string) bool { return j.done[task] != "" }

// Taken reports whether a request to retry or to skip a role was accepted.
func (j *Journal) Taken(request string) bool { return j.requests[request] }

// Forgotten is the largest number of the requests that were answered and are not remembered.
func (j *Journal) Forgotten() int64 { return j.forgotten }

// Runs returns the marks of runs: the last mostMarks, and of each role's last one and of tasks that
// have not ended.
func (j *Journal) Runs() []string {
	runs := slices.Clone(j.runs)
	for _, role := range j.roles {
		runs = append(runs, role.Run)
	}
	for _, task := range j.tasks {
		if task.Status == protocol.RoleRunning {
			runs = append(runs, task.Run)
		}
	}
	slices.Sort(runs)
	return slices.DeleteFunc(slices.Compact(runs), func(run string) bool { return run == "" })
}

// Signalled is the status last signalled to a handle, or "". The handle of all of the
// server's roles has no name here.
func (j *Journal) Signalled(handle string) string { return j.signalled[handle] }

// Remembered is what the machine has seen of its deployment.
func (j *Journal) Remembered() member.Remembered {
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.remembered
}

// Remember adds to that.
func (j *Journal) Remember(r member.Remembered) error { return j.append(line{Remembered: &r}) }

// Trying is the incarnation number that the machine last tried to get, or 0. An agent that
// was killed meanwhile does not know whether it succeeded.
func (j *Journal) Trying() int { return j.trying }

// NoteTrying records that it is about to try to get a number.
func (j *Journal) NoteTrying(number int) error { return j.append(line{Trying: number}) }

// NoteEnrolled records the number of the incarnation.
func (j *Journal) NoteEnrolled(number int) error { return j.append(line{Enrolled: number}) }

// endRoom is more than the record of a role's end takes, including causes.
const endRoom = 64 << 10

// NoteRunning records that a role is about to start, and its definition. None of its
// processes may exist before this returns. It fails if the disk has no room for the record
// of the role's end as well.
func (j *Journal) NoteRunning(role, run, made string) error {
	return j.append(line{Role: role, Status: protocol.RoleRunning, Run: run, Made: made})
}

// reserve allocates disk space for later records: a role whose end cannot be recorded counts as
// interrupted, even if it succeeded.
func reserve(file File, room int64) error {
	if file, can := file.(interface{ Reserve(room int64) error }); can {
		return file.Reserve(room)
	}
	return nil
}

// NoteEnded records that a role is done, or has failed with a cause.
func (j *Journal) NoteEnded(role string, e End) error {
	return j.append(line{Role: role, Status: e.Status(), ExitCode: e.ExitCode, Cause: e.Cause, Followed: e.Followed})
}

// NoteFound records the end of a role that is missing in the journal, such as after a
// restore of its disk.
func (j *Journal) NoteFound(r protocol.RoleState) error {
	return j.append(line{Role: r.Name, Status: r.Status, ExitCode: r.ExitCode, Cause: r.Cause, Attempt: r.Attempt, ByHand: r.ByHand, Made: r.Made, Followed: r.Followed, Runs: r.Runs})
}

// roleRemoved is the status of a role that is no longer in the plan.
const roleRemoved protocol.RoleStatus = "removed"

// NoteRemoved records that a role is no longer in the plan: a new one of its name has not
// run.
func (j *Journal) NoteRemoved(role string) error {
	return j.append(line{Role: role, Status: roleRemoved})
}

// Begun returns the names of the roles that have begun, sorted.
func (j *Journal) Begun() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(j.roles)) {
		if j.roles[name].Status != protocol.RolePending {
			names = append(names, name)
		}
	}
	return names
}

// NoteSame records that a role's run is also valid for another definition.
func (j *Journal) NoteSame(role, made string, followed Followed) error {
	return j.append(line{Same: role, Made: made, Followed: followed})
}

// NoteRetry records that a role may be started again, by request.
func (j *Journal) NoteRetry(request, role string) error {
	return j.append(line{Request: request, Retry: role})
}

// NoteByHand records that a role is done as it is defined now, by request.
func (j *Journal) NoteByHand(request, role, made string) error {
	return j.append(line{Request: request, Role: role, Status: protocol.RoleDone, ByHand: true, Made: made})
}

// NoteTaskRunning records that the action or hook of a request is about to start and, for a
// hook update, the role's new definition and versions. None of its processes may exist
// before this returns.
func (j *Journal) NoteTaskRunning(request, task, run, made string, followed Followed) error {
	return j.append(line{Request: request, Task: task, Status: protocol.RoleRunning, Run: run, Made: made, Followed: followed})
}

// NoteTaskEnded records that it is done, or has failed with a cause.
func (j *Journal) NoteTaskEnded(request, task, made string, e End) error {
	return j.append(line{Request: request, Task: task, Made: made, Status: e.Status(), ExitCode: e.ExitCode, Cause: e.Cause, Followed: e.Followed})
}

// NoteAnswered records what is about to be answered to a request, if nothing else says so for good:
// nothing is done for a request that was refused, also when it is shown again.
func (j *Journal) NoteAnswered(r protocol.Request, a protocol.Answer) error {
	_, noted := j.numbers[r.ID]
	if noted || j.Taken(r.ID) || j.Task(r.ID).Made != "" {
		return nil
	}
	return j.append(line{Request: r.ID, Number: r.Number, Answered: protocol.RoleStatus(a.Status), Reason: protocol.Clip(a.Reason, mostReason)})
}

const mostReason = 512

// NoteSignalled records that Heat has accepted a signal.
func (j *Journal) NoteSignalled(handle, status string) error {
	return j.append(line{Signalled: status, Handle: handle})
}

// Close closes the journal and releases its lock.
func (j *Journal) Close() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	if j.values != nil {
		err = errors.Join(err, j.values.Close())
	}
	return errors.Join(err, j.lock.Close())
}
