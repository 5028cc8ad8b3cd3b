package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is a journal's storage: a folder (Folder) or, in the simulation, a disk that loses
// unsynced data in a crash (runtime/simulationtest).
type Disk interface {
	// Lock excludes other agents until it is closed; it may return ErrLocked.
	Lock() (io.Closer, error)
	// Read returns a file's content, or fs.ErrNotExist.
	Read(name string) ([]byte, error)
	// Create truncates a file, Append opens it at its end.
	Create(name string) (File, error)
	Append(name string) (File, error)
	// Rename renames a file; Sync syncs the names to the disk.
	Rename(from, to string) error
	Sync() error
}

// File is a file opened for appending.
type File interface {
	io.WriteCloser
	Truncate(size int64) error
	// Sync syncs what was written to the disk.
	Sync() error
}

// Folder is a folder of the file system. Lock creates it, accessible only to its owner, or refuses
// one that is not its owner's alone.
type Folder string

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

func (f Folder) Lock() (io.Closer, error) {
	above := f.above()
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, fmt.Errorf("create the state folder: %w", err)
	}
	if err := f.claim(); err != nil {
		return nil, err
	}
	for _, folder := range above { // which have the names
		if err := folder.Sync(); err != nil {
			return nil, fmt.Errorf("sync the folder of the state folder: %w", err)
		}
	}
	lock, err := os.OpenFile(f.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := flock(lock); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", f.path("lock"), ErrLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", f.path("lock"), err)
	}
	return lock, nil
}

// above are the folder above, and those in which one above it is still to be made.
func (f Folder) above() []Folder {
	all := []Folder{Folder(filepath.Dir(string(f)))}
	for {
		last := all[len(all)-1]
		if _, err := os.Stat(string(last)); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, Folder(filepath.Dir(string(last))))
	}
}

// claim closes the folder to other users: an image may bring one in which everybody may write. It
// refuses what they may have put there before, or have open: through it they would read secrets,
// or choose where root writes. They can put nothing into the closed folder, so a path that was
// checked here still leads to the same file later.
func (f Folder) claim() error {
	info, err := os.Lstat(string(f))
	if err == nil {
		err = refuse(string(f), info, false)
	}
	if err == nil {
		err = os.Chmod(string(f), 0o700)
	}
	if err != nil {
		return fmt.Errorf("restrict access to the state folder: %w", err)
	}
	entries, err := os.ReadDir(string(f))
	for i := 0; i < len(entries) && err == nil; i++ {
		if info, gone := entries[i].Info(); gone == nil { // else the agent that has the lock has renamed it
			err = refuse(f.path(entries[i].Name()), info, true)
		}
	}
	if err != nil {
		return fmt.Errorf("check what is in the state folder: %w", err)
	}
	return nil
}

// refuse returns an error unless a file or folder is this user's alone.
func refuse(path string, info fs.FileInfo, closed bool) error {
	stat, _ := info.Sys().(*syscall.Stat_t)
	mode, what := info.Mode(), ""
	switch {
	case !mode.IsDir() && !mode.IsRegular():
		what = "is a link or the like, not a file or a folder"
	case stat == nil || int(stat.Uid) != os.Geteuid():
		what = fmt.Sprintf("does not belong to the agent's user, whose number is %d", os.Geteuid())
	case mode.IsRegular() && stat.Nlink > 1:
		what = "has another name elsewhere (a hard link)"
	case closed && (mode.Perm()&0o022 != 0 || mode.IsRegular() && mode.Perm()&0o077 != 0):
		what = fmt.Sprintf("is open to other users (its mode is %#o)", mode.Perm())
	default:
		return nil
	}
	return fmt.Errorf("%s %s: another user may have put it there, or have it open, to read or change what the agent writes; "+
		"see what it is and move it away, then start the agent again (without its journal it is a new machine)", path, what)
}

// flock acquires the lock. An agent that was killed while it started a process releases
// the lock only when that process has called exec.
func flock(lock *os.File) error {
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockPatience / 100) {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			return err
		}
	}
}

const lockPatience = 2 * time.Second

func (f Folder) Read(name string) ([]byte, error) { return os.ReadFile(f.path(name)) }

func (f Folder) Create(name string) (File, error) {
	return open(f.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND)
}

func (f Folder) Append(name string) (File, error) {
	return open(f.path(name), os.O_WRONLY|os.O_APPEND)
}

// open keeps a nil *os.File from becoming a non-nil File.
func open(path string, flags int) (File, error) {
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return onDisk{file}, nil
}

// onDisk is a file of a Folder.
type onDisk struct{ *os.File }

// Reserve allocates room for later writes, if the file system supports that.
func (f onDisk) Reserve(room int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), room)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return nil
}

func (f Folder) Rename(from, to string) error { return os.Rename(f.path(from), f.path(to)) }

func (f Folder) Sync() error {
	folder, err := os.Open(string(f))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
