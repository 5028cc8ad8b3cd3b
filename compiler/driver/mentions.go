package driver

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Mentions are the words of some texts. A name with a word that is not among them is
// not read or written there, unless by a computed name, which each driver must detect
// itself.
type Mentions struct {
	own    map[string]bool
	joined []*Mentions
}

// word matches an identifier, or a part of a key.
var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// Add adds a text's words.
func (m *Mentions) Add(text string) {
	if m.own == nil {
		m.own = map[string]bool{}
	}
	for _, w := range word.FindAllString(text, -1) {
		m.own[w] = true
	}
}

// Join includes the words of others, without copying them.
func (m *Mentions) Join(others *Mentions) { m.joined = append(m.joined, others) }

// AddTree adds the words of all files of a tree and of their names, and passes each file
// to see. It returns an error if any file cannot be read.
func (m *Mentions) AddTree(tree fs.FS, see func(name, text string)) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		m.Add(name)
		m.Add(string(data))
		see(name, string(data))
		return nil
	})
}

func (m *Mentions) has(word string) bool {
	return m.own[word] || slices.ContainsFunc(m.joined, func(j *Mentions) bool { return j.has(word) })
}

// Has reports whether all words of a name are mentioned. A name with characters that
// words do not have is assumed to be.
func (m *Mentions) Has(name string) bool {
	words := word.FindAllString(name, -1)
	other := strings.ContainsFunc(name, func(r rune) bool { return r > 127 })
	return other || !slices.ContainsFunc(words, func(w string) bool { return !m.has(w) })
}

// Near returns the most similar word to a missing one; "" if none is close. Short words
// are skipped: most resemble another.
func (m *Mentions) Near(name string) string {
	if len(name) < 4 {
		return ""
	}
	known := map[string]bool{}
	m.all(known)
	return hot.Nearest(name, slices.Sorted(maps.Keys(known)))
}

func (m *Mentions) all(into map[string]bool) {
	maps.Copy(into, m.own)
	for _, j := range m.joined {
		j.all(into)
	}
}
