package heat

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/cloudinit"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// The types of config resources that a server's user_data may refer to.
const (
	textType  = "OS::Heat::SoftwareConfig"
	cloudType = "OS::Heat::CloudConfig"
	mimeType  = "OS::Heat::MultipartMime"
)

// configOf returns the resource whose config an expression refers to.
func configOf(e *hot.Expr) (name string, ok bool) {
	r := e.Ref()
	return r.Name, r.Kind == hot.ToResource && r.Name != "" || r.Kind == hot.ToAttribute && r.Attribute == "config" && len(r.Path) == 0 && !r.Computed
}

// configResource handles user_data held by another resource. As a property's value Heat resolves
// the resource's id to its text (nova/server.py, handle_create); inside str_replace it would
// leave the id, so the text is read as an attribute.
func (s *stack) configResource(r *hot.Resource, n *yaml.Node, name string, format userDataFormat) (own, bool) {
	config := s.template.Resource(name)
	if config == nil {
		s.diags.Error(source.UnknownResource, s.template.Place(n), fmt.Sprintf("there is no resource %q", name), "")
		return own{}, false
	}
	switch config.Type {
	case cloudType:
		return own{kind: userdata.Text, inserted: attribute(name, "config")}, true
	case textType:
		return s.softwareConfig(r, config, format)
	case mimeType:
		if format == softwareConfig {
			return own{kind: userdata.NoOwn, parts: []value.Value{dict("config", id(name), "type", "multipart")}}, true
		}
		return own{kind: userdata.Archive, inserted: attribute(name, "config")}, true
	}
	if strings.HasPrefix(config.Type, "OS::Heat::") || strings.HasPrefix(config.Type, "OS::Nova::") {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), fmt.Sprintf("the user_data of server %q is a resource that hotc cannot read", r.Name),
			"hotc knows OS::Heat::SoftwareConfig, OS::Heat::CloudConfig, OS::Heat::MultipartMime, and nested templates that stand for one of them")
		return own{}, false
	}
	// a nested template whose OS::stack_id is a config's
	return s.unknownData(r, id(name), format), true
}

// softwareConfig returns the text of an OS::Heat::SoftwareConfig.
func (s *stack) softwareConfig(r, config *hot.Resource, format userDataFormat) (own, bool) {
	n := config.Property("config")
	if n.IsNull() {
		return own{kind: userdata.NoOwn}, true
	}
	e, err := s.template.Fold(n, s.stacks[0].Supplied.Peek)
	if err != nil {
		s.badArgument(n, err)
		return own{}, false
	}
	if beginning(e) == "" && !e.IsValue() {
		return s.unknownData(r, id(config.Name), format), true
	}
	s.checkText(r, n, e)
	text := knownText(e)
	value := s.textOf(config.Name)
	if kind, _ := userdata.OwnOf(text); kind != userdata.Quoted || format == softwareConfig {
		value = attribute(config.Name, "config")
	}
	if kind, _ := userdata.OwnOf(text); kind == userdata.Archive && format == softwareConfig {
		value = id(config.Name)
	}
	return s.textData(r, n, text, value, format)
}

// checkText reports user_data that cloud-init cannot use, or would only warn about.
func (s *stack) checkText(r *hot.Resource, n *yaml.Node, e *hot.Expr) {
	begin := beginning(e)
	name := fmt.Sprintf("the user_data of server %q", r.Name)
	if cloudinit.IsIgnition(begin) {
		s.diags.Error(source.UserDataFormat, s.template.Place(n), name+" is for Ignition; images that read it have no cloud-init, which installs hotc's agent",
			"use an image with cloud-init")
		return
	}
	if begin != "" && !cloudinit.Known(begin) {
		s.diags.Warning(source.UserDataIgnored, s.template.Place(n), name+" does nothing: cloud-init knows what a text is by its first line, and this is none that it knows",
			"begin a script with `#!/bin/sh`, a cloud-config with `#cloud-config`")
		return
	}
	if !e.IsValue() {
		return
	}
	file := source.NewFile("user_data of "+r.Name, []byte(begin))
	if found := cloudinit.CheckCloudConfig(file); found != nil {
		s.diags.Add(found.Note(s.template.Place(n), "the user_data is here"))
	}
}
