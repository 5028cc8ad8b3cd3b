package main

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
)

// mistaken is a panic as a diagnostic. An output folder is written whole, at the end, so
// none is half there.
func mistaken(panicked any) error {
	return source.Fail(source.Internal, fmt.Sprintf("hotc made a mistake: %s", mistake.Text(panicked)), "please report it, with the template if you can, and that this is hotc "+version)
}
