package heat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// server gives a server its user_data, beside the user's own.
func (s *stack) server(p plan.Server) {
	r := s.template.Resource(string(p.Path))
	own, ok := s.ownUserData(r)
	if !ok {
		return
	}
	added := hot.NewDict()
	if r.Property("user_data_format") == nil {
		added.Set("user_data_format", "RAW")
	}
	if r.Property("user_data_update_policy") == nil {
		added.Set("user_data_update_policy", "IGNORE")
		s.out.Ignored++
	}
	params := dict(userdata.BootKey, section{s.boot(p)}, userdata.AgentURLKey, dict("get_param", ParameterAgentURL))
	if own.kind != userdata.NoOwn {
		params.Set(userdata.UserKey, own.inserted)
	}
	s.out.UserData[own.kind] = true
	s.checkSize(r, p, own)
	s.setUserData(r, added, section{dict("str_replace", section{dict("template", dict("get_file", UserDataFile(own.kind)), "params", section{params})})})
}

// own is the user's own user_data.
type own struct {
	kind     userdata.Own
	static   string
	inserted tree
}

// ownUserData finds out what the user's own user_data is; ok is false with a
// diagnostic if it cannot be kept.
func (s *stack) ownUserData(r *hot.Resource) (own, bool) {
	n := r.Property("user_data")
	if f := r.Property("user_data_format"); f != nil {
		if format, _ := f.Text(); format != "RAW" {
			s.diags.Error(source.UserDataFormat, s.template.Place(f), fmt.Sprintf("server %q has a user_data_format that hotc cannot keep yet", r.Name), "use `user_data_format: RAW`")
			return own{}, false
		}
	} else if !n.IsNull() {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("server %q has user_data in Heat's default format HEAT_CFNTOOLS, which hotc cannot keep yet", r.Name),
			"add `user_data_format: RAW`")
		return own{}, false
	}
	if n.IsNull() {
		return own{kind: userdata.NoOwn}, true
	}
	entry := r.Properties.Value.Entry("user_data")
	if entry.Merged || r.Properties.Value.Target != nil {
		s.editor.fail(entry.Key, "user_data comes through an alias or a merge key")
		return own{}, false
	}
	e, err := hot.Fold(s.template.Expr(n), s.program.Given.Peek)
	if err != nil {
		s.diags.Error(source.BadArgument, s.template.Place(n), err.Error(), "")
		return own{}, false
	}
	if e.Kind == hot.CallExpr && e.Func.Name == "get_resource" {
		return s.configResource(r, n, e)
	}
	static := knownText(e)
	kind, err := userdata.OwnOf(static)
	if err != nil {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("the user_data of server %q %v", r.Name, err), "")
		return own{}, false
	}
	out := own{kind: kind, static: static, inserted: verbatim{entry}}
	if kind == userdata.Quoted {
		quotes := hot.NewDict()
		for _, q := range userdata.Quotes(static) {
			quotes.Set(q.Char, q.Form)
		}
		out.inserted = section{dict("str_replace", section{dict("template", verbatim{entry}, "params", quotes)})}
	}
	return out, true
}

// configKinds are the resources whose config may be a server's user_data.
var configKinds = map[string]userdata.Own{"OS::Heat::SoftwareConfig": userdata.Text, "OS::Heat::CloudConfig": userdata.Text,
	"OS::Heat::MultipartMime": userdata.Archive}

// configResource is user_data that another resource holds. As a property's value
// Heat reads the text behind the resource's id; inside of str_replace it would
// leave the id, so the text is asked for.
func (s *stack) configResource(r *hot.Resource, n *hot.Node, e *hot.Expr) (own, bool) {
	name, _ := e.Arg().Value.(string)
	kind := userdata.NoOwn
	if config := s.template.Resource(name); config != nil {
		kind = configKinds[config.Type]
	}
	if kind == userdata.NoOwn {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("the user_data of server %q is a resource that hotc cannot read", r.Name),
			"hotc knows OS::Heat::SoftwareConfig, OS::Heat::CloudConfig and OS::Heat::MultipartMime")
		return own{}, false
	}
	return own{kind: kind, inserted: dict("get_attr", []hot.Value{name, "config"})}, true
}

// knownText are the pieces of a text that are known, the text's beginning first.
func knownText(e *hot.Expr) string {
	var b strings.Builder
	var collect func(*hot.Expr)
	collect = func(e *hot.Expr) {
		if s, ok := e.Value.(string); ok {
			b.WriteString(s)
		}
		if e.Kind == hot.MapExpr && slices.Contains(e.Keys, "template") {
			collect(e.Items[slices.Index(e.Keys, "template")])
			return
		}
		for _, x := range e.Items {
			collect(x)
		}
	}
	collect(e)
	return b.String()
}

// checkSize refuses user-data that is too large for Nova however short its
// deploy-time values are.
func (s *stack) checkSize(r *hot.Resource, p plan.Server, o own) {
	shared, known := s.sizes[o.kind]
	if !known {
		text, err := userdata.File(o.kind, s.options.UserData)
		if err != nil {
			s.diags.Add(source.Fail(source.Usage, err.Error(), ""))
			return
		}
		shared = len(text)
		s.sizes[o.kind] = shared
	}
	raw := shared + len(o.static) + len(p.Path)
	if size := userdata.Base64Size(raw); size > s.options.UserDataLimit {
		s.diags.Error(source.OverLimit, s.template.Place(r.Entry.Key), fmt.Sprintf("the user_data of server %q has at least %d bytes after base64; Nova takes %d", r.Name, size, s.options.UserDataLimit),
			"shorten the server's own user_data; what roles need travels in the plan")
	}
}

// setUserData puts a value where it belongs.
func (s *stack) setUserData(r *hot.Resource, added *hot.Dict, value tree) {
	switch {
	case r.Properties == nil:
		added.Set("user_data", value)
		s.editor.add(r.Entry.Value, dict("properties", section{added}))
	case r.Properties.Value.IsNull():
		added.Set("user_data", value)
		s.editor.fill(r.Properties, added)
	case r.Property("user_data") != nil:
		s.editor.wrap(r.Properties.Value, r.Properties.Value.Entry("user_data"), value)
		if added.Len() > 0 {
			s.editor.add(r.Properties.Value, added)
		}
	default:
		added.Set("user_data", value)
		s.editor.add(r.Properties.Value, added)
	}
}
