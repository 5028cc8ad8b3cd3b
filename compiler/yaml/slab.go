package yaml

// slab allocates in batches: templates can have hundreds of thousands of nodes.
type slab[T any] struct {
	free  []T
	again []T // the batch to reuse after rewind
	taken int
}

// take returns count elements; usual is the size of a new batch.
func (s *slab[T]) take(count, usual int) []T {
	if len(s.free) < count {
		s.free = make([]T, max(count, usual))
	}
	own := s.free[:count:count]
	s.free = s.free[count:]
	s.taken += count
	return own
}

// rewind clears everything that was taken, for reuse.
func (s *slab[T]) rewind() {
	if s.taken > len(s.again) {
		s.again = make([]T, s.taken*5/4)
	} else {
		clear(s.again[:s.taken])
	}
	s.free, s.taken = s.again, 0
}
