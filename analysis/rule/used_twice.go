package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var usedTwice = Rule{Code: source.UsedTwice, Category: Resources, Severity: source.Warning, Evidence: CreationFails, Template: findUsedTwice}

// findUsedTwice finds ports and volumes of two servers: Nova refuses the second. Servers
// with a condition may exclude each other.
func findUsedTwice(l *Checker) {
	l.volumesTwice()
	first := map[string]*yaml.Node{}
	for b := range l.BlocksOf("OS::Nova::Server") {
		if b.Resource.Condition != nil {
			continue
		}
		for _, n := range b.Get("networks").List() {
			if r := l.Ref(n.Get("port")); r.Kind == hot.ToResource && r.Name != "" {
				l.once(first, r.Name, n.Get("port"), "another server already has the port %q", "give each server a port of its own", "the other server")
			}
		}
	}
}

// once finds a second use of something exclusive.
func (l *Checker) once(first map[string]*yaml.Node, name string, n *yaml.Node, format, hint, note string) {
	if other := first[name]; other != nil && other != n {
		l.Note(l.Report(n, fmt.Sprintf(format, name), hint), other, note)
		return
	}
	first[name] = n
}

// attached names the property of a resource type that attaches a volume.
var attached = map[string]string{"OS::Cinder::VolumeAttachment": "volume_id", "AWS::EC2::VolumeAttachment": "VolumeId"}

// volumesTwice skips volumes that may be attached to several servers.
func (l *Checker) volumesTwice() {
	first := map[string]*yaml.Node{}
	look := func(n *yaml.Node) {
		r := l.Ref(n)
		volume := l.Template.Resource(r.Name)
		if r.Kind != hot.ToResource || volume == nil || volume.Properties == nil || !volume.Property("multiattach").IsNull() || !volume.Property("volume_type").IsNull() {
			return
		}
		l.once(first, r.Name, n, "the volume %q is already attached", "give each server a volume of its own", "the other attachment")
	}
	for _, b := range l.Blocks() {
		switch {
		case b.Resource.Condition != nil:
		case b.Path == "" && attached[b.Type.Name] != "":
			look(b.Get(attached[b.Type.Name]))
		case b.Path == "block_device_mapping_v2" && b.Type.Name == "OS::Nova::Server", b.Path == "block_device_mapping" && b.Type.Name == "OS::Nova::Server":
			look(b.Get("volume_id"))
		}
	}
}
