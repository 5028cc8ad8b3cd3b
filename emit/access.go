package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Access is how hotc reads the files of the machine it runs on: templates, environments, and
// every file they name.
type Access interface {
	// Read reads a file.
	Read(path string) ([]byte, error)
	// Open opens a folder; reads through the result stay inside that folder.
	Open(path string) (fs.FS, error)
}

// MaxFile is the size limit of a file that hotc reads, in bytes.
const MaxFile = 64 << 20

// Machine gives access to every file that the user can read.
type Machine struct{}

func (Machine) Read(path string) ([]byte, error) {
	file, size, err := openRegular(func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (*os.File, error) { return os.OpenFile(path, openFlags, 0) })
	if err != nil {
		return nil, err
	}
	return readAll(file, size)
}

func (Machine) Open(path string) (fs.FS, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return tree{root}, nil
}

// Confined gives access to one folder (the template's, or one the user named) and to files that
// the user named; no link leads out of their folders. It is for untrusted templates.
type Confined struct {
	folder string // absolute
	whose  string // for messages
	files  tree
	named  []string // absolute
	left   *int     // bytes
}

// maxConfined is how many bytes an untrusted template can read in total.
const maxConfined = 64 << 20

// Confine returns the access for a template and the environments that the user named.
func Confine(template string, environments []string) (*Confined, error) {
	return confine(filepath.Dir(template), template, "the template's folder", environments)
}

// ConfineTo returns the access for the templates of a folder that the user named.
func ConfineTo(dir string, environments []string) (*Confined, error) {
	return confine(dir, dir, "the folder "+dir, environments)
}

// confine returns the access to a folder; named is the path the user named.
func confine(dir, named, whose string, environments []string) (c *Confined, err error) {
	defer func() {
		if err != nil {
			c, err = nil, CannotRead(named, err)
		}
	}()
	c = &Confined{whose: whose, left: new(maxConfined)}
	if c.files, err = folderWithin(dir); err != nil {
		return nil, err
	}
	if c.folder, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, name := range environments {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		c.named = append(c.named, path)
	}
	return c, nil
}

// folderWithin opens a folder; one below the working directory, however it is named, is not reached
// through links that lead out of it. Any other is no link itself.
func folderWithin(dir string) (tree, error) {
	where, err := os.Getwd()
	if err != nil {
		return tree{}, err
	}
	real, err := filepath.EvalSymlinks(where)
	if err != nil {
		return tree{}, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return tree{}, err
	}
	for _, here := range []string{where, real} {
		if below, err := filepath.Rel(here, abs); err == nil && filepath.IsLocal(below) {
			dir = below
		}
	}
	if !filepath.IsLocal(dir) {
		if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return tree{}, errors.New("it is a link, which is not followed with --untrusted: name the folder that it leads to")
		}
		root, err := os.OpenRoot(abs)
		return tree{root}, err
	}
	here, err := os.OpenRoot(".")
	if err != nil {
		return tree{}, err
	}
	defer here.Close()
	root, err := here.OpenRoot(dir)
	return tree{root}, err
}

func (c *Confined) Read(path string) ([]byte, error) {
	name, err := c.local(path)
	files := c.files
	if abs, _ := filepath.Abs(path); err != nil && slices.Contains(c.named, abs) {
		if files, err = folderWithin(filepath.Dir(path)); err == nil {
			defer files.root.Close()
			name = filepath.Base(path)
		}
	}
	if err != nil {
		return nil, err
	}
	return counted{files, c.left}.ReadFile(filepath.ToSlash(name))
}

func (c *Confined) Open(path string) (fs.FS, error) {
	name, err := c.local(path)
	if err != nil {
		return nil, err
	}
	root, err := c.files.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return counted{tree{root}, c.left}, nil
}

// local returns a path relative to the folder.
func (c *Confined) local(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if name, err := filepath.Rel(c.folder, abs); err == nil && filepath.IsLocal(name) {
		return name, nil
	}
	return "", fmt.Errorf("it is outside %s, and an untrusted template may read nothing else (--untrusted)", c.whose)
}

// tree is a folder that no link leads out of, and in which only regular files are opened.
type tree struct{ root *os.Root }

// counted is a tree with a limit on how much is read.
type counted struct {
	tree
	left *int
}

func (t counted) ReadFile(name string) ([]byte, error) {
	text, err := t.tree.ReadFile(name)
	if *t.left -= len(text); err == nil && *t.left < 0 {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("with it, more than %d MiB would be read, the limit for an untrusted template", maxConfined>>20)}
	}
	return text, err
}

func (t tree) Open(name string) (fs.File, error) {
	if info, err := t.Stat(name); err != nil || info.IsDir() {
		return t.root.FS().Open(name)
	}
	file, _, err := t.regular(name)
	if err != nil {
		return nil, asPathError(name, err)
	}
	return file, nil
}

func (t tree) ReadFile(name string) ([]byte, error) {
	file, size, err := t.regular(name)
	if err != nil {
		return nil, asPathError(name, err)
	}
	text, err := readAll(file, size)
	return text, asPathError(name, err)
}

func (t tree) regular(name string) (*os.File, int64, error) {
	return openRegular(func() (fs.FileInfo, error) { return t.Stat(name) },
		func() (*os.File, error) { return t.root.OpenFile(filepath.FromSlash(name), openFlags, 0) })
}

func asPathError(name string, err error) error {
	if _, is := errors.AsType[*fs.PathError](err); err == nil || is {
		return err
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}

func (t tree) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(t.root.FS(), name) }
func (t tree) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(t.root.FS(), name) }
func (t tree) ReadLink(name string) (string, error)       { return fs.ReadLink(t.root.FS(), name) }
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.root.FS(), name) }

// openFlags avoid blocking on a pipe without a writer.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// openRegular opens regular files only: no folder, device or pipe, and no kernel view, which
// would differ between machines or never end.
func openRegular(stat func() (fs.FileInfo, error), open func() (*os.File, error)) (file *os.File, size int64, err error) {
	info, err := stat()
	if err == nil {
		err = checkRegular(info) // opening a device may have side effects
	}
	if err != nil {
		return nil, 0, err
	}
	if file, err = open(); err != nil {
		return nil, 0, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(info)
	}
	if err == nil {
		err = checkStored(file)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// readAll reads a file, which may grow while it is read, and closes it.
func readAll(file *os.File, size int64) ([]byte, error) {
	defer file.Close()
	text := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := text.ReadFrom(io.LimitReader(file, MaxFile+1)); err != nil {
		return nil, err
	}
	if text.Len() > MaxFile {
		return nil, tooLarge(int64(text.Len()))
	}
	return text.Bytes(), nil
}

func checkRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() > MaxFile:
		return tooLarge(info.Size())
	}
	return nil
}

func tooLarge(size int64) error {
	return fmt.Errorf("it has %d bytes; hotc reads at most %d", size, MaxFile)
}

// CannotRead explains why a file cannot be read.
func CannotRead(path string, err error) *source.Diagnostic {
	if err = source.Bare(err); err.Error() == "path escapes from parent" { // not exported by os
		err = errors.New("a link leads out of the folder")
	}
	return source.Fail(source.CannotRead, fmt.Sprintf("cannot read %s: %v", path, err), "")
}
