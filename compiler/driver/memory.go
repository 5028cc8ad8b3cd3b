package driver

// Memory caches what drivers have computed from the sources of one program: similar servers
// run the same scripts and cookbooks, which are analysed and kept only once. It is not
// safe for concurrent use.
type Memory struct{ found map[any]any }

// Once returns the result of find for a key, computed the first time and shared
// afterwards: callers must not change it. Each driver has its own key types, so that
// keys do not collide. A nil Memory caches nothing.
func Once[K comparable, V any](m *Memory, key K, find func() V) V {
	if m == nil {
		return find()
	}
	if v, known := m.found[key]; known {
		return v.(V)
	}
	v := find()
	if m.found == nil {
		m.found = map[any]any{}
	}
	m.found[key] = v
	return v
}

// beside is a key for a file or folder beside a template.
type beside[K comparable] struct {
	folder, name string
	what         K
}

// OnceBeside is Once for results from a file or folder that a role's source names.
func OnceBeside[K comparable, V any](r Role, name string, key K, find func() V) V {
	return Once(r.Memory, beside[K]{r.Folder, name, key}, find)
}
