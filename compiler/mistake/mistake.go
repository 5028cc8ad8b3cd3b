// Package mistake tells of a panic, which is a mistake of hotc's own, in a line with its
// place instead of a stack trace.
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

// Ends is deferred first in every goroutine: a panic there ends the program, as any does,
// but with a line that says so.
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

// Go is a goroutine whose panic ends the program that way.
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

// Text says what a panic was and where. Whoever has recovered asks while it unwinds.
func Text(panicked any) string { return fmt.Sprintf("%v (%s)", panicked, place()) }

// place is where in hotc's own code it has panicked.
func place() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(0, stack[:])])
	for panicking := false; ; {
		f, more := frames.Next()
		if panicking && (strings.HasPrefix(f.Function, "github.com/hotc-dev/") || strings.HasPrefix(f.Function, "main.")) {
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
		}
		if panicking = panicking || f.Function == "runtime.gopanic"; !more {
			return "nobody knows where"
		}
	}
}
