package ansible

import (
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
)

// tree is a folder that the compiler can read.
type tree struct {
	files fs.FS // nil for an inline playbook, which has no files beside it
	// name is the folder as the user wrote it; its files are shown as NAME/….
	name  string
	known map[string]*document
}

// document is a file that was read.
type document struct {
	file   *source.File
	parsed bool
	root   piece // of YAML
}

// read returns a file; nil if it does not exist.
func (t *tree) read(name string) *source.File {
	return t.open(name).file
}

func (t *tree) open(name string) *document {
	if d := t.known[name]; d != nil {
		return d
	}
	d := &document{}
	if t.known == nil {
		t.known = map[string]*document{}
	}
	t.known[name] = d
	if t.files == nil || !fs.ValidPath(name) {
		return d
	}
	if text, err := fs.ReadFile(t.files, name); err == nil {
		d.file = source.NewFile(path.Join(t.name, name), text)
	}
	return d
}

// parse reads a file as YAML; the piece is empty if it is not valid.
func (t *tree) parse(name string) piece {
	d := t.open(name)
	if d.file != nil && !d.parsed {
		d.root, _ = parse(d.file)
		d.parsed = true
	}
	return d.root
}

// firstOf returns the first of the named files that exists, and its name.
func (t *tree) firstOf(names ...string) (*source.File, string) {
	for _, name := range names {
		if f := t.read(name); f != nil {
			return f, name
		}
	}
	return nil, ""
}

// piece is a node of a YAML file.
type piece struct {
	node *yaml.Node
	file *source.File
}

// parse reads the first document of a file; the piece has no node if it is empty.
func parse(file *source.File) (piece, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(file.Text, &document); err != nil {
		return piece{}, err
	}
	if len(document.Content) == 0 {
		return piece{file: file}, nil
	}
	return piece{node: document.Content[0], file: file}, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// syntaxError returns the YAML library's message and its place.
func syntaxError(file *source.File, err error) (string, source.Place) {
	message, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	start := file.LineOffset(line)
	return message, source.Place{File: file, Span: source.Span{Start: start, End: start + uint32(len(file.Line(line)))}}
}

// resolved follows an alias.
func (p piece) resolved() piece {
	for p.node != nil && p.node.Kind == yaml.AliasNode {
		p.node = p.node.Alias
	}
	return p
}

// place is the rest of the piece's first line.
func (p piece) place() source.Place {
	if p.node == nil {
		return source.Place{File: p.file}
	}
	start := p.file.LineOffset(p.node.Line)
	line := p.file.Line(p.node.Line)
	column := 0
	for n := 1; n < p.node.Column && column < len(line); n++ {
		_, size := utf8.DecodeRuneInString(line[column:])
		column += size
	}
	return source.Place{File: p.file, Span: source.Span{Start: start + uint32(column), End: start + uint32(max(column+1, len(line)))}}
}

// items returns the items of a list.
func (p piece) items() []piece {
	p = p.resolved()
	if p.node == nil || p.node.Kind != yaml.SequenceNode {
		return nil
	}
	return lists.Map(p.node.Content, func(n *yaml.Node) piece { return piece{n, p.file}.resolved() })
}

// entry is an entry of a map.
type entry struct {
	name string
	key  piece
	piece
}

// entries returns the entries of a map, merge keys followed: a map's own entries hide
// merged ones, and among merged maps the first wins.
func (p piece) entries() []entry {
	all, merged := p.own()
	if len(merged) == 0 {
		return all
	}
	hidden := lists.Set(lists.Map(all, func(e entry) string { return e.name }))
	for seen := 0; len(merged) > 0 && seen < maxWithin; seen++ {
		own, more := merged[0].own()
		for _, e := range own {
			if !hidden[e.name] {
				all = append(all, e)
			}
			hidden[e.name] = true
		}
		merged = append(more, merged[1:]...)
	}
	return all
}

// own returns a map's own entries, and the maps that are merged into it.
func (p piece) own() (all []entry, merged []piece) {
	p = p.resolved()
	if p.node == nil || p.node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key := p.node.Content[i]
		value := piece{p.node.Content[i+1], p.file}.resolved()
		switch {
		case key.Tag != "!!merge":
			all = append(all, entry{key.Value, piece{key, p.file}, value})
		case value.node.Kind == yaml.SequenceNode:
			merged = append(merged, lists.Map(value.node.Content[:min(len(value.node.Content), maxWithin)], func(n *yaml.Node) piece { return piece{n, p.file} })...)
		default:
			merged = append(merged, value)
		}
	}
	return all, merged
}

// size counts a map's entries and their direct children.
func (p piece) size() int {
	size := 1
	for _, e := range p.entries() {
		size += 1 + len(e.node.Content)
	}
	return size
}

func (p piece) get(name string) piece {
	for _, e := range p.entries() {
		if e.name == name {
			return e.piece
		}
	}
	return piece{file: p.file}
}

func (p piece) there() bool { return p.node != nil && p.node.Tag != "!!null" }

// text is a scalar's value; "" for other nodes.
func (p piece) text() string {
	p = p.resolved()
	if p.node == nil || p.node.Kind != yaml.ScalarNode {
		return ""
	}
	return p.node.Value
}

// texts returns the value of a scalar, or of each scalar of a list.
func (p piece) texts() []string {
	if items := p.items(); items != nil {
		return lists.Map(items, piece.text)
	}
	if t := p.text(); t != "" {
		return []string{t}
	}
	return nil
}
