package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var usedTwice = Rule{Code: source.UsedTwice, Category: Resources, Severity: source.Warning, Truth: CreationFails, Template: findUsedTwice}

// findUsedTwice finds ports and volumes that two servers have: Nova refuses the second. Servers that
// have a condition may exclude each other.
func findUsedTwice(l *Look) {
	l.volumesTwice()
	first := map[string]*yaml.Node{}
	for b := range l.BlocksOf("OS::Nova::Server") {
		networks := b.Get("networks")
		if networks == nil || networks.Kind != yaml.List || b.Resource.Condition != nil {
			continue
		}
		for _, n := range networks.Items {
			port := n.Get("port")
			r := l.Ref(port)
			if r.Kind != hot.ToResource || r.Name == "" {
				continue
			}
			if other := first[r.Name]; other != nil && other != port {
				l.Note(l.Found(port, fmt.Sprintf("another server has the port %q already", r.Name), "give each server a port of its own"), other, "the other one")
				continue
			}
			first[r.Name] = port
		}
	}
}

// attached says where a resource attaches a volume: the property that names it.
var attached = map[string]string{"OS::Cinder::VolumeAttachment": "volume_id", "AWS::EC2::VolumeAttachment": "VolumeId"}

// volumesTwice leaves out volumes that are made for several servers.
func (l *Look) volumesTwice() {
	first := map[string]*yaml.Node{}
	look := func(n *yaml.Node) {
		r := l.Ref(n)
		volume := l.Template.Resource(r.Name)
		if r.Kind != hot.ToResource || volume == nil || volume.Properties == nil || !volume.Property("multiattach").IsNull() || !volume.Property("volume_type").IsNull() {
			return
		}
		if other := first[r.Name]; other != nil && other != n {
			l.Note(l.Found(n, fmt.Sprintf("the volume %q is attached already", r.Name), "give each server a volume of its own"), other, "the other time")
			return
		}
		first[r.Name] = n
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
