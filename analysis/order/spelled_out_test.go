package order_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/order"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// ring is a net of servers each of which waits for the next one's value.
func ring(size int) *waits.Net {
	file := source.NewFile("ring.yaml", []byte(strings.Repeat("\n", size)))
	place := func(i int) source.Place {
		return source.Place{File: file, Span: source.Span{Start: uint32(i), End: uint32(i)}}
	}
	n := &waits.Net{}
	for i := range size {
		n.AddCell(fmt.Sprintf("s%d.r:x", i))
	}
	for i := range size {
		own, next := waits.CellID(i), waits.CellID((i+1)%size)
		n.Processes = append(n.Processes, waits.Process{Name: fmt.Sprint("s", i), Tasks: []waits.Task{{Name: "r", At: place(i), Owns: []waits.CellID{own}, Completion: -1, Body: []waits.Step{
			{Op: waits.Read, Cell: next, At: place(i), What: `input "next"`}, {Op: waits.Write, Cell: own, At: place(i)}}}}})
	}
	return n
}

// However long a cycle is, the diagnostic stays readable: it shows the beginning, the end
// and how many are in between.
func TestLongCircle(t *testing.T) {
	var diags source.Diagnostics
	if found := order.Deadlocks(program.New(&hot.Template{}, nil), ring(400), &diags); len(found) != 1 || len(found[0].Cycle) != 400 {
		t.Fatalf("%d deadlocks", len(found))
	}
	d := diags.All()[0]
	if want := "s0.r → s1.r → s2.r → s3.r → s4.r → s5.r → … (391 more) → s397.r → s398.r → s399.r → s0.r"; !strings.HasSuffix(d.Message, want) {
		t.Error(d.Message)
	}
	if len(d.Notes) != 2*9+1 || d.Notes[12].Message != "… 391 more, each of which waits for the next" {
		t.Errorf("%d notes: %v", len(d.Notes), d.Notes)
	}
	diags = source.Diagnostics{}
	order.Deadlocks(program.New(&hot.Template{}, nil), ring(12), &diags)
	if d := diags.All()[0]; strings.Contains(d.Message, "…") || len(d.Notes) != 24 {
		t.Errorf("a cycle of 12 is shown completely: %s, %d notes", d.Message, len(d.Notes))
	}
}
