package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// valuesName is the file beside the journal with what the server has published, so that
// it can be published again if the coordinator has lost it. Like the key, it is readable
// only by root, and belongs to one journal.
const valuesName = "values"

// keptLine is a line of it. A cell's last line counts.
type keptLine struct {
	Journal string              `json:"journal"` // its id
	Cell    contract.CellName   `json:"cell"`
	Record  protocol.CellRecord `json:"record"`
}

// Keep stores a cell's record; it is on the disk when Keep returns. After an error the record is
// kept while this process runs, and the next call stores it as well.
func (j *Journal) Keep(cell contract.CellName, r protocol.CellRecord) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	kept, err := j.loadKept()
	if err != nil {
		return err
	}
	text, err := json.Marshal(keptLine{j.id, cell, r})
	if err != nil {
		return err
	}
	before := kept[cell].Value
	kept[cell] = r
	if !j.behind {
		// The last line may be torn: begin a new one.
		if _, err = j.values.Write(append(append([]byte{'\n'}, text...), '\n')); err == nil {
			err = j.values.Sync()
		}
		j.valuesSize += len(text) + 2
		j.behind = err != nil
	}
	replaced := before != nil && !bytes.Equal(before, r.Value) // it may have been a secret: it does not stay
	if j.behind || replaced || full(j.valuesSize, &j.valuesLimit) {
		if rewriteErr := j.compactKept(); j.behind {
			return fmt.Errorf("store the published values: %w", cmp.Or(rewriteErr, err))
		}
	}
	return nil
}

// compactKept rewrites the file with only the current records. If there is no room for that, it stays
// as it is.
func (j *Journal) compactKept() error {
	var all bytes.Buffer
	for cell, r := range j.kept {
		text, err := json.Marshal(keptLine{j.id, cell, r})
		if err != nil {
			return err
		}
		all.Write(append(text, '\n'))
	}
	file, err := Rewrite(j.disk, valuesName, all.Bytes(), 0)
	if file == nil {
		return err
	}
	if j.values != nil {
		j.values.Close()
	}
	j.values, j.valuesSize, j.valuesLimit, j.behind = file, all.Len(), 2*all.Len(), err != nil
	return err
}

// Kept returns the stored records.
func (j *Journal) Kept() (member.Kept, error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	kept, err := j.loadKept()
	return maps.Clone(kept), err
}

// loadKept reads the file, once.
func (j *Journal) loadKept() (member.Kept, error) {
	if j.kept != nil {
		return j.kept, nil
	}
	text, err := j.disk.Read(valuesName)
	if errors.Is(err, fs.ErrNotExist) {
		j.behind, err = true, nil
	} else if err == nil {
		j.values, err = j.disk.Append(valuesName)
	}
	if err != nil {
		return nil, fmt.Errorf("open the published values: %w", err)
	}
	j.kept, j.valuesSize = member.Kept{}, len(text)
	lines := 0
	for line := range bytes.Lines(text) {
		if len(line) > 1 { // no empty one
			lines++
		}
		var l keptLine
		if json.Unmarshal(line, &l) == nil && l.Journal == j.id {
			j.kept[l.Cell] = l.Record
		}
	}
	if lines > len(j.kept) { // what was replaced, or of another journal; it stays if there is no room
		_ = j.compactKept()
	}
	return j.kept, nil
}
