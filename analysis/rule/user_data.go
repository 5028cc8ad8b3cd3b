package rule

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// bootText is a text that a server reads when it boots, or that a software config contains.
type bootText struct {
	text string
	// replaced is the text with a placeholder for each word that Heat replaces.
	replaced string
	// whole says that the text is complete: Heat replaces nothing in it.
	whole  bool
	places driver.Text
	node   *yaml.Node

	server *Block // whose user_data it is; nil for a software config
	format string // the server's user_data_format, "" if unknown
	part   bool   // it is a part of an archive
}

// at is a part of the text.
func (t *bootText) at(from, to int) source.Place { return t.places.Place(uint32(from), uint32(to)) }

// BootTexts are the known ones of all servers without roles, and of software configs; a
// shared one occurs once.
func (l *Checker) BootTexts() []*bootText {
	if l.booted {
		return l.boot
	}
	l.booted = true
	seen := map[*yaml.Node]bool{}
	add := func(n *yaml.Node, b *Block, format string) {
		for _, t := range l.bootTexts(n, 0) {
			if !seen[t.node] {
				seen[t.node] = true
				t.server, t.format = b, format
				l.boot = append(l.boot, t)
			}
		}
	}
	for b := range l.BlocksOf("OS::Nova::Server") {
		if len(l.Use(b.Resource.Name).Blocks(b.Resource)) == 0 && b.Get("user_data") != nil {
			add(b.Get("user_data"), b, l.dataFormat(b))
		}
	}
	for b := range l.BlocksOf("OS::Heat::SoftwareConfig") {
		if group := l.text(b.Get("group")); b.Get("config") != nil && (group == "script" || group == "Heat::Ungrouped" || group == "ungrouped" || b.Get("group") == nil) {
			add(b.Get("config"), nil, "")
		}
	}
	return l.boot
}

// dataFormat is a server's user_data_format, "" if it is unknown.
func (l *Checker) dataFormat(b *Block) string {
	n := b.Get("user_data_format")
	if n == nil && !l.incomplete(b) {
		return "HEAT_CFNTOOLS"
	}
	return l.text(n)
}

// maxNested bounds how deep functions and resources are followed to a text.
const maxNested = 8

// bootTexts are the texts that make up a property's value.
func (l *Checker) bootTexts(n *yaml.Node, depth int) []*bootText {
	if n == nil || depth > maxNested {
		return nil
	}
	if text, is := n.Text(); is {
		return l.bootText(n, "", text)
	}
	if !l.IsCall(n) {
		return nil
	}
	r := l.Ref(n)
	template, params := l.Template.TextAt(n)
	switch {
	case r.Kind == hot.ToFile && r.Name != "" && !source.IsRemote(r.Name):
		text, err := l.Uses[0].Supplied.ReadFile(r.Name)
		if err != nil {
			return nil // reported elsewhere
		}
		return l.bootText(n, r.Name, string(text))
	case r.Kind == hot.ToResource, r.Kind == hot.ToAttribute && r.Attribute == "config":
		return l.configTexts(r.Name, depth+1)
	case template != nil:
		out := l.bootTexts(template, depth+1)
		if params != nil && (params.Kind != yaml.Map || l.IsCall(params)) {
			return nil
		}
		for _, t := range out {
			t.replaced, t.whole = withWords(t.replaced, params), t.whole && params == nil
		}
		return out
	}
	if text := l.text(n); text != "" {
		return l.bootText(n, "", text)
	}
	return nil
}

func (l *Checker) bootText(n *yaml.Node, file, text string) []*bootText {
	return []*bootText{{text: text, replaced: text, whole: true, node: n, places: driver.TextAt(l.Template.Place(n), file, text, "the text")}}
}

// configTexts are the texts of a config resource.
func (l *Checker) configTexts(name string, depth int) (out []*bootText) {
	config, kind := l.present(name)
	if config == nil || config.Properties == nil || l.IsCall(config.Properties.Value) {
		return nil
	}
	switch kind {
	case "OS::Heat::SoftwareConfig":
		return l.bootTexts(config.Property("config"), depth)
	case "OS::Heat::MultipartMime":
		for _, p := range config.Property("parts").List() {
			if !p.Get("subtype").IsNull() || !p.Get("type").IsNull() && l.text(p.Get("type")) != "text" {
				continue // its type is explicit
			}
			for _, t := range l.bootTexts(p.Get("config"), depth) {
				t.part = true
				out = append(out, t)
			}
		}
	}
	return out
}

// withWords replaces each param by a placeholder of the same length, the longest first.
func withWords(text string, params *yaml.Node) string {
	var keys []string
	for _, e := range params.All() {
		if e.Name != "" {
			keys = append(keys, e.Name)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return len(b) - len(a) })
	for _, k := range keys {
		text = strings.ReplaceAll(text, k, strings.Repeat("x", len(k)))
	}
	return text
}
