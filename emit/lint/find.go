package lint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// Target is a file to lint.
type Target struct {
	Path string
	// Text is nil if it is not read yet, or unreadable.
	Text []byte
	// Folder is where the file was found; "" if the user named the file.
	Folder string
}

// Find returns the files of a name: the file itself, or a folder's templates and environments,
// recognized by content, sorted by name. Links in a folder are not followed. For an untrusted
// folder, nothing outside is read.
func Find(ctx context.Context, name string, stranger bool, c *Config) ([]Target, error) {
	name = filepath.Clean(name) // as other templates refer to it
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return []Target{{Path: name}}, nil
	}
	return findIn(ctx, name, stranger, c)
}

// Unique drops repeated files.
func Unique(targets []Target) []Target {
	seen := map[string]bool{}
	return slices.DeleteFunc(targets, func(t Target) bool {
		key := absolute(t.Path)
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// endings are the name endings of possible templates and environments.
var endings = []string{".yaml", ".yml", ".template", ".json", ".hot", ".env"}

// mostHead is how much of a file is read to recognize it.
const mostHead = 1 << 20

func findIn(ctx context.Context, dir string, stranger bool, c *Config) ([]Target, error) {
	folder, err := open(dir, stranger)
	if err != nil {
		return nil, err
	}
	if c, is := folder.(io.Closer); is {
		defer c.Close()
	}
	var paths []string
	err = fs.WalkDir(folder, ".", func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return emit.CannotRead(filepath.Join(dir, path), err)
		case e.IsDir():
			if path != "." && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular() || !slices.Contains(endings, filepath.Ext(name)) || strings.Contains(name, ".j2."),
			c.Excludes(filepath.Join(dir, filepath.FromSlash(path))):
			return nil
		}
		paths = append(paths, path)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]Target, len(paths))
	err = each(ctx, len(paths), func(i int) error {
		text, err := head(folder, paths[i])
		if err == nil && !isHeats(text) {
			return nil
		}
		out[i] = Target{Path: filepath.Join(dir, filepath.FromSlash(paths[i])), Folder: dir}
		if err == nil && len(text) < mostHead {
			out[i].Text = text // otherwise it is read, or reported as unreadable, when linted
		}
		return nil
	})
	out = slices.DeleteFunc(out, func(t Target) bool { return t.Path == "" })
	if err == nil && len(out) == 0 {
		err = source.Fail(source.CannotRead, fmt.Sprintf("%s has no template: no file in it has a heat_template_version", dir), "name the files themselves")
	}
	return out, err
}

func open(dir string, stranger bool) (fs.FS, error) {
	var access emit.Access = emit.Machine{}
	if stranger {
		confined, err := emit.ConfineTo(dir, nil)
		if err != nil {
			return nil, err
		}
		access = confined
	}
	folder, err := access.Open(dir)
	if err != nil {
		return nil, emit.CannotRead(dir, err)
	}
	return folder, nil
}

func head(folder fs.FS, path string) ([]byte, error) {
	f, err := folder.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := bytes.NewBuffer(nil)
	if info, err := f.Stat(); err == nil && info.Size() < mostHead {
		text.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = text.ReadFrom(io.LimitReader(f, mostHead))
	return text.Bytes(), err
}

// Top-level keys of a template or an environment, also in the braces of JSON.
var (
	versionKey = regexp.MustCompile(`(?m)(^|[{,]\s*)["']?(heat_template_version|HeatTemplateFormatVersion|AWSTemplateFormatVersion)["']?\s*:`)
	sectionKey = regexp.MustCompile(`(?m)^["']?(resource_registry|parameter_defaults|parameter_merge_strategies)["']?\s*:`)
)

// What Heat's CloudFormation lacks.
var (
	awsType = regexp.MustCompile(`\bType["']?\s*:\s*["']?(AWS::[\w:]+|Custom::[\w:]+)`)
	awsOnly = regexp.MustCompile(`(?m)^["']?Transform["']?\s*:|[:\-\[,]\s*!(?:Sub|Ref|GetAtt|Join|If|Select|Split|FindInMap|ImportValue|Base64)\s`)
)

// isHeats reports whether a text is a Heat template or environment. A template of CloudFormation is
// not if it has what only AWS has.
func isHeats(text []byte) bool {
	if bytes.Contains(text, []byte("AWSTemplateFormatVersion")) && !bytes.Contains(text, []byte("OS::")) && (awsOnly.Match(text) || hasAWSType(text)) {
		return false
	}
	mentions := bytes.Contains(text, []byte("emplate_version")) || bytes.Contains(text, []byte("TemplateFormatVersion"))
	return mentions && versionKey.Match(text) || sectionKey.Match(text)
}

func hasAWSType(text []byte) bool {
	return slices.ContainsFunc(awsType.FindAllSubmatch(text, -1), func(m [][]byte) bool {
		name := string(m[1])
		return !resourcetype.Ever(name) && !resourcetype.ComesAsTemplate(name)
	})
}
