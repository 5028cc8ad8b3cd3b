package chef

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
)

// source is a role's source, as written by the compiler (compiler/driver/chef).
type source struct {
	// Mode is "solo" or "client": which of Chef's programs runs it, in local mode.
	Mode string `json:"mode,omitempty"`
	// Repository is a tree with Chef's standard folders: cookbooks, site-cookbooks, roles,
	// data_bags, environments.
	Repository *fetch.Origin `json:"repository,omitempty"`
	// Cookbooks are trees of one or more cookbooks; of two with one name the first tree's
	// counts.
	Cookbooks    []fetch.Origin  `json:"cookbooks,omitempty"`
	Roles        *fetch.Origin   `json:"roles,omitempty"`
	DataBags     *fetch.Origin   `json:"data_bags,omitempty"`
	Environments *fetch.Origin   `json:"environments,omitempty"`
	Environment  string          `json:"environment,omitempty"`
	RunList      []string        `json:"run_list"`
	Attributes   json.RawMessage `json:"attributes,omitempty"` // a map
	// Prepare is a command for sh, which may create cookbooks in $hotc_cookbooks.
	Prepare string `json:"prepare,omitempty"`
	// Config are lines of Chef's configuration.
	Config string `json:"config,omitempty"`
	// Inputs and Outputs are the paths of each in the node's attributes. One without (an
	// action's argument) has its name, split at the dots.
	Inputs  map[string][]string `json:"inputs,omitempty"`
	Outputs map[string][]string `json:"outputs,omitempty"`
}

func parseSource(text json.RawMessage) (source, error) {
	s, err := driver.ReadSource[source](text)
	if err != nil {
		return source{}, err
	}
	if len(s.RunList) == 0 {
		return source{}, errors.New("Chef's source in the plan has no run list")
	}
	return s, nil
}

// placeOf returns a function from a name to its path in the node's attributes.
func placeOf(of map[string][]string) func(name string) []string {
	return func(name string) []string {
		if path := of[name]; len(path) > 0 {
			return path
		}
		return strings.Split(name, ".")
	}
}

// interception is the interceptor's configuration (ruby/hotc.rb).
type interception struct {
	Socket  string            `json:"socket"`
	Failure string            `json:"failure"` // the file that says why a run has failed
	Inputs  []driver.Declared `json:"inputs"`
	Outputs []driver.Declared `json:"outputs"`
}

func (s source) interception(r contract.Role) (i interception) {
	i.Inputs, i.Outputs = driver.Declare(r, placeOf(s.Inputs), placeOf(s.Outputs))
	return i
}
