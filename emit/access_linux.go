package emit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// kernelViews are file systems whose files the kernel generates on read.
var kernelViews = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.DEBUGFS_MAGIC: true, unix.TRACEFS_MAGIC: true, unix.SECURITYFS_MAGIC: true,
	unix.CGROUP_SUPER_MAGIC: true, unix.CGROUP2_SUPER_MAGIC: true, unix.BPF_FS_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.PSTOREFS_MAGIC: true,
	unix.SELINUX_MAGIC: true, unix.SMACK_MAGIC: true, unix.NSFS_MAGIC: true, unix.BINFMTFS_MAGIC: true, configfs: true,
}

const configfs = 0x62656570

// checkStored refuses files that are not stored, wherever their file system is mounted.
func checkStored(file *os.File) error {
	var in unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &in); err != nil {
		return err
	}
	if kernelViews[int64(in.Type)] {
		return errors.New("it is not a file that is stored somewhere, but a view into this machine's kernel")
	}
	return nil
}
