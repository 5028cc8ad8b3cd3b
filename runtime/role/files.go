package role

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot/filetemplate"
)

// renderedFile is a file that is ready to be written.
type renderedFile struct {
	contract.RenderedFile
	path     string
	text     []byte
	uid, gid int // -1 is unchanged
}

// largestFile bounds a rendered file, in bytes.
const largestFile = 16 << 20

// render renders the role's files in memory, in order. A template blocks at the inputs
// that it reads. All are rendered before the first is written, and none is written before
// the role has started, so that a role that waits, or whose templates fail, has changed
// nothing.
func (l *life) render(work string) error {
	l.files = nil
	for _, f := range l.role.Render {
		text, err := l.execute(f)
		if err != nil {
			return l.fileFailed(f, err)
		}
		path := f.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(work, path)
		}
		l.files = append(l.files, renderedFile{RenderedFile: f, path: path, text: text})
	}
	return nil
}

func (l *life) execute(f contract.RenderedFile) ([]byte, error) {
	text, err := l.host.Cells.File(l.process, f.Template)
	if err != nil {
		return nil, fmt.Errorf("fetch its template: %w", err)
	}
	parsed, err := filetemplate.Parse(string(text), inputNames(l.role))
	if err != nil {
		return nil, fmt.Errorf("its template %s: %w", f.Name, err)
	}
	out := &boundedBuffer{ctx: l.process}
	err = parsed.Execute(out, f.Name, func(input string) (json.RawMessage, error) { return l.Read(l.process, input) })
	return out.Bytes(), err
}

// boundedBuffer rejects writes beyond the size of a file, and after its context has ended.
type boundedBuffer struct {
	bytes.Buffer
	ctx context.Context
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.Len()+len(p) > largestFile {
		return 0, fmt.Errorf("it is larger than %d bytes", largestFile)
	}
	return b.Buffer.Write(p)
}

// fileFailed makes a file's error the role's cause, at the file's place, unless there
// already is one: a failed read has its own.
func (l *life) fileFailed(f contract.RenderedFile, err error) error {
	if l.ending() != nil || stopsAgent(err) {
		return err
	}
	cause := l.reasonAt(f.At, fmt.Sprintf("file %s: %v", f.Path, err))
	l.setDoom(cause)
	return errors.New(cause.String())
}

// place writes the rendered files, each atomically. A symbolic link is replaced, not
// followed.
func (l *life) place() error {
	for i := range l.files {
		f := &l.files[i]
		err := f.findOwner()
		if err == nil {
			err = f.write()
		}
		if err != nil {
			return l.fileFailed(f.RenderedFile, err)
		}
	}
	l.files = nil
	return nil
}

func (f *renderedFile) findOwner() (err error) {
	find := func(name, kind string, lookup func(string) (string, error)) (int, error) {
		if name == "" {
			return -1, nil
		}
		if id, err := strconv.ParseUint(name, 10, 31); err == nil {
			return int(id), nil
		}
		found, err := lookup(name)
		if err != nil {
			return 0, fmt.Errorf("there is no %s %q on this server", kind, name)
		}
		return strconv.Atoi(found)
	}
	f.uid, err = find(f.Owner, "user", func(name string) (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if err != nil {
		return err
	}
	f.gid, err = find(f.Group, "group", func(name string) (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	return err
}

func (f *renderedFile) write() error {
	mode, err := strconv.ParseUint(f.Mode, 8, 12)
	if err != nil {
		return fmt.Errorf("its mode %q in the plan is invalid", f.Mode)
	}
	folder := filepath.Dir(f.path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(folder, ".hotc-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(f.text)
	if err == nil && (f.uid >= 0 || f.gid >= 0) {
		err = temporary.Chown(f.uid, f.gid)
	}
	if err == nil {
		err = os.NewSyscallError("chmod", unix.Fchmod(int(temporary.Fd()), uint32(mode)))
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), f.path)
}

// start separates a role that has done nothing from one that may have done anything: its
// files are written first.
func (l *life) start(ctx context.Context) error {
	if err := l.noteRunning(ctx); err != nil {
		return err
	}
	return l.place()
}
