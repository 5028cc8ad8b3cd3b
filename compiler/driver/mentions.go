package driver

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Mentions are the words that stand in some texts. A name of which a word is not among
// them is written down nowhere there: nothing reads or writes it, unless something puts
// names together, which a driver must look for itself.
type Mentions map[string]bool

// word is what an identifier, or a part of a key, is made of.
var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// Add takes a text's words.
func (m Mentions) Add(text string) {
	for _, w := range word.FindAllString(text, -1) {
		m[w] = true
	}
}

// AddTree takes the words of all files of a tree, and of their names, and shows each
// file. It returns an error if not all of them can be read.
func (m Mentions) AddTree(tree fs.FS, see func(name, text string)) error {
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

// Has says whether all words of a name are there. A name with other letters than those
// of words is taken to be.
func (m Mentions) Has(name string) bool {
	words := word.FindAllString(name, -1)
	other := strings.ContainsFunc(name, func(r rune) bool { return r > 127 })
	return other || !slices.ContainsFunc(words, func(w string) bool { return !m[w] })
}

// Near is the word that was most likely meant by one that is not there; "" if none looks
// like it. Most short words look like some other one.
func (m Mentions) Near(name string) string {
	if len(name) < 4 {
		return ""
	}
	known := make([]string, 0, len(m))
	for w := range m {
		known = append(known, w)
	}
	slices.Sort(known)
	return hot.Nearest(name, known)
}
