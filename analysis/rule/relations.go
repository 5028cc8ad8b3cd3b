package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// relations are what a type's validate() requires of several values together and no demand
// can express.
var relations = map[string]func(*Checker, *Block){
	"AWS::AutoScaling::AutoScalingGroup": (*Checker).launchConfiguration,
	"OS::Barbican::Order":                (*Checker).expired,
	"OS::Barbican::Secret":               (*Checker).expired,
	"OS::Barbican::CertificateContainer": (*Checker).sameSecrets,
	"OS::Barbican::GenericContainer":     (*Checker).sameSecrets,
	"OS::Barbican::RSAContainer":         (*Checker).sameSecrets,
	"OS::Heat::AccessPolicy":             (*Checker).allowedResources,
	"OS::Heat::Delay":                    (*Checker).longDelay,
	"OS::Heat::InstanceGroup":            (*Checker).launchConfiguration,
	"OS::Heat::RandomString":             (*Checker).shortString,
	"OS::Heat::SoftwareComponent":        (*Checker).sameActions,
	"OS::Mistral::Workflow":              (*Checker).tasks,
	"OS::Nova::Server":                   (*Checker).ownDeployments,
	"OS::Trove::Instance":                (*Checker).usersDatabases,
}

// number is an integer, if it is known; otherwise is the table's default.
func (l *Checker) number(n *yaml.Node, otherwise int64) (number int64, k Known, known bool) {
	if n.IsNull() {
		return otherwise, k, true
	}
	return l.Number(n)
}

// shortString compares the length of a random string with its minimum.
func (l *Checker) shortString(b *Block) {
	length, known, is := l.number(b.Get("length"), 32)
	least := int64(0)
	for _, name := range []string{"character_classes", "character_sequences"} {
		if n := b.Get(name); n != nil && n.Kind != yaml.List {
			return
		}
		if b.Node.Get(name).IsNull() && name == "character_classes" {
			least++ // the default: letters and digits, at least one
		}
		for _, item := range b.Get(name).List() {
			more, k, isMin := l.number(item.Get("min"), 1)
			if is = is && isMin && !l.IsCall(item); k.If != "" {
				known = k
			}
			least += more
		}
	}
	if is && least > length {
		at := source.Spanned(b.within())
		if n := b.Get("length"); n != nil {
			at = n
		}
		l.Report(at, when(fmt.Sprintf("length of %s is %d, but its classes and sequences need %d", b.Of, length, least), known), "")
	}
}

// longDelay compares a delay with a stack's default timeout.
func (l *Checker) longDelay(b *Block) {
	least, k1, is1 := l.number(b.Get("min_wait"), 0)
	jitter, k2, is2 := l.number(b.Get("max_jitter"), 0)
	factor, k3, is3 := l.number(b.Get("jitter_multiplier"), 1)
	if longest := least + jitter*factor; is1 && is2 && is3 && longest > stackTimeout {
		for _, k := range []Known{k2, k3} {
			if k.If != "" {
				k1 = k
			}
		}
		l.Report(b.within(), when(fmt.Sprintf("this waits up to %d seconds, but Heat's default timeout for a stack is %d", longest, stackTimeout), k1),
			fmt.Sprintf("create the stack with `--timeout %d` (minutes) or more", (longest+59)/60))
	}
}

// sameActions finds actions for which a component has several configs.
func (l *Checker) sameActions(b *Block) {
	seen := map[string]bool{}
	for _, config := range b.Get("configs").List() {
		own := map[string]bool{}
		for _, n := range config.Get("actions").List() {
			action := l.text(n)
			if seen[action] {
				l.Report(n, fmt.Sprintf("%s accepts only one config for the action %s", b.Of, action), "remove it from one of them")
			}
			own[action] = action != ""
		}
		for action, is := range own {
			seen[action] = seen[action] || is
		}
	}
}

// sameSecrets finds secrets that a container lists twice.
func (l *Checker) sameSecrets(b *Block) {
	var nodes []*yaml.Node
	for _, e := range b.Node.All() {
		if e.Name == "secrets" {
			for _, item := range e.Value.List() {
				nodes = append(nodes, item.Get("ref"))
			}
		} else if e.Name != "name" {
			nodes = append(nodes, e.Value)
		}
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		name := l.text(n)
		if r := l.Ref(n); r.Kind == hot.ToResource {
			name = r.Name
		}
		if name != "" && seen[name] {
			l.Report(n, fmt.Sprintf("%s accepts a secret only once", b.Of), "")
		}
		seen[name] = true
	}
}

// allowedResources finds names in a policy that are not resources.
func (l *Checker) allowedResources(b *Block) {
	for _, n := range b.Get("AllowedResources").List() {
		l.named(n)
	}
}

// named is the resource that a node names, with its type; a finding, and nil, if it names
// none.
func (l *Checker) named(n *yaml.Node) (r *hot.Resource, kind string) {
	name := l.text(n)
	if name == "" {
		return nil, ""
	}
	if r, kind = l.present(name); r == nil {
		l.Report(n, fmt.Sprintf("there is no resource %q", name), hot.DidYouMean(name, l.Template.ResourceNames(), ""))
	}
	return r, kind
}

// expired finds a secret that has expired already.
func (l *Checker) expired(b *Block) {
	n := b.Get("expiration")
	if n == nil || l.now.IsZero() {
		return
	}
	k, _ := l.Value(n)
	text, _ := k.Value.(string)
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, strings.TrimSpace(text)); err == nil && !t.After(l.now) {
			l.Report(n, when(fmt.Sprintf("the expiration of %s is in the past", b.Of), k), "")
			return
		}
	}
}

// launchConfiguration finds a group that names its configuration by a string: Heat needs
// a reference, which makes the group wait for it.
func (l *Checker) launchConfiguration(b *Block) {
	n := b.Get("LaunchConfigurationName")
	if r, _ := l.named(n); r != nil && b.Resource.Entry.Value.Get(l.Template.Keywords().DependsOn) == nil {
		l.Report(n, fmt.Sprintf("the group needs a reference to %q, not its name", r.Name), "write `get_resource`, or `Ref`")
	}
}

// tasks checks a workflow's tasks.
func (l *Checker) tasks(b *Block) {
	if params := b.Get("params"); l.text(b.Get("type")) == "reverse" && params != nil && params.Kind == yaml.Map && !l.IsCall(params) {
		if n := params.Get("task_name"); n.IsNull() || l.falsyToHeat(n) {
			l.Report(params, fmt.Sprintf("params of %s needs \"task_name\" where type is reverse", b.Of), "")
		}
	}
	for _, task := range b.Get("tasks").List() {
		for _, e := range task.Get("policies").All() {
			if !task.Get(e.Name).IsNull() && !l.IsCall(task.Get("policies")) {
				l.Report(e.Key, fmt.Sprintf("a task of %s accepts %q only once: among its policies or beside them", b.Of, e.Name), "")
			}
		}
	}
}

// ownDeployments finds metadata under the key that Heat uses for a server's deployments.
func (l *Checker) ownDeployments(b *Block) {
	if e := b.Resource.MetadataEntry("deployments"); e != nil && l.text(b.Get("user_data_format")) == "SOFTWARE_CONFIG" {
		l.Report(e.Key, fmt.Sprintf("the metadata of %s must not contain \"deployments\" where user_data_format is SOFTWARE_CONFIG: Heat writes its own there", b.Of), "")
	}
}

// usersDatabases finds users' databases that an instance lacks.
func (l *Checker) usersDatabases(b *Block) {
	names := lists.Map(b.Get("databases").List(), func(d *yaml.Node) string { return l.text(d.Get("name")) })
	if len(names) == 0 || slices.Contains(names, "") {
		return
	}
	for _, user := range b.Get("users").List() {
		for _, n := range user.Get("databases").List() {
			if name := l.text(n); name != "" && !slices.Contains(names, name) {
				l.Report(n, fmt.Sprintf("%s has no database %q", b.Of, name), hot.DidYouMean(name, names, ""))
			}
		}
	}
}
