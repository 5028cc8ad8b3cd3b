package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// ZooKeeper stores quotas as nodes: /zookeeper/quota/PATH/zookeeper_limits is the quota of PATH,
// zookeeper_stats its usage. Everyone may create such nodes, unless an administrator has changed
// that; their creators choose their rights. ZooKeeper 3.7 and later refuses writes over a quota if
// it was started with enforceQuota=true; otherwise it only logs them.
const (
	quotas     = "/zookeeper/quota"
	limitsName = "zookeeper_limits"
	statsName  = "zookeeper_stats"
)

func (s *client) SetLimit(ctx context.Context, path store.Path, l store.Limit, owner store.Principal) error {
	at := quotas + s.at(path)
	if err := s.setLimit(ctx, at, l, []zk.ACL{entryOf(owner, store.MayAll)}); err != nil {
		return fail("limit", path, err)
	}
	return nil
}

func (s *client) setLimit(ctx context.Context, at string, l store.Limit, own []zk.ACL) error {
	if l == (store.Limit{}) {
		for _, node := range []string{at + "/" + limitsName, at + "/" + statsName, at} {
			err := s.remove(ctx, node, -1)
			if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) {
				return err
			}
		}
		return nil
	}
	for i := len(quotas) + 1; i < len(at); i++ {
		if at[i] != '/' {
			continue
		}
		if err := s.make(ctx, at[:i], nil, openACL); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	text := []byte(limitText(l))
	for _, n := range []struct {
		path string
		data []byte
	}{{at, nil}, {at + "/" + limitsName, text}, {at + "/" + statsName, []byte("count=0,bytes=0")}} {
		err := s.make(ctx, n.path, n.data, own)
		if errors.Is(err, zk.ErrNodeExists) {
			var list []zk.ACL
			if _, list, err = s.accessList(ctx, n.path); err == nil && !s.sameRights(list, own) {
				err = store.ErrRights
			}
		}
		if err != nil {
			return err
		}
	}
	_, err := ask(ctx, s, write, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(at+"/"+limitsName, text, -1) })
	return err
}

func (s *client) make(ctx context.Context, at string, data []byte, list []zk.ACL) error {
	_, err := ask(ctx, s, write, func(c *zk.Conn) (string, error) { return c.Create(at, bytesOf(data), 0, list) })
	return err
}

func (s *client) remove(ctx context.Context, at string, version int32) error {
	_, err := ask(ctx, s, write, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(at, version) })
	return err
}

// limitText is a quota in ZooKeeper's format (org.apache.zookeeper.StatsTrack): soft limits first,
// here none, then the hard ones after a second "=".
func limitText(l store.Limit) string {
	hard := func(n int64) int64 {
		if n == 0 {
			return -1
		}
		return n
	}
	return fmt.Sprintf("count=-1,bytes=-1=;byteHardLimit=%d;countHardLimit=%d", hard(l.Bytes), hard(l.Nodes))
}

func (s *client) Surroundings(ctx context.Context) (store.Rights, error) {
	_, list, err := s.accessList(ctx, "/")
	if errors.Is(err, zk.ErrNoAuth) {
		return 0, nil
	}
	if err != nil {
		return 0, fail("read the rights of", "/", err)
	}
	return holders(list)[store.Everyone], nil
}
