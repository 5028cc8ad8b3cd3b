package driver

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Bounds of one folder that travels with the plan. A whole deployment has the same bound
// on the coordinator.
const (
	maxArchive = 16 << 20
	maxEntries = 20_000
)

// LargeHint is the hint for files that are too large for the coordinator.
const LargeHint = "put them on a web server and name them with `url:` and `sha256:`; docs/drivers.md shows how"

// versionControl are metadata folders, which do not travel.
var versionControl = map[string]bool{".git": true, ".hg": true, ".svn": true}

// TooLargeError reports a folder that exceeds a bound.
type TooLargeError struct{ What string }

func (e *TooLargeError) Error() string { return e.What }

// Archive packs a folder into a tar archive. The same files give the same bytes:
// entries are sorted and carry no times, no owners, and of their permissions only the
// executable bit. Version control folders are left out. A symbolic link is kept if it
// points inside the folder; other links, devices, pipes and sockets are errors.
func Archive(folder fs.FS) ([]byte, error) {
	var out bytes.Buffer
	w := &archiver{folder: folder, out: &out, tar: tar.NewWriter(&out)}
	if err := fs.WalkDir(folder, ".", w.add); err != nil {
		return nil, err
	}
	if err := w.tar.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

type archiver struct {
	folder  fs.FS
	out     *bytes.Buffer
	tar     *tar.Writer
	entries int
}

func (a *archiver) add(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, source.Bare(err))
	case name == ".":
		return nil
	case entry.IsDir() && versionControl[entry.Name()]:
		return fs.SkipDir
	}
	if a.entries++; a.entries > maxEntries {
		return &TooLargeError{fmt.Sprintf("it contains more than %d files", maxEntries)}
	}
	header := &tar.Header{Name: name, Format: tar.FormatPAX, Mode: 0o644}
	switch kind := entry.Type(); {
	case kind.IsDir():
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, name+"/", 0o755
		return a.tar.WriteHeader(header)
	case kind == fs.ModeSymlink:
		return a.link(name, header)
	case kind.IsRegular():
		return a.file(name, entry, header)
	}
	return fmt.Errorf("%s is a device, a pipe or a socket", name)
}

func (a *archiver) link(name string, header *tar.Header) error {
	target, err := fs.ReadLink(a.folder, name)
	if err != nil {
		return fmt.Errorf("read the link %s: %w", name, source.Bare(err))
	}
	if within := path.Join(path.Dir(name), target); path.IsAbs(target) || within == ".." || strings.HasPrefix(within, "../") {
		return fmt.Errorf("%s is a symbolic link to %s, outside the folder; only the folder's content travels with the plan", name, target)
	}
	header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, target, 0o777
	return a.tar.WriteHeader(header)
}

func (a *archiver) file(name string, entry fs.DirEntry, header *tar.Header) error {
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, source.Bare(err))
	}
	if int64(a.out.Len())+info.Size() > maxArchive {
		return &TooLargeError{fmt.Sprintf("it exceeds the %d MB that can travel with a plan", maxArchive>>20)}
	}
	data, err := fs.ReadFile(a.folder, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, source.Bare(err))
	}
	if header.Size = int64(len(data)); info.Mode()&0o111 != 0 {
		header.Mode = 0o755
	}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("put %s into an archive: %w", name, err)
	}
	_, err = a.tar.Write(data)
	return err
}

// NewFile returns a file that travels with the plan.
func NewFile(name string, data []byte) program.File {
	return program.File{Name: name, Digest: contract.Digest(data), Data: data}
}
