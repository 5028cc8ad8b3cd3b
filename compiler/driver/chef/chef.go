// Package chef is the compiler's half of the chef driver: the source says where the
// cookbooks are and what to run; inputs and outputs are paths in the node's attributes.
//
// Cookbooks beside the template are inspected: they must contain what the run list
// names. Those that the server fetches, or that a `prepare` command creates, are known
// only there.
package chef

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Driver is the chef driver.
var Driver = driver.Driver{Name: "chef", InstallsFrom: []string{"gem", "url", "packages"}, CheckLicence: checkLicence, CheckResource: checkResource, Lower: lower}

// checkLicence accepts the values of Chef's own CHEF_LICENSE.
func checkLicence(licence string) error {
	if words := []string{"accept", "accept-no-persist", "accept-silent"}; !slices.Contains(words, licence) {
		return fmt.Errorf("accept Chef's licence with one of %s, not %q", strings.Join(words, ", "), licence)
	}
	return nil
}

var resourceForm = regexp.MustCompile(`^[a-z_][a-z0-9_]*\[[^\[\]\n]+\]$`)

func checkResource(name string) error {
	if !resourceForm.MatchString(name) {
		return fmt.Errorf("%q is not a Chef resource: write TYPE[NAME], as in a notification: service[mysql]", name)
	}
	return nil
}

// lowering is the state of reading one role's source.
type lowering struct {
	driver.Reading
	keys *value.Dict // of the source
	// holds is the content of the trees.
	holds holdings
	items []item // the run list
}

var form = driver.Form{Driver: "chef", Needs: "cookbooks", Takes: "a map",
	Keys: []string{"cookbooks", "repository", "roles", "data_bags", "environments", "environment", "run_list", "attributes", "prepare", "config", "mode"},
	Hint: "`source: {cookbooks: ./cookbooks, run_list: [\"recipe[web]\"]}`; docs/chef.md has all keys"}

func lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	l := &lowering{Reading: driver.NewReading(role, diags)}
	l.Open(&form, nil, l.source)
	if l.Failed {
		return nil
	}
	sequence, unchecked := l.sequence()
	return &program.Meaning{Source: l.Out, Files: l.Files, Sequence: sequence, Unchecked: unchecked}
}

func (l *lowering) source(keys *value.Dict) {
	l.keys = keys
	if !slices.ContainsFunc([]string{"cookbooks", "repository", "prepare"}, keys.Has) {
		if !l.Failed { // a misspelt key, already reported, may be the missing one
			l.Wrong(nil, "set `cookbooks:` or `repository:`; a role's own source replaces the whole source of the defaults",
				"the source of role %q names no cookbooks", l.Role.Name)
		}
		return
	}
	l.trees()
	l.texts()
	l.attributes()
	l.runList()
	l.places()
}

// texts reads the keys whose values are strings.
func (l *lowering) texts() {
	for _, key := range []string{"environment", "prepare", "config", "mode"} {
		val, given := l.keys.Get(key)
		if !given {
			continue
		}
		text, is := val.(string)
		switch at := l.Role.Locate(key); {
		case !is || strings.TrimSpace(text) == "":
			l.WrongAt(at, "", "%s of role %q must be a string, not %s", key, l.Role.Name, value.TypeName(val))
		case key == "mode" && text != "solo" && text != "client":
			l.WrongAt(at, "`solo` is chef-solo; `client` is chef-client in local mode", "unknown mode %q", text)
		case key == "environment" && !nameForm.MatchString(text):
			l.WrongAt(at, "letters, digits, _ and -", "%q is not a valid environment name", text)
		default:
			l.Out.Set(key, text)
		}
	}
}

// attributes reads the node's JSON: a map, or the text of one. It may also contain the
// run list.
func (l *lowering) attributes() {
	val, given := l.keys.Get("attributes")
	if !given {
		return
	}
	at := l.Role.Locate("attributes")
	if text, is := val.(string); is {
		decoded, err := yaml.DecodeJSON([]byte(text))
		if err != nil {
			l.WrongAt(at, "", "the attributes of role %q are not JSON: %v", l.Role.Name, err)
			return
		}
		val = decoded
	}
	attributes, is := val.(*value.Dict)
	if !is {
		l.WrongAt(at, "`attributes: {mysql: {port: 3306}}`, or {get_file: node.json}", "the attributes of role %q must be a map, not %s", l.Role.Name, value.TypeName(val))
		return
	}
	kept := value.NewDict()
	for _, key := range attributes.Keys() {
		inner, _ := attributes.Get(key)
		if key != "run_list" {
			kept.Set(key, inner)
			continue
		}
		if l.keys.Has("run_list") {
			l.WrongAt(at, "remove one of them", "role %q has two run lists: in its attributes and in its source", l.Role.Name)
			return
		}
		l.keys.Set("run_list", inner)
	}
	l.Out.Set("attributes", kept)
}
