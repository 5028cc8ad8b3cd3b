package yaml

// slab makes many things at once: templates have hundreds of thousands of nodes.
type slab[T any] struct {
	free  []T
	again []T // what is taken from again after rewind
	taken int
}

// take takes some from what there is, which is made for a usual number at once.
func (s *slab[T]) take(count, usual int) []T {
	if len(s.free) < count {
		s.free = make([]T, max(count, usual))
	}
	own := s.free[:count:count]
	s.free = s.free[count:]
	s.taken += count
	return own
}

// rewind makes everything that was taken empty again, for others to take.
func (s *slab[T]) rewind() {
	if s.taken > len(s.again) {
		s.again = make([]T, s.taken*5/4)
	} else {
		clear(s.again[:s.taken])
	}
	s.free, s.taken = s.again, 0
}
