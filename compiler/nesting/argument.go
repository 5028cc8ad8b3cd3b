package nesting

import (
	"fmt"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// supply sets what is known of a stack's parameters: from the properties of its
// resource, from parameter_defaults, and without Heat from their own defaults.
func (l *loader) supply(s *program.Stack, n *program.StackResource, m *program.Member, path string) {
	around := n.In
	s.Arguments = map[string]*hot.Expr{}
	s.Supplied = &program.Supplied{Parameters: map[string]value.Value{}, Unpinnable: map[string]bool{}, Arguments: map[string]func(){}, Unpinned: around.Supplied.Unpinned,
		ReadFile: located(filepath.Dir(path), l.Read), OpenFolder: located(filepath.Dir(path), l.Open)}
	properties := n.Definition().Entries()
	for i := range properties {
		e := &properties[i]
		if s.Template.Parameter(e.Name) == nil {
			l.unknownProperty(s, around, e)
			continue
		}
		s.Arguments[e.Name] = around.Template.Expr(e.Value)
	}
	for _, p := range s.Template.Parameters {
		l.value(s, n, m, p)
	}
}

// located opens what a template in a folder refers to by a path.
func located[Opened any](dir string, open func(path string) (Opened, error)) func(name string) (Opened, error) {
	return func(name string) (Opened, error) {
		path, err := source.Locate(name, dir)
		if err != nil {
			var none Opened
			return none, err
		}
		return open(path)
	}
}

func (l *loader) unknownProperty(s, around *program.Stack, e *yaml.Entry) {
	l.diags.Error(source.UnknownParameter, around.Place(e.Key), fmt.Sprintf("the template %s has no parameter %q", l.name(s.Template.File.Name), e.Name),
		hot.DidYouMean(e.Name, s.Template.ParameterNames(), ""))
}

// value sets the value of a parameter, if known. Values of hidden parameters are never
// used at compile time.
func (l *loader) value(s *program.Stack, n *program.StackResource, m *program.Member, p *hot.Parameter) {
	var (
		v     value.Value
		at    source.Place
		known bool
	)
	if a := s.Arguments[p.Name]; a != nil {
		e, err := hot.Fold(a, n.In.Supplied.Peek)
		if err != nil || !e.IsValue() {
			return // reported where it is used
		}
		v, at, known = n.Indexed(e, m.Name).Value, a.At, e.Value != nil
		if known {
			s.Supplied.Arguments[p.Name] = func() { _, _ = hot.Fold(a, n.In.Supplied.Resolve) }
		}
	}
	if d, ok := l.Environment.Defaults[p.Name]; ok && !known {
		v, at, known = d.Value, d.At, d.Value != nil
		s.Supplied.Unpinnable[p.Name] = !s.Supplied.Unpinned && !p.Pinnable()
	}
	if s.Supplied.Unpinned && !known && p.Default != nil {
		v, at, known = p.Default.Data(), s.Place(p.Default), true
	}
	if !known || p.Hidden && !s.Supplied.Unpinned {
		return
	}
	cast, err := p.Cast(v)
	if err == nil {
		err = p.Check(cast)
	}
	if err != nil {
		l.diags.Error(source.BadParameter, at, fmt.Sprintf("invalid value of parameter %q: %v", p.Name, err), "").Note(s.Place(p.Entry.Key), "the parameter")
		return
	}
	s.Supplied.Parameters[p.Name] = cast
}
