package heat

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// own is the user's own user_data.
type own struct {
	kind     userdata.Own
	static   string // the known part
	inserted tree   // for userdata.UserKey; nil without such a key
	// parts of a generated OS::Heat::MultipartMime, where one text in Heat cannot contain both.
	parts []value.Value
}

// ownUserData determines the user's own user_data, and chooses the format if it is the default;
// ok is false with a diagnostic if it cannot be kept.
func (s rewritten) ownUserData(r *hot.Resource, format *userDataFormat) (o own, ok bool) {
	n := r.Property("user_data")
	if n.IsNull() {
		if format.decide(r, true, "", ""); *format == cfnTools {
			return own{kind: userdata.CfnTools, inserted: ""}, true
		}
		return own{kind: userdata.NoOwn}, true
	}
	e, err := s.template.Fold(n, s.stacks[0].Supplied.Peek)
	if err != nil {
		s.badArgument(n, err)
		return own{}, false
	}
	format.decide(r, false, beginning(e), knownText(e))
	var inserted tree = dict("get_param", []value.Value{memberProperties, "user_data"}) // in a member
	var entry *yaml.Entry
	if !s.inMember {
		entry = s.text.Resource(r.Name).Properties.Value.Entry("user_data")
		inserted = edit.Verbatim(entry)
	}
	switch name, isConfig := configOf(e); {
	case *format == cfnTools:
		return s.cfnToolsData(r, e, inserted)
	case isConfig && !s.inMember:
		return s.configResource(r, n, name, *format)
	case isConfig, beginning(e) == "" && !e.IsValue():
		if entry != nil {
			inserted = s.content(entry.Value)
		}
		return s.unknownData(r, inserted, *format), true
	}
	s.checkText(r, n, e)
	return s.textData(r, n, knownText(e), inserted, *format)
}

// textData is user_data with a beginning known to the compiler.
func (s *stack) textData(r *hot.Resource, n *yaml.Node, static string, val tree, format userDataFormat) (own, bool) {
	kind, err := userdata.OwnOf(static)
	if err != nil {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("the user_data of server %q %v", r.Name, err), "")
		return own{}, false
	}
	o := own{kind: kind, static: static, inserted: val}
	switch {
	case format == softwareConfig && kind == userdata.Archive:
		// Heat takes an archive apart, but not one within another
		return own{kind: userdata.NoOwn, static: static, parts: []value.Value{dict("config", s.editor.Plain(val), "type", "multipart")}}, true
	case format == softwareConfig:
		o.kind = userdata.Text // Heat quotes it
	case kind == userdata.Quoted:
		quotes := value.NewDict()
		for _, q := range userdata.Quotes(static) {
			quotes.Set(q.Char, q.Form)
		}
		o.inserted = s.quoted(val, quotes)
	}
	return o, true
}

// plainHeader is what OS::Heat::MultipartMime writes before an ASCII text
// (heat/engine/resources/openstack/heat/multi_part.py, by Python's email package). Without it the
// type of the part follows from its beginning, be it a script, a cloud-config or an archive.
const plainHeader = "Content-Type: text/plain; charset=\"us-ascii\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\n\n"

// unknownData is user_data unknown to the compiler: Heat packs it, in any characters.
func (s *stack) unknownData(r *hot.Resource, val tree, format userDataFormat) own {
	if format == softwareConfig {
		// one of the two parts is right; Heat drops the first if it is not an archive,
		// cloud-init the second if it is one
		return own{kind: userdata.NoOwn, parts: []value.Value{dict("config", val, "type", "multipart"), dict("config", val, "type", "text")}}
	}
	name := s.mime(r, []value.Value{dict("config", val)})
	return own{kind: userdata.Archive, inserted: s.quoted(s.textOf(name), dict(plainHeader, ""))}
}

// textOf is the text of a config resource. Before the resource exists, the attribute has no
// value in Heat, which str_replace does not accept as a template.
func (s *stack) textOf(resource string) tree {
	return join("", attribute(resource, "config"))
}

// quoted replaces characters by their forms in an archive.
func (s *stack) quoted(text tree, quotes *value.Dict) tree {
	return section{Dict: dict("str_replace", section{Dict: dict("template", text, "params", quotes)})}
}

func (s *stack) badArgument(n *yaml.Node, err error) {
	s.diags.Error(source.BadArgument, s.template.Place(n), err.Error(), "")
}

// knownText returns the known pieces of a text, its beginning first.
func knownText(e *hot.Expr) string {
	var b strings.Builder
	var collect func(*hot.Expr)
	collect = func(e *hot.Expr) {
		if s, ok := e.Value.(string); ok {
			b.WriteString(s)
		}
		switch pattern := e.Pattern(); {
		case pattern != nil:
			collect(pattern)
		case e.Ref().Kind == hot.NoRef:
			for x := range e.Inside() {
				collect(x)
			}
		}
	}
	collect(e)
	return b.String()
}

// beginning returns the known start of a text.
func beginning(e *hot.Expr) string {
	for ; e != nil; e = e.Beginning() {
		if e.IsValue() {
			text, _ := e.Value.(string)
			return text
		}
	}
	return ""
}
