package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/archive"
)

func tarOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		text := ""
		if h.Typeflag == tar.TypeReg || h.Typeflag == 0 {
			text = "text of " + h.Name
			h.Size = int64(len(text))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// zipOf makes a zip archive of names; one with "->" is a link.
func zipOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		name, target, isLink := strings.Cut(name, " -> ")
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		if isLink {
			h.SetMode(fs.ModeSymlink | 0o777)
		} else {
			target = "text of " + name
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		out.Write([]byte(target))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpack unpacks into the folder "in" of a folder in which a file "outside" lies.
func unpack(t *testing.T, data []byte, limits archive.Limits) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string][]byte{"archive": data, "outside": []byte("secret")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(filepath.Join(dir, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return dir, archive.Unpack(context.Background(), file, filepath.Join(dir, "in"), limits)
}

// listing is what lies in a folder, a line each.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, _ := d.Info()
		switch {
		case d.IsDir():
			name += "/"
		case d.Type() == fs.ModeSymlink:
			target, _ := os.Readlink(path)
			name += " -> " + target
		default:
			text, _ := os.ReadFile(path)
			name += fmt.Sprintf(" %o %s", info.Mode(), text)
		}
		lines = append(lines, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestAWholeArchive(t *testing.T) {
	plain := tarOf(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "x"}},
		tar.Header{Name: "./books/", Typeflag: tar.TypeDir, Mode: 0o777},
		tar.Header{Name: "./books/a.rb", Mode: 0o644, Uid: 1000}, tar.Header{Name: "./books/run", Mode: 0o6755},
		tar.Header{Name: "books/latest", Typeflag: tar.TypeSymlink, Linkname: "../books/a.rb"},
		tar.Header{Name: "books/same", Typeflag: tar.TypeLink, Linkname: "books/a.rb"},
		tar.Header{Name: "no/folder/entry", Mode: 0o600})
	want := `books/
books/a.rb 644 text of ./books/a.rb
books/latest -> ../books/a.rb
books/run 755 text of ./books/run
books/same 644 text of ./books/a.rb
no/
no/folder/
no/folder/entry 644 text of no/folder/entry`
	for name, data := range map[string][]byte{"tar": plain, "tar.gz": gzipOf(plain)} {
		dir, err := unpack(t, data, archive.DefaultLimits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := listing(t, dir+"/in"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	dir, err := unpack(t, zipOf(t, "books/run", "latest -> books/run"), archive.DefaultLimits)
	if got := listing(t, dir+"/in"); err != nil || got != "books/\nbooks/run 755 text of books/run\nlatest -> books/run" {
		t.Errorf("zip: %v\n%s", err, got)
	}
}

func TestHostileArchives(t *testing.T) {
	link := func(name, target string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
	}
	for _, c := range []struct {
		name  string
		data  []byte
		wants string
	}{
		{"a name that climbs", tarOf(t, tar.Header{Name: "../outside"}), `"../outside" leads out of the folder`},
		{"a name that climbs later", tarOf(t, tar.Header{Name: "a/../../outside"}), `leads out of the folder`},
		{"an absolute name", tarOf(t, tar.Header{Name: "/etc/cron.d/x"}), `"/etc/cron.d/x" leads out of the folder`},
		{"backslashes", zipOf(t, `..\outside`), `leads out of the folder`},
		{"a zip that climbs", zipOf(t, "../outside"), `"../outside" leads out of the folder`},
		{"a link outwards", tarOf(t, link("out", "../outside")), `the link "out" leads out of the folder, to "../outside"`},
		{"an absolute link", tarOf(t, link("out", "/etc/passwd")), `the link "out" leads out of the folder, to "/etc/passwd"`},
		{"a zip's link outwards", zipOf(t, "out -> ../outside"), `the link "out" leads out of the folder`},
		{"two links that lead out together", tarOf(t, tar.Header{Name: "a/b/", Typeflag: tar.TypeDir},
			link("a/b/up", "../.."), link("m", "a/b/up/../outside")), `the link "m" leads out of the folder`},
		{"the same, in the other order", tarOf(t, tar.Header{Name: "a/b/", Typeflag: tar.TypeDir},
			link("m", "a/b/up/../outside"), link("a/b/up", "../..")), `the link "m" leads out of the folder`},
		{"a link to itself", tarOf(t, link("l", "l")), `in a cycle`},
		{"a hard link of a link", tarOf(t, tar.Header{Name: "a/b/", Typeflag: tar.TypeDir}, link("a/b/l", "../outside"), tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "a/b/l"}), `the link "l" leads out of the folder`},
		{"a hard link outwards", tarOf(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../outside"}), `leads out of the folder`},
		{"a hard link to what is not there", tarOf(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "none"}), `the link "h"`},
		{"a device", tarOf(t, tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), `"null" is a device`},
		{"a pipe", tarOf(t, tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}), `"pipe" is a device, a pipe`},
		{"many bytes", gzipOf(tarOf(t, tar.Header{Name: "a"}, tar.Header{Name: strings.Repeat("b", 90)})), `it is larger than`},
		{"many entries", tarOf(t, tar.Header{Name: "1"}, tar.Header{Name: "2"}, tar.Header{Name: "3"}, tar.Header{Name: "4"}, tar.Header{Name: "5"}), "it has more than 4 entries"},
		{"many folders", tarOf(t, tar.Header{Name: "1/2/3/4/5"}), "it has more than 4 entries"},
		{"many folders beside each other", zipOf(t, "1/a", "2/a", "3/a"), "it has more than 4 entries"},
		{"deep folders", tarOf(t, tar.Header{Name: strings.Repeat("a/", 20_000) + "b"}), "is more than 100 folders deep"},
		{"deep folders without a file", tarOf(t, tar.Header{Name: strings.Repeat("a/", 20_000), Typeflag: tar.TypeDir}), "is more than 100 folders deep"},
		{"half of one", tarOf(t, tar.Header{Name: "a"})[:520], `unexpected EOF`},
		{"no archive", []byte("<html>not found</html>"), archive.ErrUnknown.Error()},
		{"nothing", nil, archive.ErrUnknown.Error()},
		{"xz", []byte("\xfd7zXZ\x00rest"), "use tar.gz"},
	} {
		dir, err := unpack(t, c.data, archive.Limits{Bytes: 64, Entries: 4})
		if err == nil || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: %v, want %s", c.name, err, c.wants)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "outside")); string(text) != "secret" {
			t.Errorf("%s: the file outside holds %q (%v)", c.name, text, err)
		}
		if err := archive.CheckLinks(t.Context(), filepath.Join(dir, "in")); err != nil {
			t.Errorf("%s: left %v", c.name, err)
		}
	}
}

func TestAFileThatComesAfterALinkOfItsName(t *testing.T) {
	dir, err := unpack(t, tarOf(t, tar.Header{Name: "real"}, tar.Header{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "real"}, tar.Header{Name: "x"}),
		archive.DefaultLimits)
	if got := listing(t, dir+"/in"); err != nil || got != "real 644 text of real\nx 644 text of x" {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestALinkThatLeadsOutOfAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if err := archive.CheckLinks(t.Context(), dir); err == nil || !strings.Contains(err.Error(), `"out"`) {
		t.Error(err)
	}
}

func TestUnpackingEnds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tar")
	if err := os.WriteFile(path, tarOf(t, tar.Header{Name: "a"}), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := archive.Unpack(ctx, file, filepath.Join(dir, "in"), archive.DefaultLimits); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := archive.CheckLinks(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
