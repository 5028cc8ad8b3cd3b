package script

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
)

// A script in a language other than shell is not rewritten, and its text is only searched, never
// parsed: an input is in its environment from the start unless all that the text says of it is
// understood. It is left to the script where
//
//   - the script reads it with `hotc-agent get NAME`, or opens $hotc_inputs/NAME,
//   - the variable's name is nowhere else but as a variable of the script's own, or among other
//     words in a string, and
//   - the environment is used for nothing but reading other variables by literal names.
//
// Whatever is missed so makes a role wait longer than it has to; it never gets an empty value.

// language describes how scripts of a language read their environment.
type language struct {
	interpreters string    // without versions
	comment      string    // begins one that ends with its line
	block        [2]string // delimiters of block comments
	long         string    // quotes of multi-line strings
	// object matches the environment, or a function that reads it; after and before match what
	// follows and precedes it. The names are the words in their groups that no other word follows.
	object, after, before *regexp.Regexp
	imports               *regexp.Regexp // the start of a line that imports the object
	// inString precedes a variable of the script in a string that begins with stringOf; "" if
	// there is no such form.
	inString, stringOf string
	// ticks says that backquotes start a program.
	ticks bool
	// unclear matches what code cannot tell from strings and comments: here-documents, patterns.
	unclear *regexp.Regexp
}

var languages = []language{
	{interpreters: "python pypy", comment: "#", long: "\"\"\" '''", inString: "{", stringOf: `"'`,
		object:  regexp.MustCompile(`\b(?:environb?|getenvb?)\b`),
		after:   regexp.MustCompile(`^(?:environb?\s*(?:\[\s*|\.\s*(?:get|pop|setdefault)\s*\(\s*(?:key\s*=\s*)?)|getenvb?\s*\(\s*(?:key\s*=\s*)?)[bBrRuU]{0,2}(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s*[\],)]`),
		before:  regexp.MustCompile(`(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s+(?:not\s+)?in\s+(?:\w+\s*\.\s*)?$`),
		imports: regexp.MustCompile(`^\s*from\s+os\s+import\s[^;]*$`)},
	{interpreters: "perl", comment: "#", long: "`", ticks: true,
		object:  regexp.MustCompile(`[$@%]\{?\bENV\b|\buse\s+Env\b`),
		after:   regexp.MustCompile(`^(?:[$@]ENV\s*\{|use\s+Env\b)\s*(?:qw\s*[^\w\s]([\w\s.$@-]*)[^\w\s]|((?:["'][\w.-]*["']\s*,?\s*)+)|(-?\w+))\s*[};]`),
		unclear: regexp.MustCompile(`<<|\bq[qwxr]?\b|\b(?:m|s|tr|y)\b\s*[^\w\s=,;)]|(?m:^=\w)|__(?:END|DATA)__|[=(,~{;&|!]\s*/|\b(?:split|if|unless|and|or|not|grep|map|return)\b\s*/|\$["'#&` + "`" + `]`)},
	{interpreters: "ruby jruby", comment: "#", long: "`", ticks: true, inString: "#{", stringOf: `"` + "`",
		object:  regexp.MustCompile(`\bENV\b`),
		after:   regexp.MustCompile(`^ENV\s*(?:\[\s*|\.\s*(?:fetch|key\?|has_key\?|include\?|member\?|delete|values_at|slice|assoc)\s*\(?\s*)((?:["'][^"'#\n]*["'](?:\s*,\s*)?)+)(?:\s*[^\s+%.*]|\s*$)`),
		unclear: regexp.MustCompile(`<<|%[a-zA-Z]?[^\w\s=]|\?["'#` + "`" + `]|(?m:^=begin)|__END__|[=(,~{;&|!]\s*/|\b(?:if|elsif|unless|when|while|until|and|or|not|then|return|puts|split|scan|match\??|gsub!?|sub!?)\b\s*/|\$["'` + "`" + `]`)},
	{interpreters: "node nodejs", comment: "//", block: [2]string{"/*", "*/"}, long: "`", inString: "${", stringOf: "`",
		object:  regexp.MustCompile(`\bprocess\s*\.\s*env\b`),
		after:   regexp.MustCompile("^process\\s*\\.\\s*env\\s*(?:\\??\\.\\s*([A-Za-z_$][\\w$]*)|(?:\\?\\.)?\\[\\s*(?:\"([^\"\\\\\\n]*)\"|'([^'\\\\\\n]*)'|`([^`$\\\\]*)`)\\s*\\])"),
		before:  regexp.MustCompile(`(?:\b(?:const|let|var)\s*|[(;]\s*)\{((?:\s*\w+(?:\s*:\s*\w+)?(?:\s*=\s*[^,{}]*)?\s*,?)*)\}\s*=\s*$`),
		unclear: regexp.MustCompile(`(?m:^\s*/[^/*])|[=(,:!&|?{};\[>+]\s*/[^/*]|\b(?:return|typeof|case|in|of)\b\s*/`)},
	{interpreters: "awk gawk mawk nawk original-awk", comment: "#",
		object:  regexp.MustCompile(`\bENVIRON\b`),
		after:   regexp.MustCompile(`^ENVIRON\s*\[\s*"([^"\\\n]*)"\s*\]`),
		before:  regexp.MustCompile(`"([^"\\\n]*)"\s*\)?\s*in\s+$`),
		unclear: regexp.MustCompile(`(?m:^\s*/)|[=(,~{;&|!]\s*/|@`)},
	{interpreters: "lua luajit", comment: "--", block: [2]string{"--[[", "]]"},
		object:  regexp.MustCompile(`\bos\s*\.\s*getenv\b`),
		after:   regexp.MustCompile(`^os\s*\.\s*getenv\s*(?:\(\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)'|\[\[([^\]\n]*)\]\])\s*\)|"([^"\\\n]*)"|'([^'\\\n]*)'|\[\[([^\]\n]*)\]\])`),
		unclear: regexp.MustCompile(`[^-]\[=*\[|--\[=+\[`)},
	{interpreters: "go gorun", comment: "//", block: [2]string{"/*", "*/"}, long: "`",
		object: regexp.MustCompile(`\bos\s*\.\s*(?:Getenv|LookupEnv|Environ|ExpandEnv)\b`),
		after:  regexp.MustCompile("^os\\s*\\.\\s*(?:Getenv|LookupEnv)\\s*\\(\\s*(?:\"([^\"\\\\\\n]*)\"|`([^`]*)`)\\s*\\)")},
	{interpreters: "php", comment: "#", ticks: true, block: [2]string{"/*", "*/"},
		object:  regexp.MustCompile(`\$_(?:ENV|SERVER)\b|\bgetenv\b|\bfilter_input(?:_array)?\b`),
		after:   regexp.MustCompile(`^(?:\$_(?:ENV|SERVER)\s*\[\s*|getenv\s*\(\s*)(?:"([^"$\\\n]*)"|'([^'\\\n]*)')\s*[\],)]`),
		unclear: regexp.MustCompile(`.`)},
	{interpreters: "tclsh wish expect", comment: "#",
		object:  regexp.MustCompile(`\benv\b`),
		after:   regexp.MustCompile(`^env\s*\(([\w.-]+)\)`),
		unclear: regexp.MustCompile(`.`)},
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

// use is a use of the environment: a read of the variables in words; if it only is an
// assignment or an import, none; otherwise one that is not understood.
type use struct {
	words      []string
	nothing    bool
	start, end uint32
}

var (
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	isAssigned = regexp.MustCompile(`^\s*=(?:[^=~>]|$)`)
	isRenamed  = regexp.MustCompile(`^\w+\s+as\b`)
	// others are words for the environment, or for programs that print it, in any language.
	others = regexp.MustCompile(`(?i)env|expandvars|/proc/|\b(?:export|declare|compgen)\b`)
)

// uses returns the uses of the environment in code.
func (l *language) uses(code string) []use {
	var uses []use
	for _, at := range l.object.FindAllStringIndex(code, -1) {
		u := use{start: uint32(at[0]), end: uint32(at[1])}
		line := code[strings.LastIndexByte(code[:at[0]], '\n')+1 : at[0]]
		if l.imports != nil && l.imports.MatchString(line) && !isRenamed.MatchString(code[at[0]:]) {
			u.nothing = true
		} else if found := l.after.FindStringSubmatchIndex(code[at[0]:]); found != nil {
			last := 0
			for g := 2; g < len(found); g += 2 {
				if found[g] >= 0 {
					u.words = append(u.words, identifier.FindAllString(code[at[0]+found[g]:at[0]+found[g+1]], -1)...)
					last = at[0] + found[g+1]
				}
			}
			u.end = uint32(last)
			if isAssigned.MatchString(strings.TrimLeft(code[last:], "\"'`]})")) {
				u.words, u.nothing = nil, true
			}
		} else if l.before != nil {
			if found := l.before.FindStringSubmatch(code[max(0, at[0]-1000):at[0]]); found != nil {
				u.words = identifier.FindAllString(strings.Join(found[1:], " "), -1)
			}
		}
		uses = append(uses, u)
	}
	return uses
}

// code returns the text with comments blanked out, and Python's multi-line strings, which are
// usually documentation; and for each byte, what quotes the string begins with that it is in, 0
// outside of strings. If that is unclear, nothing is a comment, and all may be a string.
func (l *language) code(text string) (string, []byte) {
	quotes := make([]byte, len(text))
	if line := strings.IndexByte(text, '\n'); l.unclear != nil && line >= 0 && l.unclear.MatchString(text[line:]) {
		for i := range quotes {
			quotes[i] = '?'
		}
		return text, quotes
	}
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
		if quote != "" {
			quotes[i] = quote[0]
		}
		switch {
		case quote != "" && rest[0] == '\\':
			i++
			if i < len(text) {
				quotes[i] = quote[0]
			}
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
	return string(code), quotes
}

// searched is a script in a language other than shell.
type searched struct {
	language *language // nil if it is unknown
	text     string    // without its first line and what certainly is a comment
	quotes   []byte
	uses     []use
	// opaque is where the environment is used in a way that is not understood; nil if nowhere.
	opaque *use
}

// search reads such a script; nil for one of a shell.
func search(text string) *searched {
	if dialectsOf(text) != nil {
		return nil
	}
	s := &searched{language: languageOf(text), text: text, quotes: []byte(strings.Repeat("?", len(text)))}
	if s.language != nil {
		s.text, s.quotes = s.language.code(text)
		s.uses = s.language.uses(s.text)
	}
	first := 0
	if strings.HasPrefix(s.text, "#!") {
		first = max(0, strings.IndexByte(s.text, '\n'))
		s.text = strings.Repeat(" ", first) + s.text[first:]
	}
	for i, u := range s.uses {
		if !u.nothing && len(u.words) == 0 {
			s.opaque = &s.uses[i]
			break
		}
	}
	for _, at := range others.FindAllStringIndex(s.text, -1) {
		known := slices.ContainsFunc(s.uses, func(u use) bool { return u.start <= uint32(at[0]) && uint32(at[1]) <= u.end })
		if !known && s.opaque == nil {
			s.opaque = &use{start: uint32(at[0]), end: uint32(at[1])}
		}
	}
	return s
}

// mentions returns where a word is in the script.
func (s *searched) mentions(word string) [][]int {
	return regexp.MustCompile(`\b`+word+`\b`).FindAllStringIndex(s.text, -1)
}

// helpers matches the start of a function that calls the agent on its first line or the next.
var helpers = regexp.MustCompile(`\b(?:def|function|sub|proc|const|let|var)\s+(\w+)[^\n]*(?:\n[^\n]*)?\bhotc-agent\W{1,12}get\W`)

// readLate reports whether the script certainly reads an input itself, when it needs it, and
// never from its environment.
func (s *searched) readLate(input, variable string) bool {
	forms := `\bhotc-agent\W{1,12}get\W{1,12}(?:lines\W{1,12})?|\bhotc_inputs\W{1,12}`
	if strings.Contains(s.text, "hotc_inputs") {
		forms += "|/"
	}
	for _, helper := range helpers.FindAllStringSubmatch(s.text, -1) {
		forms += `|[^.\w]` + helper[1] + `\W{1,4}`
	}
	file := strings.NewReplacer("/", "%2F", "%", "%25").Replace(input)
	late := regexp.MustCompile(`(?:`+forms+`)(?:`+regexp.QuoteMeta(input)+"|"+regexp.QuoteMeta(file)+`)(?:[^\w.]|$)`).FindAllStringIndex(s.text, -1)
	if len(late) == 0 || s.opaque != nil {
		return false
	}
	if s.startsNothing() {
		return true // what uses the environment is understood, and no other program does
	}
	return !slices.ContainsFunc(s.mentions(variable), func(at []int) bool {
		return !slices.ContainsFunc(late, func(l []int) bool { return l[0] <= at[0] && at[1] <= l[1] }) && !s.isOwn(at[0])
	})
}

// isOwn reports whether the word at an offset certainly has nothing to do with the environment: it
// is a variable of the script's own, or stands in a string among others, in which no program
// looks for the names of variables.
func (s *searched) isOwn(at int) bool {
	quote := s.quotes[at]
	if quote == 0 {
		return true
	}
	if l := s.language; l != nil && l.inString != "" && strings.IndexByte(l.stringOf, quote) >= 0 {
		if before, is := strings.CutSuffix(s.text[:at], l.inString); is && !strings.HasSuffix(before, "$") && !strings.HasSuffix(before, `\`) {
			return true
		}
	}
	from, to := at, at
	for from > 0 && s.quotes[from-1] == quote {
		from--
	}
	for to < len(s.text) && s.quotes[to] == quote {
		to++
	}
	content := strings.TrimSuffix(s.text[from:to], string(quote))
	return prose.MatchString(content) || quote != '?' && isKey.MatchString(s.text[max(0, from-3):min(len(s.text), to+1)])
}

// isKey matches the word at which a value of another variable is looked up.
var isKey = regexp.MustCompile(`\w\[["']\w+["']\]$`)

// prose matches the content of strings with several words in which no shell finds a variable.
var prose = regexp.MustCompile(`^\w*[\s.,:!?/@+=<>#{}][\w\s.,:!?/@+=<>#{}]*$|^\w+[.,:!?/@+=<>#]+$`)

// fromStart finds the inputs that must be in the environment of a script in another language
// when it starts: all but those that it certainly reads in another way.
func fromStart(role driver.Role, text string, meaning *program.Meaning) []string {
	s := driver.Once(role.Memory, searchedKey{text}, func() *searched { return search(text) })
	if s == nil || len(role.Inputs) == 0 {
		return nil
	}
	places := driver.TextAt(role.SourceAt, role.SourceFile, text, "script of role "+role.Name)
	meaning.Environment, meaning.Unread = map[string]program.EnvironmentRead{}, map[string]string{}
	var names []string
	for _, in := range role.Inputs {
		v := environmentVariable(in.Name)
		if v == "" || in.EagerSaid && !in.Eager {
			continue
		}
		u, how, late := s.reads(in.Name, v)
		if late {
			continue
		}
		if how == program.NotRead && s.startsNothing() {
			meaning.Unread[in.Name] = s.meant(v, role)
		}
		meaning.Environment[in.Name] = program.EnvironmentRead{At: places.Place(u.start, u.end), How: how}
		names = append(names, in.Name)
	}
	slices.Sort(names)
	return names
}

type searchedKey struct{ text string }

// reads returns how a script reads an input from its environment, and where; late is set if
// it certainly reads it in another way only.
func (s *searched) reads(input, variable string) (at use, how program.HowRead, late bool) {
	for _, u := range s.uses {
		if slices.Contains(u.words, variable) {
			return u, program.ReadByName, false
		}
	}
	if s.readLate(input, variable) {
		return use{}, 0, true
	}
	mentioned := s.mentions(variable)
	foreign := slices.IndexFunc(mentioned, func(at []int) bool { return !s.isOwn(at[0]) })
	switch {
	case s.opaque != nil && foreign < 0:
		return *s.opaque, program.PerhapsRead, false
	case len(mentioned) > 0:
		at := mentioned[max(0, foreign)]
		return use{start: uint32(at[0]), end: uint32(at[1])}, program.PerhapsRead, false
	}
	return use{end: uint32(max(0, strings.IndexByte(s.text, '\n')))}, program.NotRead, false
}

var (
	starts  = regexp.MustCompile(`(?i)popen|\bsystem|spawn|\bexec|\bfork|check_output|check_call|getoutput|\bsubprocess\s*\.\s*(?:run|call)|\brun\s*\(|\bqx\b|%x|open3|passthru|proc_open|shell_exec|getline|\|\s*"`)
	started = regexp.MustCompile(`^\w*[\s(\[{]*[fFrRbBuU]?["'` + "`" + `]?\s*(?:[\w/]*/)?([\w.-]+)([^|;&$` + "`" + `]*)$`)
)

// startsNothing reports whether the script, in a known language, starts no program that may
// read variables of its environment.
func (s *searched) startsNothing() bool {
	if s.language == nil {
		return false
	}
	for line := range strings.Lines(s.text) {
		line = strings.TrimRight(line, "\n")
		at := starts.FindStringIndex(line)
		if tick := strings.IndexByte(line, '`'); tick >= 0 && s.language.ticks {
			at = []int{tick, tick + 1}
			line = strings.TrimRight(line, "`;) ")
		}
		if at == nil {
			continue
		}
		if c := started.FindStringSubmatch(line[at[1]:]); c == nil || !plain[c[1]] && c[1] != "hotc-agent" {
			return false
		}
	}
	return true
}

// meant returns the variable that a script reads instead of one that it never mentions; "" if none
// is similar.
func (s *searched) meant(variable string, role driver.Role) string {
	var words []string
	for _, u := range s.uses {
		words = append(words, lists.Only(u.words, func(w string) bool {
			return !slices.ContainsFunc(role.Inputs, func(in *program.Input) bool { return asVariable(in.Name) == w })
		})...)
	}
	return hot.Nearest(variable, words)
}

// environmentVariable returns the variable in which the agent passes an input to a script; ""
// for reserved ones.
func environmentVariable(input string) string {
	v := asVariable(input)
	if v == "PATH" || v == "HOME" || v == "heat_outputs_path" || isOurs(v) {
		return ""
	}
	return v
}
