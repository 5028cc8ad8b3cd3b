package driver

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Mentions are the words that stand in some texts. A name of which a word is not among
// them is written down nowhere there: nothing reads or writes it, unless something puts
// names together, which a driver must look for itself.
type Mentions struct {
	own    map[string]bool
	joined []*Mentions
}

// word is what an identifier, or a part of a key, is made of.
var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// Add takes a text's words.
func (m *Mentions) Add(text string) {
	if m.own == nil {
		m.own = map[string]bool{}
	}
	for _, w := range word.FindAllString(text, -1) {
		m.own[w] = true
	}
}

// Join takes the words of others, which stay theirs.
func (m *Mentions) Join(others *Mentions) { m.joined = append(m.joined, others) }

// AddTree takes the words of all files of a tree, and of their names, and shows each
// file. It returns an error if not all of them can be read.
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

// Has says whether all words of a name are there. A name with other letters than those
// of words is taken to be.
func (m *Mentions) Has(name string) bool {
	words := word.FindAllString(name, -1)
	other := strings.ContainsFunc(name, func(r rune) bool { return r > 127 })
	return other || !slices.ContainsFunc(words, func(w string) bool { return !m.has(w) })
}

// Near is the word that was most likely meant by one that is not there; "" if none looks
// like it. Most short words look like some other one.
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
