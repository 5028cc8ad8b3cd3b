package script

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
)

// A script in a language other than shell is not rewritten: what it reads from its environment
// must be there when it starts. Its text is searched for such reads by literal names. A false
// read makes a role wait needlessly, a missed one gives an empty value: so only what is
// certainly a comment is skipped.

// language describes how scripts of a language read their environment.
type language struct {
	interpreters string    // without versions
	comment      string    // begins one that ends with its line
	block        [2]string // delimiters of block comments
	long         string    // quotes of multi-line strings
	// object matches the environment, or a function that reads it; after and before match what
	// follows and precedes it. The names are the words in their groups that no other word follows.
	object, after, before *regexp.Regexp
	imports               *regexp.Regexp // the start of a line that only imports the object
}

var languages = []language{
	{interpreters: "python pypy", comment: "#", long: "\"\"\" '''",
		object:  regexp.MustCompile(`\b(?:environb?|getenvb?)\b`),
		after:   regexp.MustCompile(`^(?:environb?\s*(?:\[\s*|\.\s*(?:get|pop|setdefault)\s*\(\s*(?:key\s*=\s*)?)|getenvb?\s*\(\s*(?:key\s*=\s*)?)[bBrRuU]{0,2}(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s*[\],)]`),
		before:  regexp.MustCompile(`(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s+(?:not\s+)?in\s+(?:\w+\s*\.\s*)?$`),
		imports: regexp.MustCompile(`^\s*(?:from|import)\b[^;]*$`)},
	{interpreters: "perl", comment: "#",
		object: regexp.MustCompile(`[$@%]\{?\bENV\b|\buse\s+Env\b`),
		after:  regexp.MustCompile(`^(?:[$@]ENV\s*\{|use\s+Env\b)\s*(?:qw\s*[^\w\s]([\w\s.$@-]*)[^\w\s]|((?:["'][\w.-]*["']\s*,?\s*)+)|(-?\w+))\s*[};]`)},
	{interpreters: "ruby jruby", comment: "#",
		object: regexp.MustCompile(`\bENV\b`),
		after:  regexp.MustCompile(`^ENV\s*(?:\[\s*|\.\s*(?:fetch|key\?|has_key\?|include\?|member\?|delete|values_at|slice|assoc)\s*\(?\s*)((?:["'][^"'#\n]*["'](?:\s*,\s*)?)+)(?:\s*[^\s+%.*]|\s*$)`)},
	{interpreters: "node nodejs", comment: "//", block: [2]string{"/*", "*/"}, long: "`",
		object: regexp.MustCompile(`\bprocess\s*\.\s*env\b`),
		after:  regexp.MustCompile("^process\\s*\\.\\s*env\\s*(?:\\??\\.\\s*([A-Za-z_$][\\w$]*)|(?:\\?\\.)?\\[\\s*(?:\"([^\"\\\\\\n]*)\"|'([^'\\\\\\n]*)'|`([^`$\\\\]*)`)\\s*\\])"),
		before: regexp.MustCompile(`\{([^{}]*)\}\s*=\s*$`)},
	{interpreters: "awk gawk mawk nawk original-awk", comment: "#",
		object: regexp.MustCompile(`\bENVIRON\b`),
		after:  regexp.MustCompile(`^ENVIRON\s*\[\s*"([^"\\\n]*)"\s*\]`),
		before: regexp.MustCompile(`"([^"\\\n]*)"\s*\)?\s*in\s+$`)},
	{interpreters: "lua luajit", comment: "--", block: [2]string{"--[[", "]]"},
		object: regexp.MustCompile(`\bos\s*\.\s*getenv\b`),
		after:  regexp.MustCompile(`^os\s*\.\s*getenv\s*(?:\(\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)'|\[\[([^\]\n]*)\]\])\s*\)|"([^"\\\n]*)"|'([^'\\\n]*)'|\[\[([^\]\n]*)\]\])`)},
	{interpreters: "go gorun", comment: "//", block: [2]string{"/*", "*/"}, long: "`",
		object: regexp.MustCompile(`\bos\s*\.\s*(?:Getenv|LookupEnv|Environ|ExpandEnv)\b`),
		after:  regexp.MustCompile("^os\\s*\\.\\s*(?:Getenv|LookupEnv)\\s*\\(\\s*(?:\"([^\"\\\\\\n]*)\"|`([^`]*)`)\\s*\\)")},
}

// languageOf returns the language of a script; nil for shells and unknown languages.
func languageOf(text string) *language { return languageNamed(interpreterOf(text)) }

func languageNamed(interpreter string) *language {
	name := strings.TrimRight(interpreter, "0123456789.")
	for i := range languages {
		if name != "" && slices.Contains(strings.Fields(languages[i].interpreters), name) {
			return &languages[i]
		}
	}
	return nil
}

// handsOver matches the start of a shell script that only starts another interpreter with
// the script.
var handsOver = regexp.MustCompile(`^(?:#!.*\n)?(?:[ \t]*(?:#.*)?\n)*[ \t]*(?:(?:eval\s+)?['"]{0,3}exec['"]?\s+(?:/usr/bin/env\s+)?([\w./-]+)(?:\s+-\S+)*\s+"?\$\{?0|//+usr/(?:local/)?(?:go/)?bin/(?:env\s+)?(go)\s+run\s.*\$\{?0)`)

// interpreterOf returns the name of the program that runs a script.
func interpreterOf(text string) string {
	name := firstInterpreter(text)
	if slices.Contains([]string{"sh", "dash", "ash", "bash"}, name) {
		if to := handsOver.FindStringSubmatch(text); to != nil {
			if other := path.Base(to[1] + to[2]); languageNamed(other) != nil {
				return other
			}
		}
	}
	return name
}

// firstInterpreter returns the program that the kernel starts.
func firstInterpreter(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	interpreter, hasLine := strings.CutPrefix(line, "#!")
	words := strings.Fields(interpreter)
	if !hasLine || len(words) == 0 {
		return "sh"
	}
	name := path.Base(words[0])
	if len(words) == 1 || !slices.Contains([]string{"env", "busybox", "toybox"}, name) {
		return name
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return path.Base(word)
		}
	}
	return words[len(words)-1]
}

// variableRead is a read of the environment: of the variables in words, or, if there are
// none, of one with a computed name.
type variableRead struct {
	words      []string
	start, end uint32
}

var (
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	isAssigned = regexp.MustCompile(`^\s*=(?:[^=~>]|$)`)
)

// variables returns the reads of the environment in a script.
func (l *language) variables(text string) []variableRead {
	code := l.code(text)
	var reads []variableRead
	for _, at := range l.object.FindAllStringIndex(code, -1) {
		r := variableRead{start: uint32(at[0]), end: uint32(at[1])}
		line := code[strings.LastIndexByte(code[:at[0]], '\n')+1 : at[0]]
		if l.imports != nil && l.imports.MatchString(line) {
			continue
		}
		if found := l.after.FindStringSubmatchIndex(code[at[0]:]); found != nil {
			last := 0
			for g := 2; g < len(found); g += 2 {
				if found[g] >= 0 {
					r.words = append(r.words, identifier.FindAllString(code[at[0]+found[g]:at[0]+found[g+1]], -1)...)
					last = at[0] + found[g+1]
				}
			}
			r.end = uint32(last)
			if isAssigned.MatchString(strings.TrimLeft(code[last:], "\"'`]})")) {
				continue
			}
		} else if l.before != nil {
			if found := l.before.FindStringSubmatch(code[max(0, at[0]-1000):at[0]]); found != nil {
				r.words = identifier.FindAllString(strings.Join(found[1:], " "), -1)
			}
		}
		reads = append(reads, r)
	}
	return reads
}

// code returns the text with comments blanked out, and Python's multi-line strings, which are
// usually documentation.
func (l *language) code(text string) string {
	code := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if code[i] != '\n' {
				code[i] = ' '
			}
		}
	}
	quote, from := "", 0
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case quote != "" && rest[0] == '\\':
			i++
		case quote != "" && strings.HasPrefix(rest, quote):
			if len(quote) > 1 && (from == 0 || text[from-1]|' ' != 'f') && (from < 2 || text[from-2]|' ' != 'f') {
				blank(from, i)
			}
			i += len(quote) - 1
			quote = ""
		case quote != "":
			if rest[0] == '\n' && len(quote) == 1 && !strings.Contains(l.long, quote) {
				quote = "" // not a string: an apostrophe, or a quote in a pattern
			}
		case l.block[0] != "" && strings.HasPrefix(rest, l.block[0]):
			end := strings.Index(rest, l.block[1])
			if end < 0 {
				end = len(rest)
			}
			blank(i, i+end)
			i += end
		case strings.HasPrefix(rest, l.comment) && (i == 0 || strings.IndexByte(" \t\n;{}(),]", text[i-1]) >= 0):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			blank(i, i+end)
			i += end - 1
		default:
			for _, q := range append(strings.Fields(l.long), `"`, `'`) {
				if strings.HasPrefix(rest, q) {
					quote, from = q, i
					i += len(q) - 1
					break
				}
			}
		}
	}
	return string(code)
}

// fromStart finds the inputs that a script in another language reads from its environment, and
// where it reads variables with computed names.
func fromStart(role driver.Role, text string, meaning *program.Meaning) []string {
	l := languageOf(text)
	if l == nil {
		mentions(role, text, meaning)
		return nil
	}
	reads := driver.Once(role.Memory, variablesKey{text}, func() []variableRead { return l.variables(text) })
	if len(reads) == 0 {
		return nil
	}
	places := driver.TextAt(role.SourceAt, role.SourceFile, text, "script of role "+role.Name)
	meaning.Environment = map[string]program.EnvironmentRead{}
	var names []string
	for _, in := range role.Inputs {
		if in.EagerSaid && !in.Eager {
			continue
		}
		v := environmentVariable(in.Name)
		at := slices.IndexFunc(reads, func(r variableRead) bool { return slices.Contains(r.words, v) })
		named := at >= 0
		switch {
		case named:
			names = append(names, in.Name)
		case !readOtherwise(text, in.Name):
			at = slices.IndexFunc(reads, func(r variableRead) bool { return len(r.words) == 0 })
		}
		if at >= 0 {
			meaning.Environment[in.Name] = program.EnvironmentRead{At: places.Place(reads[at].start, reads[at].end), Perhaps: !named}
		}
	}
	slices.Sort(names)
	return names
}

// mentions finds the inputs whose names appear in a script in an unknown language: it may
// read them from its environment.
func mentions(role driver.Role, text string, meaning *program.Meaning) {
	first := strings.IndexByte(text, '\n')
	if first < 0 || !strings.HasPrefix(text, "#!") || dialectsOf(text) != nil {
		return
	}
	places := driver.TextAt(role.SourceAt, role.SourceFile, text, "script of role "+role.Name)
	meaning.Environment = map[string]program.EnvironmentRead{}
	for _, in := range role.Inputs {
		v := environmentVariable(in.Name)
		if v == "" || in.EagerSaid || readOtherwise(text, in.Name) {
			continue
		}
		if at := regexp.MustCompile(`\b` + v + `\b`).FindStringIndex(text[first:]); at != nil {
			meaning.Environment[in.Name] = program.EnvironmentRead{At: places.Place(uint32(first+at[0]), uint32(first+at[1])), Perhaps: true, Unknown: interpreterOf(text)}
		}
	}
}

type variablesKey struct{ text string }

// environmentVariable returns the variable in which the agent passes an input to a script; ""
// for reserved ones.
func environmentVariable(input string) string {
	v := asVariable(input)
	if v == "PATH" || v == "HOME" || v == "heat_outputs_path" || isOurs(v) {
		return ""
	}
	return v
}

// readOtherwise reports whether a script reads an input with hotc-agent get or as a file.
func readOtherwise(text, input string) bool {
	return regexp.MustCompile(`(?:\bget\W+|/)` + regexp.QuoteMeta(input) + `(?:\W|$)`).MatchString(text)
}
