package yaml

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
)

// compareDirect compares the direct reading of a text, if there is one, with that
// of the library: the same tree, places and findings. It says whether there was one.
func compareDirect(t testing.TB, text string) bool {
	t.Helper()
	if _, bad := notText([]byte(text)); bad || !readsDirectly([]byte(text)) {
		return false
	}
	file := source.NewFile("t.yaml", []byte(text))
	var found, want source.Diagnostics
	root := readDirect(file, &found)
	if root == nil {
		return false
	}
	whole := parseWhole(file, &want, false)
	if whole == nil {
		t.Errorf("read directly, but %v: %q", want.All()[0], text)
		return true
	}
	if where := nodesDiffer(whole, root, ""); where != "" {
		t.Errorf("%s\n%q", where, text)
	}
	if !reflect.DeepEqual(found.All(), want.All()) {
		t.Errorf("findings %v, not %v: %q", found.All(), want.All(), text)
	}
	return true
}

func nodesDiffer(a, b *Node, path string) string {
	if a.Kind != b.Kind || a.Style != b.Style || a.Span != b.Span || a.Target() != nil || len(a.Merges()) > 0 || len(a.Lost()) != len(b.Lost()) || len(a.Items) != len(b.Items) || len(a.Entries) != len(b.Entries) {
		return fmt.Sprintf("%s: in one it is %v %v at %v with %d and %d, and here %v %v at %v with %d and %d", path, a.Kind, a.Style, a.Span, len(a.Items), len(a.Entries),
			b.Kind, b.Style, b.Span, len(b.Items), len(b.Entries))
	}
	if x, ok := a.Value.(float64); ok && math.IsNaN(x) {
		if y, ok := b.Value.(float64); !ok || !math.IsNaN(y) {
			return path + ": NaN"
		}
	} else if !reflect.DeepEqual(a.Value, b.Value) {
		return fmt.Sprintf("%s: in one it is %#v, and here %#v", path, a.Value, b.Value)
	}
	for i := range a.Items {
		if where := nodesDiffer(a.Items[i], b.Items[i], fmt.Sprintf("%s/%d", path, i)); where != "" {
			return where
		}
	}
	if where := entriesDiffer(a.Lost(), b.Lost(), path+" lost"); where != "" {
		return where
	}
	return entriesDiffer(a.Entries, b.Entries, path)
}

func entriesDiffer(a, b []Entry, path string) string {
	for i := range a {
		x, y := a[i], b[i]
		if x.Name != y.Name || x.Merged {
			return fmt.Sprintf("%s: the key %q, and here %q", path, x.Name, y.Name)
		}
		if x.Key != y.Key || x.number != y.number {
			return fmt.Sprintf("%s: the key %q at %v, and here at %v", path, x.Name, x.Key, y.Key)
		}
		if where := nodesDiffer(x.Value, y.Value, path+"/"+x.Name); where != "" {
			return where
		}
	}
	return ""
}

// What is read directly is what the library reads: texts of all kinds, with and
// without mistakes.
func TestReadsDirectlyAsTheLibrary(t *testing.T) {
	count, all := 0, 0
	try := func(text string) {
		if all++; compareDirect(t, text) {
			count++
		}
	}
	for _, scalar := range trickyScalars {
		for _, form := range []string{"a: %s\n", "a: [%s, b]\n", "%s: a\n", "a:\n  - %s\n", "a: {b: %s}\n", "a: {%s: b}\n", "a: '%s'\n", "a: \"%s\"\n", "a:\n  %s\n", "- %s", "a: %s # c\nb:\n"} {
			try(strings.ReplaceAll(form, "%s", scalar))
		}
	}
	for _, text := range trickyTexts {
		try(text)
	}
	for s := range seedtest.Each(t, seedtest.Cases(20_000, 1000)) {
		g := rand.New(rand.NewPCG(s, 7))
		text := randomText(g)
		if s%4 > 0 {
			text = withMistakes(g, text)
		}
		try(text)
		if t.Failed() {
			t.FailNow()
		}
	}
	if count < all/20 {
		t.Errorf("only %d of %d texts are read directly", count, all)
	}
}

// The examples of the project are read directly, but for those that show what is not.
func TestExamplesAreReadDirectly(t *testing.T) {
	direct, other := 0, []string(nil)
	err := filepath.WalkDir("../../testdata", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if compareDirect(t, string(text)) {
			direct++
		} else {
			other = append(other, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(other) > direct/10 {
		t.Errorf("%d examples are read directly, and these are not: %v", direct, other)
	}
}

// FuzzDirect looks for texts that are read directly and otherwise than by the
// library.
func FuzzDirect(f *testing.F) {
	for _, text := range trickyTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compareDirect(t, text) })
}
