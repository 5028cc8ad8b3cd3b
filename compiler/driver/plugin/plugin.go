// Package plugin is the compiler's half of external drivers: an executable
// hotc-driver-NAME on the compiling machine interprets a role's source, by one line of
// JSON and one answer (docs/plugins.md). It travels with the plan, so that the server
// runs the same version.
package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Protocol is the version of the protocol with plug-ins.
const Protocol = 1

// Prefix begins the names of the executables.
const Prefix = "hotc-driver-"

// maxExecutable bounds an executable that travels with the plan, in bytes.
const maxExecutable = 16 << 20

// MaxAnswer bounds an answer, in bytes.
const MaxAnswer = 1 << 20

// ErrNotFound reports a missing executable.
var ErrNotFound = errors.New("not found")

// Machine is the compiling machine, as far as plug-ins need it.
type Machine interface {
	// Executable returns the content of a program on PATH, or ErrNotFound.
	Executable(program string) ([]byte, error)
	// Ask runs `PROGRAM compile` with a line as its input, and returns its output. The
	// error includes its messages if it failed.
	Ask(program string, line []byte) ([]byte, error)
}

// Drivers stands for all plug-ins of a machine; without a machine no plug-in is run.
func Drivers(machine Machine) driver.Driver {
	return driver.Driver{Name: "plugin", Program: func(name string) string { return Prefix + name }, Find: func(name string, elsewhere bool) *driver.Driver {
		d := find(machine, name, elsewhere)
		if d == nil {
			return nil
		}
		// The plug-in checks resources' names itself, with the source. It is installed unless
		// it travels with the plan.
		return &driver.Driver{Name: name, InstallsFrom: []string{"url"}, CheckResource: func(string) error { return nil }, Lower: d.lower}
	}}
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

func find(machine Machine, name string, elsewhere bool) *plugIn {
	if !nameForm.MatchString(name) {
		return nil
	}
	if machine == nil {
		return &plugIn{name: name, unasked: true}
	}
	data, err := machine.Executable(Prefix + name)
	switch {
	case err == nil:
		return &plugIn{name: name, executable: data, travels: !elsewhere, machine: machine}
	case elsewhere:
		return &plugIn{name: name}
	}
	return nil
}

type plugIn struct {
	name       string
	executable []byte // nil if it is only on the server
	travels    bool   // with the plan
	unasked    bool   // present or not
	machine    Machine
}

// The request and the answer.
type (
	question struct {
		Protocol int             `json:"protocol"`
		Role     string          `json:"role"`
		Source   json.RawMessage `json:"source"`
		Inputs   []string        `json:"inputs"`
		Outputs  []output        `json:"outputs"`
	}
	output struct {
		Name     string `json:"name"`
		Type     string `json:"type,omitempty"`
		Resource string `json:"resource,omitempty"`
	}
	answer struct {
		Protocol int `json:"protocol"`
		// Source replaces the role's source.
		Source json.RawMessage `json:"source"`
		// Trees are keys of the source whose values are origins of trees of files.
		Trees  []string  `json:"trees"`
		Errors []problem `json:"errors"`
		// Steps is the order of reads and writes; nil if unknown.
		Steps []step `json:"steps"`
		// Complete is set if there are no others.
		Complete bool `json:"complete"`
	}
	problem struct {
		Message string   `json:"message"`
		Hint    string   `json:"hint"`
		At      []string `json:"at"` // keys in the source
	}
	step struct {
		Read  *string `json:"read"`
		Write *string `json:"write"`
		// Any are steps in an unknown order, Maybe optional ones.
		Any   []step `json:"any"`
		Maybe []step `json:"maybe"`
	}
)

// lower asks the plug-in. The source of one that is only on the server is passed on
// unchanged.
func (d *plugIn) lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	val := value.NewDict()
	val.Set("name", d.name)
	val.Set("source", role.Source)
	meaning := &program.Meaning{Source: val}
	if !value.InJSON(role.Source) {
		diags.Error(source.BadSource, role.SourceAt, "infinity and NaN cannot be passed to a plug-in: its source travels as JSON, which has no such numbers", "quote it to make it a string")
		return nil
	}
	if d.unasked {
		diags.Warning(source.UnknownDriver, role.At, fmt.Sprintf("hotc has no built-in driver %q, and runs no plug-in for an untrusted template (--untrusted): the role is not analysed", d.name), "")
	}
	if d.executable == nil {
		return meaning
	}
	bad := func(format string, args ...any) *program.Meaning {
		at := role.SourceAt
		if role.Source == nil {
			at = role.At
		}
		diags.Error(source.BadPlugin, at, fmt.Sprintf("plug-in %s%s: ", Prefix, d.name)+fmt.Sprintf(format, args...),
			"`hotc-agent check-driver` tests the plug-in in detail; docs/plugins.md describes the protocol")
		return nil
	}
	if d.travels && len(d.executable) > maxExecutable {
		diags.Error(source.OverLimit, role.At, fmt.Sprintf("plug-in %s%s exceeds the %d MB that can travel with a plan", Prefix, d.name, maxExecutable>>20),
			"set `install: {url: …, sha256: …}` to let servers fetch it, or `install: {from: none}` if they have it")
		return nil
	}
	a, err := d.ask(role)
	if err != nil {
		return bad("%v", err)
	}
	if len(a.Errors) > 0 {
		for _, p := range a.Errors {
			diags.Error(source.BadSource, role.Locate(p.At...), p.Message, p.Hint)
		}
		return nil
	}
	if a.Source != nil {
		own, err := yaml.DecodeJSON(a.Source)
		if err != nil {
			return bad("its source is not JSON: %v", err)
		}
		val.Set("source", own)
	}
	if d.travels {
		executable := driver.NewFile(Prefix+d.name, d.executable)
		val.Set("executable", executable.Digest)
		meaning.Files = append(meaning.Files, executable)
	}
	if err := d.trees(role, a.Trees, meaning, diags); err != nil {
		return bad("%v", err)
	}
	if a.Steps != nil || a.Complete {
		steps, err := d.steps(role, a.Steps, 0)
		if err != nil {
			return bad("%v", err)
		}
		meaning.Sequence = &program.Sequence{Steps: program.Spread(steps, 0, 1), Complete: a.Complete}
	}
	return meaning
}

func (d *plugIn) ask(role driver.Role) (*answer, error) {
	line, err := json.Marshal(question{Protocol: Protocol, Role: role.Name, Source: value.EncodeJSON(role.Source),
		Inputs:  lists.Map(role.Inputs, func(in *program.Input) string { return in.Name }),
		Outputs: lists.Map(role.Outputs, func(o *program.Output) output { return output{o.Name, string(o.Type), o.Resource} })})
	if err != nil {
		return nil, err
	}
	printed, err := d.machine.Ask(Prefix+d.name, append(line, '\n'))
	if err != nil {
		return nil, err
	}
	printed = bytes.TrimSpace(printed)
	var a answer
	decoder := json.NewDecoder(bytes.NewReader(printed))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&a); {
	case len(printed) == 0:
		return nil, errors.New("it prints no answer")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("its answer is incomplete: it begins with %q", printed[:min(len(printed), 60)])
	case err != nil:
		return nil, fmt.Errorf("its output is not a valid answer (%v): it begins with %q", err, printed[:min(len(printed), 60)])
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("it prints more than one line")
	}
	if a.Protocol != Protocol {
		return nil, fmt.Errorf("it uses version %d of the protocol, this hotc version %d", a.Protocol, Protocol)
	}
	return &a, nil
}

// trees packs trees of files.
func (d *plugIn) trees(role driver.Role, keys []string, meaning *program.Meaning, diags *source.Diagnostics) error {
	from, _ := role.Source.(*value.Dict)
	trees := value.NewDict()
	for _, key := range keys {
		if from == nil || !from.Has(key) {
			return fmt.Errorf("it names the tree %q, which the source does not have", key)
		}
		if origin := role.Origin(from.At(key), diags, key); origin != nil {
			trees.Set(key, origin.Value)
			meaning.Files = append(meaning.Files, origin.Files...)
		}
	}
	if trees.Len() > 0 {
		meaning.Source.(*value.Dict).Set("trees", trees)
	}
	return nil
}

// Bounds of a plug-in's steps.
const (
	maxSteps = 10_000
	maxDepth = 20
)

func (d *plugIn) steps(role driver.Role, list []step, depth int) ([]program.Step, error) {
	if len(list) > maxSteps || depth > maxDepth {
		return nil, errors.New("its steps are too many or nested too deeply")
	}
	out := []program.Step{}
	for _, s := range list {
		switch {
		case s.Read != nil:
			in := role.Input(*s.Read)
			if in == nil {
				return nil, fmt.Errorf("it reads the input %q, which the role does not declare", *s.Read)
			}
			out = append(out, program.Step{Op: program.ReadInput, Name: in.Name, At: in.At})
		case s.Write != nil:
			o := role.Output(*s.Write)
			if o == nil {
				return nil, fmt.Errorf("it writes the output %q, which the role does not declare", *s.Write)
			}
			out = append(out, program.Step{Op: program.WriteOutput, Name: o.Name, At: o.At})
		case s.Any != nil, s.Maybe != nil:
			inner, err := d.steps(role, slices.Concat(s.Any, s.Maybe), depth+1)
			if err != nil {
				return nil, err
			}
			way := program.Step{Op: program.AnyOrder, At: role.At, Ways: [][]program.Step{inner}}
			if s.Maybe != nil {
				way = program.Step{Op: program.Fork, At: role.At, Ways: [][]program.Step{inner, nil}}
			}
			out = append(out, way)
		default:
			return nil, errors.New("a step must have one of read, write, any and maybe")
		}
	}
	return out, nil
}
