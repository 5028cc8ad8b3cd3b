// Package archive unpacks untrusted archives: tar, tar with gzip or bzip2, and zip.
// Whatever such a file contains, nothing is written outside the folder, nothing in it
// leads outside afterwards, and its size is bounded:
//
//   - Names and links that lead out of the folder are errors, and so are devices and
//     pipes. All writes go through an os.Root, so that a link followed by a file below it
//     cannot escape.
//   - Owners, times and special permissions are ignored: files have mode 0644, or 0755 if
//     executable.
//   - Bytes and entries are counted as read, not as announced by headers; folders that an
//     entry's name implies are entries, too, and names are not arbitrarily deep.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Limits bound what is unpacked.
type Limits struct {
	Bytes   int64
	Entries int
}

// mostFolders is the depth of a name: each access to one walks through all its folders.
const mostFolders = 100

// DefaultLimits suffice for any tree of recipes.
var DefaultLimits = Limits{Bytes: 2 << 30, Entries: 200_000}

// ErrUnknown reports a file that is not a supported archive.
var ErrUnknown = errors.New("it is not a tar, tar.gz, tar.bz2 or zip archive")

// Unpack unpacks an archive into a folder, which it creates.
func Unpack(ctx context.Context, file *os.File, folder string, limits Limits) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	u := &unpacking{ctx: ctx, root: root, limits: limits, left: limits.Bytes, folders: map[string]bool{}}
	err = u.any(file)
	if linkErr := outwards(ctx, root, true); err == nil {
		err = linkErr
	}
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return nil
}

type unpacking struct {
	ctx     context.Context
	root    *os.Root
	limits  Limits
	left    int64
	entries int
	folders map[string]bool // those that were counted
}

func (u *unpacking) any(file *os.File) error {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	head = head[:n]
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(file, 1<<16)
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return u.zip(file)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		return u.tar(unzipped)
	case bytes.HasPrefix(head, []byte("BZh")):
		return u.tar(bzip2.NewReader(in))
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return u.tar(in)
	case bytes.HasPrefix(head, []byte("\xfd7zXZ")), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return errors.New("xz and zstd archives are not supported; use tar.gz")
	}
	return ErrUnknown
}

func (u *unpacking) tar(in io.Reader) error {
	archive := tar.NewReader(&ended{u.ctx, in})
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg, tar.TypeRegA: //lint:ignore SA1019 old archives have it
			err = u.file(h.Name, archive, h.Mode&0o111 != 0)
		case tar.TypeDir:
			err = u.folder(h.Name)
		case tar.TypeSymlink:
			err = u.link(h.Name, h.Linkname)
		case tar.TypeLink:
			err = u.hardLink(h.Name, h.Linkname)
		default:
			err = fmt.Errorf("%q is a device, a pipe or another special file", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacking) zip(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return err
	}
	for _, f := range archive.File {
		if err := u.zipEntry(f); err != nil {
			return err
		}
	}
	return nil
}

// longestLink bounds the target of a link in a zip archive.
const longestLink = 4096

func (u *unpacking) zipEntry(f *zip.File) error {
	switch mode := f.Mode(); {
	case mode.IsDir():
		return u.folder(f.Name)
	case mode&fs.ModeSymlink == 0 && !mode.IsRegular():
		return fmt.Errorf("%q is a device, a pipe or another special file", f.Name)
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", f.Name, err)
	}
	defer in.Close()
	if f.Mode()&fs.ModeSymlink == 0 {
		return u.file(f.Name, &ended{u.ctx, in}, f.Mode()&0o111 != 0)
	}
	target, err := io.ReadAll(io.LimitReader(in, longestLink))
	if err != nil {
		return fmt.Errorf("%q: %w", f.Name, err)
	}
	return u.link(f.Name, string(target))
}

// place is the path of an entry; one that leads out of the folder is an error.
func (u *unpacking) place(name string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(name, "./"))
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(clean) || strings.Contains(name, `\`) {
		return "", fmt.Errorf("%q leads out of the folder", name)
	}
	if u.ctx.Err() != nil {
		return "", context.Cause(u.ctx)
	}
	if strings.Count(clean, "/") > mostFolders {
		return "", fmt.Errorf("%.100q… is more than %d folders deep", name, mostFolders)
	}
	u.entries++
	for in := path.Dir(clean); in != "." && !u.folders[in]; in = path.Dir(in) {
		u.folders[in] = true
		u.entries++
	}
	if u.entries > u.limits.Entries {
		return "", fmt.Errorf("it has more than %d entries", u.limits.Entries)
	}
	return clean, nil
}

// prepare creates the folder of an entry, and removes what is in its place.
func (u *unpacking) prepare(name string) (clean string, err error) {
	if clean, err = u.place(name); err != nil {
		return "", err
	}
	if err := u.root.MkdirAll(path.Dir(clean), 0o755); err != nil {
		return "", fmt.Errorf("%q: %w", clean, reason(err))
	}
	info, err := u.root.Lstat(clean)
	if err != nil || info.IsDir() {
		return clean, nil
	}
	return clean, u.root.Remove(clean)
}

func (u *unpacking) folder(name string) error {
	clean, err := u.place(name)
	if err != nil {
		return err
	}
	u.folders[clean] = true
	if err := u.root.MkdirAll(clean, 0o755); err != nil {
		return fmt.Errorf("%q: %w", name, reason(err))
	}
	return nil
}

func (u *unpacking) file(name string, in io.Reader, executable bool) error {
	clean, err := u.prepare(name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	out, err := u.root.OpenFile(clean, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("%q: %w", name, reason(err))
	}
	n, err := io.Copy(out, io.LimitReader(in, u.left+1))
	err = errors.Join(err, out.Close())
	if u.left -= n; u.left < 0 {
		return fmt.Errorf("it is larger than %d MB when unpacked", u.limits.Bytes>>20)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// leadsOut reports whether a link at a place leads out of the folder.
func leadsOut(clean, target string) bool {
	return path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(clean), target))
}

func (u *unpacking) link(name, target string) error {
	if leadsOut(path.Clean(name), target) || target == "" || strings.ContainsRune(target, 0) {
		return fmt.Errorf("the link %q leads out of the folder, to %q", name, target)
	}
	clean, err := u.prepare(name)
	if err != nil {
		return err
	}
	if err := u.root.Symlink(target, clean); err != nil {
		return fmt.Errorf("%q: %w", name, reason(err))
	}
	return nil
}

func (u *unpacking) hardLink(name, target string) error {
	from := path.Clean(target)
	if !filepath.IsLocal(from) {
		return fmt.Errorf("the link %q leads out of the folder, to %q", name, target)
	}
	clean, err := u.prepare(name)
	if err != nil {
		return err
	}
	if err := u.root.Link(from, clean); err != nil {
		return fmt.Errorf("the link %q: %w", name, reason(err))
	}
	return nil
}

// CheckLinks returns an error if a link in a folder leads out of it.
func CheckLinks(ctx context.Context, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return outwards(ctx, root, false)
}

// outwards follows all links in the unpacked folder: one through another may lead out even
// if its own target does not, and so may one that a hard link has put elsewhere. With
// remove, links that lead out are removed.
func outwards(ctx context.Context, root *os.Root, remove bool) error {
	var wrong error
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || entry.Type() != fs.ModeSymlink {
			return err
		}
		target, err := root.Readlink(name)
		if err == nil && !leadsOut(name, target) {
			if _, err = root.Stat(name); err == nil || errors.Is(err, fs.ErrNotExist) {
				return nil
			}
		}
		wrong = fmt.Errorf("the link %q leads out of the folder, or in a cycle", name)
		if remove {
			return root.Remove(name)
		}
		return nil
	})
	return errors.Join(wrong, err)
}

// ended is a reader that ends with a context.
type ended struct {
	ctx context.Context
	in  io.Reader
}

func (e *ended) Read(p []byte) (int, error) {
	if e.ctx.Err() != nil {
		return 0, context.Cause(e.ctx)
	}
	return e.in.Read(p)
}

// reason is an error without the path, which its caller adds.
func reason(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	if at, is := errors.AsType[*os.LinkError](err); is {
		return at.Err
	}
	return err
}
