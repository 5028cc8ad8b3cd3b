package role

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"
)

// mask knows the secrets that a role has read or written, and removes them from what
// leaves the server besides cells: the role's output and the reasons of its failure; and
// from the output that is kept on the server. It is best effort: a secret that is printed
// in another form (encoded, a character per line) is not found.
type mask struct {
	mu    sync.Mutex
	texts [][]byte // longest first
}

// shortestMasked is the minimum length of a secret, in bytes: masking every "1" would hide
// nothing and make the log unreadable.
const shortestMasked = 4

// masked replaces a secret.
var masked = []byte("(secret)")

// add adds the strings in a secret value.
func (m *mask) add(value json.RawMessage) {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addAll(v)
	sort.SliceStable(m.texts, func(i, k int) bool { return len(m.texts[i]) > len(m.texts[k]) })
}

func (m *mask) addAll(v any) {
	switch v := v.(type) {
	case string:
		m.addText(v)
		escaped, err := json.Marshal(v)
		if err == nil {
			m.addText(string(escaped[1 : len(escaped)-1]))
		}
		for line := range strings.Lines(v) {
			m.addText(strings.TrimSpace(line))
		}
	case json.Number:
		m.addText(v.String())
	case []any:
		for _, x := range v {
			m.addAll(x)
		}
	case map[string]any:
		for _, x := range v {
			m.addAll(x)
		}
	}
}

func (m *mask) addText(text string) {
	text = strings.TrimRight(text, "\r\n")
	known := func(x []byte) bool { return string(x) == text }
	if len(text) >= shortestMasked && !slices.ContainsFunc(m.texts, known) {
		m.texts = append(m.texts, []byte(text))
	}
}

// hide returns a copy of a text without the secrets.
func (m *mask) hide(text []byte) []byte {
	if m == nil {
		return text
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, secret := range m.texts {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, masked)
		}
	}
	return text
}

// overwrite overwrites the secrets in a file, from an offset on.
func (m *mask) overwrite(file interface {
	io.ReaderAt
	io.WriterAt
}, from int64) error {
	longest := m.longest()
	if longest == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	part := make([]byte, 1<<20+longest)
	for {
		n, err := file.ReadAt(part, from)
		for _, secret := range m.texts {
			for at := 0; ; at += len(secret) {
				next := bytes.Index(part[at:n], secret)
				if next < 0 {
					break
				}
				at += next
				blank := part[at : at+len(secret)]
				for i := range blank {
					blank[i] = '*'
				}
				if _, err := file.WriteAt(blank, from+int64(at)); err != nil {
					return err
				}
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		from += 1 << 20
	}
}

// longest is the length of the longest secret, in bytes.
func (m *mask) longest() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.texts) == 0 {
		return 0
	}
	return int64(len(m.texts[0]))
}
