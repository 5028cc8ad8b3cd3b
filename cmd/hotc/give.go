package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// The values of `hotc apply --secret-param NAME=FILE`. Nothing here writes one
// anywhere but into a sealed cell: no message has a part of it, not even where it is
// wrong.

// mostSecret is how many bytes of a secret's file are read; a cell takes less.
const mostSecret = 1 << 20

// gift is a secret of the plan with its value.
type gift struct {
	secret contract.Secret
	value  json.RawMessage
}

// readGifts reads what the flags name, when all of them are right.
func readGifts(ctx context.Context, flags []string, p *contract.Plan, s streams) ([]gift, error) {
	files, err := giftFiles(flags, p)
	if err != nil {
		return nil, err
	}
	gifts := make([]gift, len(files))
	for i, f := range files {
		text, err := readSecretValue(ctx, f.secret.Name, f.path, s)
		if err != nil {
			return nil, err
		}
		value, err := secretValue(f.secret, text)
		if err != nil {
			return nil, err
		}
		gifts[i] = gift{f.secret, value}
	}
	return gifts, nil
}

// giftFile is where a secret's value is to be read.
type giftFile struct {
	secret contract.Secret
	path   string // "-" is standard input
}

var errGiftFlag = usageError{fmt.Errorf("--secret-param takes NAME=FILE, where FILE holds the value; - is standard input")}

// secretNames are the names in the flags NAME=FILE.
func secretNames(flags []string) ([]string, error) {
	var names []string
	for _, flag := range flags {
		name, _, err := assignment("--secret-param", flag)
		if err != nil {
			return nil, errGiftFlag // what stands there may be the secret itself
		}
		names = append(names, name)
	}
	return names, nil
}

// giftFiles compares the flags NAME=FILE with what the plan takes.
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
				return nil, usageError{fmt.Errorf("--secret-param %s is there twice", name)}
			case other.path == "-" && path == "-":
				return nil, usageError{fmt.Errorf("both %s and %s cannot come from standard input", other.secret.Name, name)}
			}
		}
		files = append(files, giftFile{p.Secrets[at], path})
	}
	return files, nil
}

func noSuchSecret(name string, p *contract.Plan) error {
	var known []string
	for _, x := range p.Secrets {
		known = append(known, x.Name)
	}
	hint := "\"hotc compile --secret-param " + shellQuote(name) + "\" makes it one, if it is a hidden parameter that only roles read"
	if near := hot.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(known) > 0 {
		hint = "it takes " + strings.Join(known, ", ")
	}
	return source.Fail(source.UnknownName, "the plan takes no secret parameter "+name, hint)
}

// readSecretValue reads a file without the line end after its last line.
func readSecretValue(ctx context.Context, name, path string, s streams) ([]byte, error) {
	if path == "-" && s.interactive() {
		return nil, source.Fail(source.Usage, fmt.Sprintf("--secret-param %s=-: standard input is this terminal, which would show the value", name),
			fmt.Sprintf("read -rs value; printf %%s \"$value\" | hotc apply … --secret-param %s=-", shellQuote(name)))
	}
	text, err := readWithin(ctx, path, s.in, mostSecret)
	switch {
	case ctx.Err() != nil:
		return nil, interrupted()
	case errors.Is(err, fs.ErrNotExist):
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: there is no file of that name", name), "the value itself does not belong on a command line: write it into a file, or to standard input (-)")
	case err != nil:
		return nil, cannotReadSecret(name, err)
	case len(text) > mostSecret:
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the file has more than %d bytes", name, mostSecret), "")
	case !utf8.Valid(text):
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the file is not text in UTF-8", name), "a role can decode base64")
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

// readWithin reads a file, or standard input, or one byte more than the most that it may
// have. Either may be a pipe that nobody writes to.
func readWithin(ctx context.Context, path string, stdin io.Reader, most int64) ([]byte, error) {
	var text []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer mistake.Ends()
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
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the process ends
	}
}

// cannotReadSecret leaves out the path: it may be the secret, given by mistake.
func cannotReadSecret(name string, err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		err = path.Err
	}
	return source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: %v", name, err), "")
}

// warnOpenFile says that others can read a file.
func warnOpenFile(name, path string, s streams) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o077 == 0 {
		return
	}
	d := &source.Diagnostic{Code: source.MissingSecret, Severity: source.Warning,
		Message: fmt.Sprintf("--secret-param %s: others than its owner may use the file %s (mode %04o)", name, path, info.Mode().Perm()),
		Hint:    "chmod 600 " + shellQuote(path)}
	source.Print(s.err, d, s.errStyle())
}

// secretValue gives a text the type that the template declares.
func secretValue(secret contract.Secret, text []byte) (json.RawMessage, error) {
	var diags source.Diagnostics
	t := hot.ParseTemplate(source.NewFile("declaration", secret.Declaration), &diags)
	if t == nil || t.Parameter(secret.Name) == nil {
		return nil, source.Fail(source.BadPlan, "the plan does not say what the secret parameter "+secret.Name+" is", "compile again, with this version of hotc")
	}
	p := t.Parameter(secret.Name)
	val, err := p.Cast(string(text))
	if err == nil {
		err = p.Check(string(text))
	}
	if err != nil { // which has a part of the value
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the value is none that the template takes (%s)", secret.Name, secret.At),
			"it declares "+string(value.EncodeJSON(p.Entry.Value.Data())))
	}
	return value.EncodeJSON(val), nil
}

// missingSecrets are the names of the plan's secrets that are neither given now nor
// were before, and those that not all readers can open. live says that the
// plan is on the coordinator.
func (s *session) missingSecrets(ctx context.Context, p *contract.Plan, gifts []gift, live bool) (missing, again []string, err error) {
	given := make([]deploy.Given, len(p.Secrets))
	if live {
		if given, err = deploy.ReadGiven(ctx, s, s.Deployment, s.Secret, p); err != nil {
			return nil, nil, err
		}
	}
	for i, x := range p.Secrets {
		switch {
		case slices.ContainsFunc(gifts, func(g gift) bool { return g.secret.Name == x.Name }):
		case given[i].Since.IsZero():
			missing = append(missing, x.Name)
		case len(given[i].Lacking) > 0:
			again = append(again, x.Name)
		}
	}
	return missing, again, nil
}

// tooLarge refuses values that the coordinator cannot hold.
func (s *session) tooLarge(gifts []gift) error {
	limit := deploy.GivenLimit(s)
	for _, g := range gifts {
		if len(g.value) > limit {
			return source.Fail(source.MissingSecret, fmt.Sprintf("nothing is applied: --secret-param %s has %d bytes as JSON, a sealed value has at most %d", g.secret.Name, len(g.value), limit),
				"give the key of an archive instead, and let a role fetch that")
		}
	}
	return nil
}

func secretsMissing(names []string) error {
	return source.Fail(source.MissingSecret, "nothing is applied: there is no value of "+strings.Join(names, ", ")+", which roles read",
		"give each in a file, or one on standard input (-):"+giftFlags(names...))
}

// giftFlags are the flags that give secrets, for a command that is shown.
func giftFlags(names ...string) string {
	flags := ""
	for _, name := range names {
		flags += " --secret-param " + shellQuote(name) + "=FILE"
	}
	return flags
}

// give puts the values into their cells.
func (s *session) give(ctx context.Context, p *contract.Plan, gifts []gift) error {
	for _, g := range gifts {
		if err := deploy.Give(ctx, s, s.Deployment, s.Secret, p, g.secret, g.value, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

func namesOf(gifts []gift) []string {
	names := []string{}
	for _, g := range gifts {
		names = append(names, g.secret.Name)
	}
	return names
}
