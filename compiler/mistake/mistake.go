// Package mistake reports a panic, which is a bug in hotc, as one line with its position
// instead of a stack trace.
package mistake

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/terminal"
)

// Ends is deferred first in every goroutine: a panic there ends the program with that
// line.
func Ends() {
	p := recover()
	if p == nil {
		return
	}
	err := terminal.NewWriter(os.Stderr, "")
	fmt.Fprintf(err, "error[H699]: %s made a mistake: %s\n  hint: please report it\n", filepath.Base(os.Args[0]), Text(p))
	_ = err.Flush()
	os.Exit(1)
}

// Go starts a goroutine with Ends.
func Go(run func()) {
	go func() {
		defer Ends()
		run()
	}()
}

// GoIn is Go in a group of goroutines.
func GoIn(group *sync.WaitGroup, run func()) {
	group.Go(func() {
		defer Ends()
		run()
	})
}

// Text describes a panic and its position. It must be called while the panic unwinds.
func Text(panicked any) string { return fmt.Sprintf("%v (%s)", panicked, place()) }

// place is the innermost position in hotc's own code.
func place() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(0, stack[:])])
	for panicking := false; ; {
		f, more := frames.Next()
		if panicking && (strings.HasPrefix(f.Function, "github.com/hotc-dev/") || strings.HasPrefix(f.Function, "main.")) {
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
		}
		if panicking = panicking || f.Function == "runtime.gopanic"; !more {
			return "unknown position"
		}
	}
}
