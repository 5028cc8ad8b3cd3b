package localrun

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// lookAtOutput is the interval of polling what roles print.
const lookAtOutput = 100 * time.Millisecond

// printed is one of the files that a role prints to.
type printed struct {
	role contract.RoleKey
	path string
	from int64
	rest []byte // an unfinished line
}

// longestPrinted limits the bytes read at once, and the length of a line.
const longestPrinted = 64 << 10

// followOutput reports what roles print, line by line, until it is stopped; then the rest, also an
// unfinished line.
func (r *Run) followOutput(p *progress) (stop func()) {
	var files []*printed
	for s, role := range r.setup.Plan.EachRole() {
		for _, ending := range []string{".stdout", ".stderr"} {
			files = append(files, &printed{role: s.Path.Role(role.Name),
				path: filepath.Join(r.setup.Workdir, store.Segment(string(s.Path)), store.Segment(role.Name)+ending)})
		}
	}
	show := func(last bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range files {
			f.show(r.setup.Printed, last)
		}
	}
	return store.Beside(context.Background(), func(ctx context.Context) {
		tick := time.NewTicker(lookAtOutput)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show(false)
			case <-ctx.Done():
				show(true)
				return
			}
		}
	})
}

// show reports the lines added since the last call. A missing file has none.
func (f *printed) show(tell func(contract.RoleKey, []byte), last bool) {
	file, err := os.Open(f.path)
	if err != nil {
		return
	}
	defer file.Close()
	for {
		more := make([]byte, longestPrinted)
		n, _ := file.ReadAt(more, f.from)
		f.from += int64(n)
		f.rest = append(f.rest, more[:n]...)
		for {
			line, rest, whole := bytes.Cut(f.rest, []byte{'\n'})
			if !whole && len(line) < longestPrinted && (!last || n > 0 || len(line) == 0) {
				break
			}
			tell(f.role, bytes.TrimSuffix(line, []byte{'\r'}))
			f.rest = rest
		}
		if n == 0 {
			return
		}
	}
}
