package main

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// mistake is a panic as a diagnostic. An output folder is written whole, at the end, so
// none is half there.
func mistake(panicked any) error {
	return source.Fail(source.Internal, fmt.Sprintf("hotc made a mistake: %v (%s)", panicked, mistaken()), "please report it, with the template if you can, and that this is hotc "+version)
}

// mistaken is the place in hotc's own code at which it has panicked.
func mistaken() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(0, stack[:])])
	for panicking := false; ; {
		f, more := frames.Next()
		if panicking && strings.HasPrefix(f.Function, "github.com/hotc-dev/") || panicking && strings.HasPrefix(f.Function, "main.") {
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
		}
		if panicking = panicking || f.Function == "runtime.gopanic"; !more {
			return "nobody knows where"
		}
	}
}
