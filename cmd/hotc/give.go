package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// Reading the values of `hotc apply --secret-param NAME=FILE`. No message quotes any of a value, not even
// one that is wrong.

// mostSecret is how many bytes of a secret's file are read; a cell holds less.
const mostSecret = 1 << 20

// readGifts reads the files that the flags name, once all flags are checked.
func readGifts(ctx context.Context, flags []string, p *contract.Plan, s streams) ([]operate.SecretValue, error) {
	files, err := giftFiles(flags, p)
	if err != nil {
		return nil, err
	}
	gifts := make([]operate.SecretValue, len(files))
	for i, f := range files {
		text, err := readSecretValue(ctx, f.secret.Name, f.path, s)
		if err != nil {
			return nil, err
		}
		value, err := operate.ReadSecret(f.secret, text)
		if err != nil {
			return nil, err
		}
		gifts[i] = operate.SecretValue{Secret: f.secret, Value: value}
	}
	return gifts, nil
}

// giftFile is the file with a secret's value.
type giftFile struct {
	secret contract.Secret
	path   string // "-" is standard input
}

var errGiftFlag = usageError{fmt.Errorf("--secret-param takes NAME=FILE, where FILE holds the value; - is standard input")}

// secretNames are the names of the flags NAME=FILE.
func secretNames(flags []string) ([]string, error) {
	var names []string
	for _, flag := range flags {
		name, _, err := assignment("--secret-param", flag)
		if err != nil {
			return nil, errGiftFlag // the argument may be the secret itself
		}
		names = append(names, name)
	}
	return names, nil
}

// giftFiles checks the flags NAME=FILE against the plan's secret parameters.
func giftFiles(flags []string, p *contract.Plan) ([]giftFile, error) {
	var files []giftFile
	for _, flag := range flags {
		name, path, err := assignment("--secret-param", flag)
		if err != nil || path == "" {
			return nil, errGiftFlag
		}
		at := slices.IndexFunc(p.Secrets, func(x contract.Secret) bool { return x.Name == name })
		if at < 0 {
			return nil, noSuchSecret(name, p)
		}
		for _, other := range files {
			switch {
			case other.secret.Name == name:
				return nil, usageError{fmt.Errorf("--secret-param %s is set twice", name)}
			case other.path == "-" && path == "-":
				return nil, usageError{fmt.Errorf("%s and %s cannot both come from standard input", other.secret.Name, name)}
			}
		}
		files = append(files, giftFile{p.Secrets[at], path})
	}
	return files, nil
}

func noSuchSecret(name string, p *contract.Plan) error {
	known := lists.Map(p.Secrets, func(x contract.Secret) string { return x.Name })
	hint := "if it is a hidden parameter that only roles read, compile with --secret-param " + shellQuote(name)
	if near := hot.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(known) > 0 {
		hint = "it has " + strings.Join(known, ", ")
	}
	return source.Fail(source.UnknownName, "the plan has no secret parameter "+name, hint)
}

// readSecretValue reads a file, without a final line end.
func readSecretValue(ctx context.Context, name, path string, s streams) ([]byte, error) {
	if path == "-" && s.interactive() {
		return nil, source.Fail(source.Usage, fmt.Sprintf("--secret-param %s=-: standard input is a terminal, which would show the value", name),
			fmt.Sprintf("read -rs value; printf %%s \"$value\" | hotc apply … --secret-param %s=-", shellQuote(name)))
	}
	text, err := readWithin(ctx, path, s.in, mostSecret)
	switch {
	case ctx.Err() != nil:
		return nil, interrupted()
	case errors.Is(err, fs.ErrNotExist):
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: there is no such file", name), "do not put the value itself on a command line: write it to a file, or to standard input (-)")
	case err != nil:
		return nil, cannotReadSecret(name, err)
	case len(text) > mostSecret:
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the file has more than %d bytes", name, mostSecret), "")
	case !utf8.Valid(text):
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the file is not text in UTF-8", name), "encode it, for example with base64, and decode it in the role")
	}
	if path != "-" {
		warnOpenFile(name, path, s)
	}
	if line, ended := bytes.CutSuffix(text, []byte("\n")); ended {
		text, _ = bytes.CutSuffix(line, []byte("\r"))
	}
	if len(text) == 0 {
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the file is empty", name), "")
	}
	return text, nil
}

// readWithin reads a file or standard input, at most one byte more than it may have. Either may
// be a pipe without a writer, so that ctx ends the wait.
func readWithin(ctx context.Context, path string, stdin io.Reader, most int64) ([]byte, error) {
	var text []byte
	var err error
	done := make(chan struct{})
	mistake.Go(func() {
		defer close(done)
		from := stdin
		if path != "-" {
			var f *os.File
			if f, err = os.Open(path); err != nil {
				return
			}
			defer f.Close()
			from = f
		}
		text, err = io.ReadAll(io.LimitReader(from, most+1))
	})
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the process ends
	}
}

// cannotReadSecret omits the path: it may be the secret, passed by mistake.
func cannotReadSecret(name string, err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		err = path.Err
	}
	return source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: %v", name, err), "")
}

// warnOpenFile warns of a file that others can read.
func warnOpenFile(name, path string, s streams) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o077 == 0 {
		return
	}
	d := &source.Diagnostic{Code: source.MissingSecret, Severity: source.Warning,
		Message: fmt.Sprintf("--secret-param %s: the file %s is accessible to others than its owner (mode %04o)", name, path, info.Mode().Perm()),
		Hint:    "chmod 600 " + shellQuote(path)}
	s.print(d)
}
