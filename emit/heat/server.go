package heat

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// server sets a server's user_data, including the user's own.
func (s rewritten) server(p site) {
	r := s.template.Resource(p.resource)
	if data, added, ok := s.userDataOf(p, r, 1); ok {
		s.setUserData(s.text.Resource(r.Name), added, data)
	}
}

// userDataOf returns a server's user_data, and the other properties that hotc sets; count is how
// many servers it is for.
func (s rewritten) userDataOf(p site, r *hot.Resource, count int) (data tree, added *value.Dict, ok bool) {
	format, ok := s.format(r)
	if !ok {
		return nil, nil, false
	}
	o, ok := s.ownUserData(r, &format)
	if !ok {
		return nil, nil, false
	}
	added = value.NewDict()
	if format == raw && r.Property("user_data_format") == nil {
		added.Set("user_data_format", "RAW")
	}
	if r.Property("user_data_update_policy") == nil {
		added.Set("user_data_update_policy", "IGNORE")
		s.out.Ignored += count
	}
	s.out.UserData[o.kind] = true
	s.checkSize(r, p, o, format)
	data = s.archive(p, r, o)
	if len(o.parts) > 0 {
		data = id(s.mime(r, append(o.parts, dict("config", data, "type", "multipart"))))
	}
	return data, added, true
}

// archive is hotc's file with the values that Heat fills in.
func (s *stack) archive(p site, r *hot.Resource, o own) tree {
	params := dict(userdata.BootKey, s.boot(p, r.Name), userdata.AgentURLKey, parameter(ParameterAgentURL))
	if o.inserted != nil {
		params.Set(userdata.UserKey, o.inserted)
	}
	return filled(dict("get_file", s.beside(UserDataFile(o.kind))), params)
}

func (s *stack) mime(r *hot.Resource, parts []value.Value) string {
	return s.generate("hotc_user_data_"+r.Name, resource(mimeType, dict("parts", parts)))
}

// checkSize refuses user-data that exceeds Nova's limit however short its deploy-time values are.
func (s *stack) checkSize(r *hot.Resource, p site, o own, format userDataFormat) {
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
	size := userdata.Base64Size(shared + len(o.static) + p.longest + wrapping[format])
	if size > s.options.UserDataLimit {
		s.diags.Error(source.OverLimit, s.template.Place(r.Entry.Key), fmt.Sprintf("the user_data of server %q has at least %d bytes after base64; Nova takes %d", r.Name, size, s.options.UserDataLimit),
			"shorten the server's own user_data; what roles need travels in the plan")
	}
}

// setUserData sets the property; r is from the edited text.
func (s *stack) setUserData(r *hot.Resource, added *value.Dict, value tree) {
	if r.Property("user_data") == nil {
		added.Set("user_data", value)
		s.addProperties(r.Entry.Value, r.Properties, added)
		return
	}
	s.editor.Wrap(r.Properties.Value, r.Properties.Value.Entry("user_data"), value)
	s.editor.Add(r.Properties.Value, added)
}
