package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit"
)

func newEvalCommand(s streams) *cobra.Command {
	var (
		in    compilation
		v     evaluator
		batch string
	)
	cmd := &cobra.Command{
		Use:   "eval [-t TEMPLATE] EXPRESSION",
		Short: "Evaluate an expression, and show when its value is known",
		Long: `Evaluate a HOT expression, in YAML or JSON, as if it were a role's input. If all of it
is known now, the result is a value (static). If Heat has to resolve a part of it (deploy),
or it needs a role's output (run), the result is the remaining expression. Without a
template, the expression can use the functions of a template version, files, and the
parameters of -P and -e.`,
		Example: `  hotc eval '{list_join: ["-", [a, b]]}'
  hotc eval -t site.yaml -P name=blog '{get_param: name}'
  hotc eval --batch expressions.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (batch == "") == (len(args) == 0) {
				return usageError{fmt.Errorf("eval takes an EXPRESSION or --batch FILE")}
			}
			if batch != "" {
				return v.batch(&in, batch, s)
			}
			return v.one(&in, args[0], s)
		},
	}
	in.addTemplateFlags(cmd.Flags())
	cmd.Flags().StringVarP(&v.template, "template", "t", "", "evaluate the expression in this template `FILE`")
	cmd.Flags().StringVarP(&v.stackName, "stack-name", "n", "", "`NAME` for OS::stack_name")
	cmd.Flags().StringVar(&v.version, "version", "", "heat_template_version without a template: `VERSION` (default: the latest)")
	cmd.Flags().StringVar(&in.facts, "facts", "run", "who supplies servers' addresses and ids: `run|heat` (agents at run time, or Heat)")
	cmd.Flags().StringVar(&batch, "batch", "", "evaluate the JSON list of expressions in `FILE`, - is standard input; the result is a JSON list")
	cmd.Flags().BoolVar(&v.json, "json", false, "print JSON")
	in.signal = "heat"
	return cmd
}

// evaluator holds the command's own flags.
type evaluator struct {
	template, stackName, version string
	json                         bool
}

// evaluated is the result of one expression.
type evaluated struct {
	Binding  string          `json:"binding,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Residual json.RawMessage `json:"residual,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// scope reads the template and its environments.
func (v *evaluator) scope(in *compilation, s streams) (*emit.Scope, error) {
	version := hot.V20210416
	if v.version != "" {
		var ok bool
		if version, ok = hot.ParseVersion(v.version); !ok {
			return nil, usageError{fmt.Errorf("there is no heat_template_version %q", v.version)}
		}
		if v.template != "" {
			return nil, usageError{fmt.Errorf("--version cannot be used with a template, which has its own")}
		}
	}
	o, err := in.options(v.template)
	if err != nil {
		return nil, err
	}
	var diags source.Diagnostics
	scope := emit.NewScope(o, version, v.stackName, &diags)
	if scope != nil {
		return scope, nil
	}
	s.print(diags.All()...)
	return nil, errReported
}

func (v *evaluator) one(in *compilation, text string, s streams) error {
	scope, err := v.scope(in, s)
	if err != nil {
		return err
	}
	var diags source.Diagnostics
	file := source.NewFile("expression", []byte(text))
	n := yaml.Parse(file, &diags)
	s.print(diags.All()...)
	if n == nil {
		return errReported
	}
	bound, err := scope.Evaluator.Evaluate(hot.NewExpr(file, n, scope.Template.Functions))
	if err != nil {
		return err
	}
	if v.json {
		answer := answerOf(bound)
		if answer.Error != "" {
			return source.Fail(source.BadArgument, answer.Error, "")
		}
		return printJSON(s.out, answer)
	}
	key, val := "value", bound.Expr.Value
	if bound.Time != contract.Static {
		key, val = "residual", left(bound)
	}
	_, err = fmt.Fprintf(s.out, "binding: %s\n%s: %s\n", yaml.FlowText(string(bound.Time)), key, yaml.FlowText(val))
	return err
}

func answerOf(bound *binding.Bound) evaluated {
	a := evaluated{Binding: string(bound.Time)}
	v := bound.Expr.Value
	if bound.Time != contract.Static {
		v = left(bound)
	}
	text := value.EncodeJSON(v)
	switch {
	case !json.Valid(text):
		return evaluated{Error: "the value is infinite or not a number, which JSON cannot represent"}
	case bound.Time == contract.Static:
		a.Value = text
	default:
		a.Residual = text
	}
	return a
}

// left is the remaining expression: HOT for Heat, the plan's form for agents.
func left(bound *binding.Bound) value.Value {
	if v, ok := bound.Expr.HOT(); ok && bound.Time == contract.Deploy {
		return v
	}
	text, _ := hot.EncodeResidual(bound.Expr)
	v, err := yaml.DecodeJSON(text)
	if err != nil {
		return string(text) // it has an infinite number
	}
	return v
}

// batch evaluates a list of expressions to a list of results.
func (v *evaluator) batch(in *compilation, path string, s streams) error {
	text, err := readInput(path, s.in)
	if err != nil {
		return source.Fail(source.CannotRead, fmt.Sprintf("cannot read %s: %v", path, err), "")
	}
	scope, err := v.scope(in, s)
	if err != nil {
		return err
	}
	var diags source.Diagnostics
	file := source.NewFile(path, text)
	root := yaml.Parse(file, &diags)
	if root == nil {
		return diags.All()[0]
	}
	if root.Kind != yaml.List {
		d := source.Fail(source.Usage, "--batch takes a JSON list of expressions, this is "+root.Kind.String(), "")
		d.At = source.Place{File: file, Span: root.Span}
		return d
	}
	out := bufio.NewWriter(s.out)
	fmt.Fprint(out, "[")
	for i, n := range root.Items {
		fmt.Fprint(out, map[bool]string{true: "\n", false: ",\n"}[i == 0])
		var line bytes.Buffer
		if err := printJSONLine(&line, answer(scope, file, n)); err != nil {
			return err
		}
		out.Write(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
	}
	fmt.Fprintln(out, "\n]")
	return out.Flush()
}

func answer(scope *emit.Scope, file *source.File, n *yaml.Node) evaluated {
	bound, err := scope.Evaluator.Evaluate(hot.NewExpr(file, n, scope.Template.Functions))
	if d, ok := source.AsDiagnostic(err); ok {
		return evaluated{Error: d.Message}
	}
	return answerOf(bound)
}
