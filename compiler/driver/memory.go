package driver

// Memory is what drivers have found out of the sources of one program. Servers of a
// kind run the same scripts and have the same cookbooks: what these mean by themselves is
// found once, and in memory once. It is for one goroutine.
type Memory struct{ found map[any]any }

// Once gives what find finds for a key, the first time; later the same again, which
// therefore nobody changes. The key's type is the driver's own, so that drivers do
// not meet. A nil Memory remembers nothing.
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

// beside is something that lies beside a template, and what is found of it.
type beside[K comparable] struct {
	folder, name string
	what         K
}

// OnceBeside is Once for what is found in a file or folder that a role's source names.
func OnceBeside[K comparable, V any](r Role, name string, key K, find func() V) V {
	return Once(r.Memory, beside[K]{r.Folder, name, key}, find)
}
