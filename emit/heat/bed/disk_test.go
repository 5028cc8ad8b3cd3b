//go:build e2e

package bed_test

import (
	"strings"
	"testing"
)

// ZooKeeper's disk is full: it ends, as ZooKeeper does then, and when there is
// room again, nothing was lost.
func TestZooKeepersDiskFull(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 1)
	d := blocked(t, "crammed", zk)
	do(t, zk.Members[0].FillDisk())
	value := strings.Repeat("more than a page of memory has left ", 1000)
	open(t, d.server("writer"), value)
	until(t, "ZooKeeper to end", zk.Members[0].Ended)
	do(t, zk.Members[0].FreeDisk())
	do(t, zk.Members[0].Start())
	d.wellDone(value)
}
