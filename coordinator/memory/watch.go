package memory

import (
	"context"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// changed notifies the watchers of a node. The tree is locked.
func (t *Tree) changed(path store.Path) {
	for tokens := range t.watches[path] {
		store.Wake(tokens)
	}
}

func (s *session) Watch(ctx context.Context, path store.Path) (<-chan struct{}, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return nil, fail(opWatch, path, err)
	}
	defer leave()
	t, tokens := s.tree, make(chan struct{}, 1)
	store.Wake(tokens)
	if t.watches[path] == nil {
		t.watches[path] = map[chan struct{}]struct{}{}
	}
	t.watches[path][tokens] = struct{}{}
	mistake.GoIn(&s.running, func() {
		select {
		case <-ctx.Done():
		case <-s.alive.Done():
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(t.watches[path], tokens); len(t.watches[path]) == 0 {
			delete(t.watches, path)
		}
		close(tokens)
	})
	return tokens, nil
}
