package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/runtime/archive"
	"github.com/hotc-dev/hotc/runtime/fetch"
)

// fromURL installs a package, or unpacks an archive into its own folder.
func (r *run) fromURL() error {
	if err := os.MkdirAll(r.Folder, 0o755); err != nil {
		return err
	}
	name := path.Base(r.want.URL)
	if i := strings.IndexAny(name, "?#"); i >= 0 {
		name = name[:i]
	}
	folder, err := os.MkdirTemp(r.Folder, "package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	// apt reads packages as its own user
	if err := os.Chmod(folder, 0o755); err != nil {
		return err
	}
	file := filepath.Join(folder, strings.TrimLeft(strings.ReplaceAll(name, "%", "_"), "-"))
	download := fetch.Download{URL: r.want.URL, SHA256: r.want.SHA256, Proxy: r.want.Proxy}
	if err := download.To(r.ctx, file); err != nil {
		return err
	}
	if err := os.Chmod(file, 0o644); err != nil {
		return err
	}
	if r.tool.Version != nil {
		return r.file(file)
	}
	if err := os.RemoveAll(r.note(r.tool)); err != nil {
		return err
	}
	if err := r.file(file); err != nil {
		return err
	}
	return os.WriteFile(r.note(r.tool), []byte(r.want.SHA256), 0o644)
}

// Magic numbers of packages and programs.
var (
	debMagic = []byte("!<arch>\n")
	rpmMagic = []byte{0xed, 0xab, 0xee, 0xdb}

	elfMagic    = []byte("\x7fELF")
	scriptMagic = []byte("#!")
)

func (r *run) file(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 8)
	if _, err := io.ReadFull(file, head); err != nil {
		return fmt.Errorf("%s is empty", filepath.Base(name))
	}
	switch {
	case bytes.HasPrefix(head, debMagic):
		return r.packageFile("apt", name, ".deb")
	case bytes.HasPrefix(head, rpmMagic):
		return r.packageFile("dnf", name, ".rpm")
	case strings.HasSuffix(name, ".apk"):
		return r.packageFile("apk", name, ".apk")
	}
	own := filepath.Join(r.Folder, r.tool.Name)
	if err := os.RemoveAll(own); err != nil {
		return err
	}
	if bytes.HasPrefix(head, elfMagic) || bytes.HasPrefix(head, scriptMagic) {
		return r.program(name, own)
	}
	err = archive.Unpack(r.ctx, file, own, archive.DefaultLimits)
	if errors.Is(err, archive.ErrUnknown) {
		return fmt.Errorf("%s is neither a package (deb, rpm, apk), nor an archive (tar, tar.gz, tar.bz2, zip), nor a program", filepath.Base(name))
	}
	return err
}

// program installs a file that is the program itself into the tool's folder.
func (r *run) program(name, own string) error {
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(name, 0o755); err != nil {
		return err
	}
	return os.Rename(name, filepath.Join(own, r.tool.Program))
}

func (r *run) packageFile(kind, name, suffix string) error {
	m, err := r.manager()
	if err != nil {
		return err
	}
	if m.name != kind && !(kind == "dnf" && m.name == "zypper") {
		return fmt.Errorf("%s is a package for %s, but this server has %s", filepath.Base(name), kind, m.name)
	}
	// apt recognises a file by its suffix
	if !strings.HasSuffix(name, suffix) {
		if err := os.Rename(name, name+suffix); err != nil {
			return err
		}
		name += suffix
	}
	switch {
	case m.name == "apk":
		m.install = append(slices.Clone(m.install), "--allow-untrusted")
	case m.name == "zypper":
		m.install = append(slices.Clone(m.install), "--allow-unsigned-rpm")
	}
	return r.packages(m, []string{name}, r.isThere)
}

// fromGem installs a Ruby gem, and Ruby first if it is missing.
func (r *run) fromGem() error {
	if r.tool.Gem == "" {
		return errors.New("it has no gem")
	}
	if r.tool.GemLicence != "" && r.want.Licence == "" {
		return errors.New(r.tool.GemLicence)
	}
	if r.lookUp("gem") == "" || len(r.tool.GemNeeds) > 0 {
		m, err := r.manager()
		if err != nil {
			return err
		}
		if needs := r.tool.GemNeeds[m.name]; len(needs) > 0 {
			if err := r.packages(m, needs, func() bool { return true }); err != nil {
				return err
			}
		}
	}
	if r.lookUp("gem") == "" {
		return errors.New("there is no `gem` on this server, and no known package of Ruby")
	}
	args := []string{"install", r.tool.Gem, "--no-document", "--conservative"}
	if v := cmp.Or(r.want.Version, r.tool.GemVersion); v != "" {
		args = append(args, "--version", gemVersion(v))
	}
	_, err := r.run(nil, "gem", args...)
	return err
}

// gemVersion returns a version as a RubyGems requirement: "18.4" is any 18.4.x.
func gemVersion(want string) string {
	if lowest, is := strings.CutPrefix(want, ">="); is {
		return ">= " + strings.TrimSpace(lowest)
	}
	return "~> " + want + ".0"
}
