package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Thousands of expressions are one process and one reading of the template.
func TestEvalBatchOfThousands(t *testing.T) {
	const number = 5000
	template := filepath.Join("..", "..", "testdata", "three-tier", "site.yaml")
	expressions := make([]any, number)
	for i := range expressions {
		switch i % 3 {
		case 0:
			expressions[i] = map[string]any{"list_join": []any{"-", []any{"a", fmt.Sprint(i)}}}
		case 1:
			expressions[i] = map[string]any{"get_attr": []any{"db", "url"}}
		case 2:
			expressions[i] = map[string]any{"get_param": fmt.Sprint("nothing", i)}
		}
	}
	in, err := json.Marshal(expressions)
	if err != nil {
		t.Fatal(err)
	}
	var out, errors bytes.Buffer
	if code := run(t.Context(), []string{"eval", "-t", template, "--batch", "-"}, streams{in: bytes.NewReader(in), out: &out, err: &errors}); code != exitOK {
		t.Fatalf("status %d: %s", code, errors.String())
	}
	var answers []evaluated
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != number {
		t.Fatalf("%d answers: %v", len(answers), err)
	}
	for i, a := range answers {
		switch i % 3 {
		case 0:
			if want := fmt.Sprintf("%q", fmt.Sprint("a-", i)); a.Binding != "static" || string(a.Value) != want {
				t.Fatalf("answer %d is %+v", i, a)
			}
		case 1:
			if a.Binding != "run" || !strings.Contains(string(a.Residual), "$cell") {
				t.Fatalf("answer %d is %+v", i, a)
			}
		case 2:
			if !strings.Contains(a.Error, "there is no parameter") {
				t.Fatalf("answer %d is %+v", i, a)
			}
		}
	}
}
