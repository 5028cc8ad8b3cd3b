// Package journal is what a server remembers of itself across restarts: who it
// is, which of its roles began and ended, and what Heat was told.
//
// It answers one question, whatever happened to the agent in between: may this
// role be started? A role whose start is noted is never started again, unless it
// is idempotent; so the note must be on the disk before the process exists, and
// no line may ever be lost that was there. The journal is therefore one file,
// STATE/journal: a JSON object a line, each synced before the call that wrote it
// returns. It grows, and is written anew without what counts no more when it has
// grown to twice its size (compact.go). A crash can tear only the last line, which then was
// never relied upon and is cut off when the file is opened again.
//
//	{"journal":1,"id":"<random>","deployment":"blog","server":"db","instance":"<Nova's id>","at":…}
//	{"enrolled":1,"at":…}                                          the number of the incarnation
//	{"role":"mysql","status":"running","run":"<random>","made":"<definition>","at":…}
//	                                                               before its process starts
//	{"role":"mysql","status":"done","exit_code":0,"at":…}          after all its outputs are published
//	{"role":"mysql","status":"failed","exit_code":3,"cause":{…},"at":…}
//	{"role":"web","status":"done","exit_code":0,"followed":{"db.mysql:password":[1,1]},"at":…}
//	                                                               with the versions that it had
//	{"same":"web","made":"<definition>","followed":{…},"at":…}     another plan, and nothing to run for it
//	{"role":"mysql","status":"removed","at":…}                     the plan has it no more
//	{"signalled":"SUCCESS","at":…}                                 after Heat has taken the signal
//	{"remembered":{"identity":{…},"counters":{"plan":…}},"at":…}   before what it shows is acted upon
//	{"marks":["<random>",…],"at":…}                                 of runs whose lines have gone
//
// and for what an operator asks (docs/coordination.md, "Requests"), each with the
// request's id:
//
//	{"request":"<id>","retry":"mysql","at":…}                      the role may be started again
//	{"request":"<id>","role":"mysql","status":"done","by_hand":true,"at":…}
//	{"request":"<id>","task":"mysql.backup","status":"running","run":"<random>","at":…}
//	{"request":"<id>","task":"mysql.backup","status":"done","exit_code":0,"at":…}
//	{"request":"<id>","task":"mysql.update","status":"running","run":"<random>","made":"<definition>","followed":{…},"at":…}
//
// The last kind is there, too, when what a role follows has changed (docs/updates.md); then
// the id is of that state, and begins with "state.".
//
// The last line of a role counts. Unknown keys and lines without a known key are
// skipped, so that an older agent can read on. No value of an input or output is
// ever in it.
//
// The first line names the machine. A journal of another instance, server or
// deployment (an image was made of a server that had run) is set aside as
// STATE/journal.old, and a new one begins: a new incarnation. A lock on
// STATE/lock keeps a second agent out.
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
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/member"
)

// Format is the version of the journal that this code writes and reads.
const Format = 1

// ErrLocked says that another agent uses the same journal.
var ErrLocked = errors.New("another agent is at work with this state folder")

// Machine is whose journal it is.
type Machine struct {
	Deployment string
	Server     contract.ServerPath
	Instance   string
}

// Role is what is noted of a role.
type Role struct {
	coordinator.RoleState
	// Run is a random text that all processes of the last start have in their
	// environment as HOTC_RUN.
	Run string
	// Updating is the last run of its hook update, of which Update tells.
	Updating Task
}

// Followed are versions of cells that a role follows.
type Followed = map[contract.CellName]coordinator.Count

// End is how a role or task has ended.
type End struct {
	ExitCode *int               // nil where there was no process
	Cause    *coordinator.Cause // nil when it went well
	Followed Followed           // that it had
}

// Status is done or, with a cause, failed.
func (e End) Status() coordinator.RoleStatus {
	if e.Cause != nil {
		return coordinator.RoleFailed
	}
	return coordinator.RoleDone
}

// Task is what is noted of an action or a hook that was asked for.
type Task struct {
	coordinator.UpdateState // pending when nothing is noted
	Request                 string
	Name                    string // of the task: ROLE.TASK
	Run                     string
	Made                    string // of a hook update: what the role is then
}

// Journal is an open journal. It is not for use by several goroutines, but for Remember,
// Remembered, Keep and Kept.
type Journal struct {
	writing sync.Mutex // guards file, remembered and what follows that

	file        File
	size, limit int // of the file, in bytes (compact)
	lock        io.Closer
	now         func() time.Time

	id        string
	trying    int
	enrolled  int
	roles     map[string]Role
	tasks     map[string]Task // by request
	requests  map[string]bool // the requests that changed a role
	runs      []string
	signalled map[string]string // by handle; "" is that of the server's roles as a whole

	remembered member.Remembered

	disk   Disk
	values File        // see Keep; nil until it is used
	kept   member.Kept // what is in it

	valuesSize, valuesLimit int
}

// line is a line of the file.
type line struct {
	Journal    int                    `json:"journal,omitempty"`
	ID         string                 `json:"id,omitempty"`
	Deployment string                 `json:"deployment,omitempty"`
	Server     contract.ServerPath    `json:"server,omitempty"`
	Instance   string                 `json:"instance,omitempty"`
	Trying     int                    `json:"trying,omitempty"`
	Enrolled   int                    `json:"enrolled,omitempty"`
	Role       string                 `json:"role,omitempty"`
	Status     coordinator.RoleStatus `json:"status,omitempty"`
	Run        string                 `json:"run,omitempty"`
	ExitCode   *int                   `json:"exit_code,omitempty"`
	Cause      *coordinator.Cause     `json:"cause,omitempty"`
	Signalled  string                 `json:"signalled,omitempty"`
	Request    string                 `json:"request,omitempty"`
	Retry      string                 `json:"retry,omitempty"`
	Task       string                 `json:"task,omitempty"`
	Made       string                 `json:"made,omitempty"`
	Same       string                 `json:"same,omitempty"` // a role
	Followed   Followed               `json:"followed,omitempty"`
	Runs       int                    `json:"runs,omitempty"` // as found
	Attempt    int                    `json:"attempt,omitempty"`
	ByHand     bool                   `json:"by_hand,omitempty"`
	Handle     string                 `json:"handle,omitempty"` // of a role's own signal
	Remembered *member.Remembered     `json:"remembered,omitempty"`
	Marks      []string               `json:"marks,omitempty"`
	At         time.Time              `json:"at"`
}

func empty() *Journal {
	return &Journal{roles: map[string]Role{}, tasks: map[string]Task{}, requests: map[string]bool{}, signalled: map[string]string{}}
}

// Open opens the journal on a disk, or begins one, for this machine.
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
			return fmt.Errorf("set the journal of another machine aside: %w", err)
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

// begin makes a journal of one line. It is put in place by a rename, so that the
// first line is never torn.
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
	if j.file, err = rewrite(disk, current, append(text, '\n')); err != nil {
		return fmt.Errorf("begin the journal: %w", err)
	}
	j.size = len(text) + 1
	j.apply(first)
	return nil
}

// append writes a line and takes it over once it is on the disk.
func (j *Journal) append(l line) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	l.At = j.now().UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	n, err := j.file.Write(append(text, '\n'))
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	j.apply(l)
	if j.size += n; full(j.size, &j.limit) {
		return j.compact()
	}
	return nil
}

// ID is the random text that tells this machine from others of the same name.
func (j *Journal) ID() string { return j.id }

// Incarnation is the number that the machine was enrolled with; 0 is not yet.
func (j *Journal) Incarnation() int { return j.enrolled }

// Role is what is noted of a role; its status is pending when nothing is.
func (j *Journal) Role(name string) Role {
	role, noted := j.roles[name]
	if !noted {
		role.RoleState = coordinator.RoleState{Name: name, Status: coordinator.RolePending}
	}
	if role.Update != nil {
		role.Update = new(*role.Update)
	}
	return role
}

// Task is what is noted of the action or hook of a request.
func (j *Journal) Task(request string) Task {
	task, noted := j.tasks[request]
	if !noted {
		task.Status = coordinator.RolePending
	}
	return task
}

// Did says that an action or a hook was done, by any request.
func (j *Journal) Did(task string) bool {
	for _, t := range j.tasks {
		if t.Name == task && t.Status == coordinator.RoleDone {
			return true
		}
	}
	return false
}

// Taken says that a request to retry or to skip a role has been taken.
func (j *Journal) Taken(request string) bool { return j.requests[request] }

// Runs are the random texts of all starts of roles, in order.
func (j *Journal) Runs() []string { return append([]string(nil), j.runs...) }

// Signalled is the status that Heat was told last by a handle; "" is none. The
// handle of the server's roles as a whole has no name here.
func (j *Journal) Signalled(handle string) string { return j.signalled[handle] }

// Remembered is what the machine was shown by its deployment.
func (j *Journal) Remembered() member.Remembered {
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.remembered
}

// Remember adds to that.
func (j *Journal) Remember(r member.Remembered) error { return j.append(line{Remembered: &r}) }

// Trying is the incarnation's number that the machine tried last to get; 0 is none.
// Whether it got it, an agent that was killed meanwhile does not know.
func (j *Journal) Trying() int { return j.trying }

// NoteTrying notes that it is about to try to get a number.
func (j *Journal) NoteTrying(number int) error { return j.append(line{Trying: number}) }

// NoteEnrolled notes the number of the incarnation.
func (j *Journal) NoteEnrolled(number int) error { return j.append(line{Enrolled: number}) }

// endRoom is more than the note of a role's end takes, causes included.
const endRoom = 64 << 10

// NoteRunning notes that a role is about to start, and of what. No process of it may
// exist before this has returned. It fails where the disk has no room for the note of
// the role's end, too.
func (j *Journal) NoteRunning(role, run, made string) error {
	if err := j.reserve(endRoom); err != nil {
		return err
	}
	return j.append(line{Role: role, Status: coordinator.RoleRunning, Run: run, Made: made})
}

// reserve takes room on the disk for what has to be noted later: a role whose end
// cannot be noted counts as interrupted, however well it went.
func (j *Journal) reserve(room int64) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	file, can := j.file.(interface{ Reserve(room int64) error })
	if !can {
		return nil
	}
	if err := file.Reserve(room); err != nil {
		return fmt.Errorf("the journal has no room for a role's end: %w", err)
	}
	return nil
}

// NoteEnded notes that a role is done, or has failed with a cause.
func (j *Journal) NoteEnded(role string, e End) error {
	return j.append(line{Role: role, Status: e.Status(), ExitCode: e.ExitCode, Cause: e.Cause, Followed: e.Followed})
}

// NoteFound notes how a role has ended that the journal does not know, or no
// longer: its disk was put back.
func (j *Journal) NoteFound(r coordinator.RoleState) error {
	return j.append(line{Role: r.Name, Status: r.Status, ExitCode: r.ExitCode, Cause: r.Cause, Attempt: r.Attempt, ByHand: r.ByHand, Made: r.Made, Followed: r.Followed, Runs: r.Runs})
}

// roleRemoved is the status of a role that the plan had, and has no more.
const roleRemoved coordinator.RoleStatus = "removed"

// NoteRemoved notes that the plan has a role no more: one that comes again under its name has
// not run.
func (j *Journal) NoteRemoved(role string) error {
	return j.append(line{Role: role, Status: roleRemoved})
}

// Begun are the names of the roles that have begun, sorted.
func (j *Journal) Begun() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(j.roles)) {
		if j.roles[name].Status != coordinator.RolePending {
			names = append(names, name)
		}
	}
	return names
}

// NoteSame notes that what a role has run with is what another definition of it says, too.
func (j *Journal) NoteSame(role, made string, followed Followed) error {
	return j.append(line{Same: role, Made: made, Followed: followed})
}

// NoteRetry notes that a role may be started again, by request.
func (j *Journal) NoteRetry(request, role string) error {
	return j.append(line{Request: request, Retry: role})
}

// NoteByHand notes that a role is done, by request.
func (j *Journal) NoteByHand(request, role string) error {
	return j.append(line{Request: request, Role: role, Status: coordinator.RoleDone, ByHand: true})
}

// NoteTaskRunning notes that the action or hook of a request is about to start, and
// what the hook update makes of its role, of which versions. No process of it may exist
// before this has returned.
func (j *Journal) NoteTaskRunning(request, task, run, made string, followed Followed) error {
	return j.append(line{Request: request, Task: task, Status: coordinator.RoleRunning, Run: run, Made: made, Followed: followed})
}

// NoteTaskEnded notes that it is done, or has failed with a cause.
func (j *Journal) NoteTaskEnded(request, task, made string, e End) error {
	return j.append(line{Request: request, Task: task, Made: made, Status: e.Status(), ExitCode: e.ExitCode, Cause: e.Cause, Followed: e.Followed})
}

// NoteSignalled notes that Heat has taken a signal.
func (j *Journal) NoteSignalled(handle, status string) error {
	return j.append(line{Signalled: status, Handle: handle})
}

// Close ends the use of the journal and lets another agent in.
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
