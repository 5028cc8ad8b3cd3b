package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// What a role follows may change during its server's whole life: a member of a group may be
// replaced every few minutes. Each change adds lines, so the files are compacted from time to
// time.

// StateRequest begins the id of a run that was not requested: it is for a state of what a role
// follows. Such a run is obsolete once another of its role has begun.
const StateRequest = "state."

const (
	leastLimit = 1 << 20 // smaller files are not compacted
	mostMarks  = 4096    // of runs that are remembered
	// mostTasks is how many ended actions and hooks, and requests for which nothing was done, are
	// remembered. Older ones are known by their numbers (Forgotten).
	mostTasks = 1000
)

// full reports whether a file has exceeded its limit, and sets the next limit to twice its
// size.
func full(size int, limit *int) bool {
	if size <= max(*limit, leastLimit) {
		return false
	}
	*limit = 2 * size
	return true
}

// Rewrite replaces a file's content, with room for more, and has it on the disk when it returns. The
// file is nil if it stays as it was.
func Rewrite(disk Disk, name string, text []byte, room int64) (File, error) {
	file, err := disk.Create(name + ".new")
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err == nil && room > 0 {
		err = reserve(file, room)
	}
	if err == nil {
		err = disk.Rename(name+".new", name)
	}
	if err == nil {
		return file, disk.Sync()
	}
	_ = file.Truncate(0) // others need the room
	file.Close()
	return nil, err
}

// compact rewrites the journal. If there is no room for that, it stays as it is.
func (j *Journal) compact() error {
	text, err := j.disk.Read(current)
	if err != nil {
		return nil
	}
	lines, whole, err := parse(text)
	if err != nil {
		return err
	}
	kept, err := compacted(lines, bytes.SplitAfter(text[:whole], []byte("\n")))
	if err != nil {
		return err
	}
	room := int64(0)
	if j.reserved {
		room = endRoom
	}
	file, err := Rewrite(j.disk, current, kept, room)
	if file == nil {
		return nil
	}
	j.file.Close()
	j.file = file
	if err != nil {
		return fmt.Errorf("sync the state folder: %w", err)
	}
	j.size, j.limit = len(kept), 2*len(kept)
	return nil
}

// compacted drops the lines that later ones have made superfluous.
func compacted(lines []line, texts [][]byte) ([]byte, error) {
	newest, ended := map[string]int{}, map[string]bool{} // by task: the start of its last run for a state
	for i, l := range lines {
		if !strings.HasPrefix(l.Request, StateRequest) {
			continue
		}
		running := l.Status == protocol.RoleRunning
		if _, is := newest[l.Task]; !is || running || ended[l.Task] {
			newest[l.Task] = i
		}
		ended[l.Task] = !running
	}
	all, last := empty(), empty()
	for _, l := range lines {
		last.apply(l)
	}
	var out bytes.Buffer
	var marks []string
	write := func(l line) error {
		text, err := json.Marshal(l)
		out.Write(append(text, '\n'))
		return err
	}
	for i, l := range lines {
		all.apply(l)
		role, _, _ := strings.Cut(l.Task, ".")
		state := strings.HasPrefix(l.Request, StateRequest)
		forgotten := (plain(l) || l.Answered != "") && last.Task(l.Request).Status == protocol.RolePending && last.done[l.Task] != l.Request
		switch {
		case state && i < newest[l.Task], forgotten:
			if l.Run != "" {
				marks = append(marks, l.Run)
			}
			continue
		case l.Marks != nil:
			marks = append(marks, l.Marks...)
			continue
		case l.Remembered != nil, l.Forgotten != 0:
			continue
		case l.Answered != "" && l.Number > 0 && last.numbers[l.Request] == 0: // of an earlier deployment
			l.Number = 0
			if err := write(l); err != nil {
				return nil, err
			}
			continue
		case state && i == newest[l.Task]:
			l.Runs = all.roles[role].Runs
			if err := write(l); err != nil {
				return nil, err
			}
			continue
		}
		out.Write(texts[i])
	}
	if err := write(line{Marks: marks[max(0, len(marks)-mostMarks):], At: lines[len(lines)-1].At}); err != nil {
		return nil, err
	}
	if last.forgotten > 0 {
		if err := write(line{Forgotten: last.forgotten, At: lines[len(lines)-1].At}); err != nil {
			return nil, err
		}
	}
	err := write(line{Remembered: &all.remembered, At: lines[len(lines)-1].At})
	return out.Bytes(), err // with that line
}
