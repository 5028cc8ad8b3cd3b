package heat

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
)

// A group of servers with roles becomes a group of generated nested templates: Heat resolves
// functions before it inserts the index, so that a token computed in the group's own definition
// would be the same for every member. The user's properties stay in place, one level deeper, and
// reach the server as one json parameter; the index reaches it as part of hotc_path.

// A generated member: its one resource, and the parameters with the user's properties. (Heat
// refuses a parameter with a resource's name.)
const (
	memberServer     = "server"
	memberProperties = "server_properties"
	memberMetadata   = "server_metadata"
)

// members turns a group's servers into members of a generated template.
func (s rewritten) members(n *program.StackResource) {
	file := s.memberFile(n)
	text, resources, ok := s.member(n)
	if !ok {
		return
	}
	if before, have := s.out.Files[file]; have && string(before) != text {
		s.failed(edit.Internal(file + " would be written twice"))
		return
	}
	s.out.Files[file] = []byte(text)
	s.nestsDeeper(2)
	for other := range usesOf(s.stacks, n) {
		if !other.Open() {
			s.out.Added += other.Most() * resources // the members themselves are counted already
		}
	}
	in, properties := s.definitionOf(n)
	s.editor.Replace(in.Get("type"), s.beside(file))
	added := s.handing(n)
	if rest := s.otherMetadata(in.Get("metadata")); rest.Len() > 0 {
		added.Set(memberMetadata, rest)
	}
	if properties == nil || properties.Value.IsNull() {
		s.addProperties(in, properties, added)
	} else {
		added.Set(memberProperties, edit.Verbatim(properties)) // last, so that a comment after it stays after it
		s.editor.Wrap(in, properties, section{Dict: added})
	}
	s.editor.Remove(in, "metadata")
}

func (s *stack) memberFile(n *program.StackResource) string {
	target, name := s.files.Target, n.Resource.Name
	base := strings.TrimSuffix(target, path.Ext(target))
	if target == RootFile {
		base = ""
	}
	if plain := notPlain.ReplaceAllString(name, "_"); plain != name || strings.HasPrefix(name, ".") {
		name = plain + "-" + contract.Digest(name)[:8]
	}
	return path.Join("hotc", "members", base, name+".yaml")
}

// notPlain is what would need escaping in a URL.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// otherMetadata returns a definition's metadata without hotc's.
func (s rewritten) otherMetadata(n *yaml.Node) *value.Dict {
	d := value.NewDict()
	for _, e := range n.All() {
		if !s.stacks[0].IsEntry(e.Name) {
			d.Set(e.Name, s.content(e.Value))
		}
	}
	return d
}

// member returns the text of a generated member and its number of resources.
func (s rewritten) member(n *program.StackResource) (text string, count int, ok bool) {
	inner := rewritten{&stack{s.emission, target{inMember: true, group: n.Resource, ownSite: s.memberSite(n), version: hot.MemberVersion,
		isSlot: n.Slots(), slotAround: s.slot(), files: Template{Target: s.memberFile(n)}, generated: value.NewDict()}}}
	for other := range usesOf(s.stacks, n) {
		count += other.Most()
	}
	data, added, ok := inner.userDataOf(inner.ownSite, n.Definition(), count)
	if !ok {
		return "", 0, false
	}
	properties := value.NewDict()
	for _, e := range n.Definition().Entries() {
		if e.Name != "user_data" {
			properties.Set(e.Name, dict("get_param", []value.Value{memberProperties, e.Name}))
		}
	}
	properties.SetAll(added)
	properties.Set("user_data", data)
	server := dict("type", n.Definition().Type, "properties", section{Dict: properties})
	parameters := dict(memberProperties, dict("type", "json", "default", value.NewDict()))
	if len(n.Definition().Entry.Value.Get("metadata").All()) > len(n.Blocks()) {
		parameters.Set(memberMetadata, dict("type", "json", "default", value.NewDict()))
		server.Set("metadata", parameter(memberMetadata))
	}
	parameters.SetAll(inner.argumentParameters())
	outputs := dict("OS::stack_id", dict("value", id(memberServer)))
	for _, name := range s.readThrough(n) {
		outputs.Set(name, dict("value", attribute(memberServer, name)))
	}
	inner.waitOutput(outputs)
	resources := dict(memberServer, section{Dict: server})
	inner.memberWait(inner.generated)
	resources.SetAll(inner.generated)
	var b strings.Builder
	for _, part := range []struct {
		key   string
		value tree
	}{
		{"heat_template_version", hot.MemberVersion.String()},
		{"description", fmt.Sprintf("Written by hotc. A member of the group %s of %s.", n.Resource.Name, path.Base(s.files.Target))},
		{"parameters", section{Dict: parameters}},
		{"resources", section{Dict: resources}},
		{"outputs", section{Dict: outputs}},
	} {
		b.WriteString(edit.Text(part.key, part.value) + "\n")
	}
	return strings.Replace(b.String(), `"`+hot.MemberVersion.String()+`"`, hot.MemberVersion.String(), 1), resources.Len(), true
}

// memberSite is the server of a generated member: one site for all members.
func (s *stack) memberSite(n *program.StackResource) site {
	p := site{resource: memberServer, path: parameter(ParameterPath), roles: true}
	for m := range n.Members {
		p.longest = max(p.longest, len(n.Path(m)))
	}
	for other := range usesOf(s.stacks, n) {
		for m := range other.Members {
			merge(&p, s.built.Deploy[other.Path(m)])
		}
	}
	return p
}

// readThrough returns the real attributes of servers that the template reads through a group:
// the member has to output them.
func (s *stack) readThrough(n *program.StackResource) []string {
	read := map[string]bool{}
	for call := range s.template.Calls(s.template.Root) {
		if r := s.template.RefAt(call); r.Kind == hot.ToAttribute && len(r.Parts) > 1 && r.Names(n.Resource.Name) {
			attributesRead(n, r, read)
		}
	}
	return lists.Only(n.ServerType().Attributes, func(name string) bool { return read[name] })
}

// attributesRead records the attributes that a reference to a group reads from its members.
func attributesRead(n *program.StackResource, r hot.NodeRef, read map[string]bool) {
	if r.Attribute != "" {
		switch sel := n.Select(r.Attribute, r.Path, r.Computed); {
		case sel.Attribute != "":
			read[sel.Attribute] = true
			return
		case sel.Gives == program.HeatsOwn:
			return
		}
	}
	for _, name := range n.ServerType().Attributes { // only Heat knows which one
		read[name] = true
	}
}
