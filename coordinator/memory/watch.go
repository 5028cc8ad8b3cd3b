package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator"
)

// watch is who waits for changes of one node.
type watch struct{ tokens chan struct{} }

// treeWatch is who waits for changes of a node and all below it.
type treeWatch struct{ queue *pathQueue }

// changed tells those who watch. The tree is locked.
func (t *Tree) changed(path coordinator.Path) {
	for w := range t.watches[path] {
		token(w.tokens)
	}
	for above := path; ; above, _ = split(above) {
		for w := range t.trees[above] {
			w.queue.add(path)
		}
		if above == "" {
			return
		}
	}
}

// Watch implements coordinator.Store.
func (s *session) Watch(ctx context.Context, path coordinator.Path) (<-chan struct{}, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return nil, fail("watch", path, err)
	}
	defer leave()
	t, w := s.tree, &watch{make(chan struct{}, 1)}
	token(w.tokens)
	if t.watches[path] == nil {
		t.watches[path] = map[*watch]struct{}{}
	}
	t.watches[path][w] = struct{}{}
	s.running.Go(func() {
		defer mistake.Ends()
		select {
		case <-ctx.Done():
		case <-s.alive.Done():
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(t.watches[path], w); len(t.watches[path]) == 0 {
			delete(t.watches, path)
		}
		close(w.tokens)
	})
	return w.tokens, nil
}

// WatchTree implements coordinator.Store. The paths that exist come first.
func (s *session) WatchTree(ctx context.Context, path coordinator.Path) (<-chan coordinator.Path, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return nil, fail("watch", path, err)
	}
	defer leave()
	t, w := s.tree, &treeWatch{newPathQueue()}
	w.queue.add(path)
	for _, below := range t.below(path) {
		w.queue.add(below)
	}
	if t.trees[path] == nil {
		t.trees[path] = map[*treeWatch]struct{}{}
	}
	t.trees[path][w] = struct{}{}
	paths := make(chan coordinator.Path)
	s.running.Go(func() {
		defer mistake.Ends()
		w.queue.handOver(ctx, s.alive, paths)
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(t.trees[path], w); len(t.trees[path]) == 0 {
			delete(t.trees, path)
		}
		close(paths)
	})
	return paths, nil
}

// below returns the paths below one, parents first.
func (t *Tree) below(path coordinator.Path) []coordinator.Path {
	var paths []coordinator.Path
	for p := range t.nodes {
		if path == "" || strings.HasPrefix(string(p), string(path)+"/") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}
