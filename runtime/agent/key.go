package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// keyName is the file beside the journal.
const keyName = "key"

// keyFile is STATE/key: the server's private key, readable by root alone. It belongs to one
// journal: it is not used by servers created from an image of this one.
type keyFile struct {
	Journal string `json:"journal"` // its id
	Key     string `json:"key"`
}

// loadKey reads the server's private key, or generates one at its first start.
func loadKey(disk journal.Disk, id string) (seal.Key, error) {
	text, err := disk.Read(keyName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return seal.Key{}, fmt.Errorf("read the server's key: %w", err)
	}
	var there keyFile
	if err == nil && json.Unmarshal(text, &there) == nil && there.Journal == id {
		if key, err := seal.ParseKey(there.Key); err == nil {
			return key, nil
		}
	}
	key, err := seal.NewKey()
	if err != nil {
		return seal.Key{}, err
	}
	private, err := key.Text()
	if err == nil {
		err = writeKey(disk, keyFile{Journal: id, Key: private})
	}
	if err != nil {
		return seal.Key{}, fmt.Errorf("write the server's key: %w", err)
	}
	return key, nil
}

// writeKey has the file on the disk when it returns: what was sealed for a lost key cannot be opened.
func writeKey(disk journal.Disk, k keyFile) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	file, err := journal.Rewrite(disk, keyName, append(text, '\n'), 0)
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	return err
}

// keepSealed seals this server's secrets for their readers, in the background, until it is stopped.
func (a *agent) keepSealed(ctx context.Context) (stop func()) {
	return store.Beside(ctx, func(ctx context.Context) {
		err := a.session.KeepSealed(ctx, func(err error) { a.console.say("%v", err) })
		if errors.Is(err, member.ErrFenced) || errors.Is(err, member.ErrDestroyed) {
			a.stop(err)
		} else if ctx.Err() == nil {
			a.console.say("%v", err)
		}
	})
}
