package agent

import (
	"testing"

	"github.com/hotc-dev/hotc/runtime/journal/journaltest"
)

// The key is on the disk before anything is sealed for it, and stays the same; a server that is made
// from an image of this one gets its own.
func TestTheKeyIsOnTheDisk(t *testing.T) {
	disk := journaltest.New(t)
	key, err := loadKey(disk, "journal 1")
	if err != nil {
		t.Fatal(err)
	}
	disk.ExpectSynced(t, "after the key was made")
	for id, same := range map[string]bool{"journal 1": true, "journal 2": false} {
		if again, err := loadKey(disk, id); err != nil || (again.Public() == key.Public()) != same {
			t.Errorf("%s: the same key: %v (%v)", id, again.Public() == key.Public(), err)
		}
		disk.ExpectSynced(t, "after "+id)
		key, _ = loadKey(disk, "journal 1")
	}
	disk.Full, disk.Left = true, 10
	if _, err := loadKey(disk, "journal 3"); err == nil {
		t.Error("a key that could not be stored is used")
	}
}
