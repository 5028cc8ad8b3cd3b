package role

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// keptPrints is how much of what each of a role's two files holds stays on the disk, its end. Whoever
// prints may use as much again until the next look.
const keptPrints = 16 << 20

// BoundPrints bounds, until it is stopped, the disk space of what roles and the daemons that they have
// left behind print: these write into the files themselves, for years.
func BoundPrints(ctx context.Context, work string) (stop func()) {
	return store.Beside(ctx, func(ctx context.Context) {
		for ; ctx.Err() == nil; _ = store.Pause(ctx, time.Minute) {
			for _, ending := range printEndings {
				names, _ := filepath.Glob(filepath.Join(work, "*"+ending))
				for _, name := range names {
					forgetBeginning(name, keptPrints)
				}
			}
		}
	})
}

// forgetBeginning frees the disk space of all but the end of a file, whose size stays: who has the file
// open goes on where he was. Where the file system cannot do that, nothing is freed.
func forgetBeginning(name string, keep int64) {
	file, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return // it is gone, or a link
	}
	defer file.Close()
	var is unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &is); err != nil || is.Mode&unix.S_IFMT != unix.S_IFREG ||
		is.Blocks*512 <= 2*keep || is.Size <= keep {
		return
	}
	_ = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, is.Size-keep)
}
