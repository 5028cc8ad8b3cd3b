package script

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/source"
)

// split returns the inputs that a script takes for several words, each with the first place: the
// words of a loop, of an array, of `set --`.
func (w *walker) split(tree *syntax.File, inputs map[string]string) map[string]source.Place {
	found := map[string]source.Place{}
	words := func(list []*syntax.Word) {
		for _, word := range list {
			e, is := word.Parts[0].(*syntax.ParamExp)
			if !is || len(word.Parts) != 1 || e.Param == nil || e.Length || e.Excl || e.Slice != nil || e.Repl != nil || e.Exp != nil {
				continue
			}
			if name, is := inputs[e.Param.Value]; is && !w.analyser.survey.assigned[e.Param.Value] {
				if _, known := found[name]; !known {
					found[name] = w.at(word)
				}
			}
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.WordIter:
			words(n.Items)
		case *syntax.ArrayExpr:
			for _, x := range n.Elems {
				if x.Value != nil {
					words([]*syntax.Word{x.Value})
				}
			}
		case *syntax.CallExpr:
			if len(n.Args) > 2 && n.Args[0].Lit() == "set" && n.Args[1].Lit() == "--" {
				words(n.Args[2:])
			}
		}
		return true
	})
	return found
}
