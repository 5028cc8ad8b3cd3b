package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var serverBoot = Rule{Code: source.ServerBoot, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findServerBoot}

// sources are the possible sources of a server's device; there must be exactly one
// (heat/engine/resources/openstack/nova/server.py, _validate_block_device_mapping).
var sources = []string{"volume_id", "snapshot_id", "image", "swap_size", "ephemeral_size", "ephemeral_format"}

func findServerBoot(l *Checker) {
	for b := range l.BlocksOf("OS::Nova::Server") {
		image := b.Get("image")
		open := image != nil && l.mayBeNull(image) || l.incomplete(b) // the boot source is unknown
		boots := 0
		if image != nil {
			boots++
		}
		empty := b.Node.Entry("image") != nil && b.Node.Get("image").IsNull() // to Heat, an image named ""
		for _, name := range []string{"block_device_mapping", "block_device_mapping_v2"} {
			devices := b.Get(name)
			if devices == nil {
				continue
			}
			if devices.Kind != yaml.List {
				open = true
				continue
			}
			for _, d := range devices.Items {
				bootable, known := l.device(name, d)
				open = open || !known
				if bootable {
					boots++
				}
			}
		}
		if v2 := b.Get("block_device_mapping_v2"); b.Get("block_device_mapping") != nil && v2 != nil && len(l.certainlySet(b, []string{"block_device_mapping", "block_device_mapping_v2"})) == 2 {
			l.Report(b.Node.Entry("block_device_mapping_v2").Key, b.Of+" accepts only one of the properties block_device_mapping, block_device_mapping_v2", "keep only one of them")
		} else if !open && v2 != nil && (boots > 1 || boots > 0 && empty) {
			l.Report(b.Node.Entry("block_device_mapping_v2").Key, b.Of+" has several boot sources, and can have only one", "give all but one another `boot_index`, such as -1, and remove the image if it boots from a volume")
		}
		if !open && boots == 0 {
			d := l.Report(b.within(), b.Of+" has nothing to boot from", "give it an image, or a device in block_device_mapping_v2 with `boot_index: 0`")
			d.Refused = l.always(b.Resource) && b.Node.Get("block_device_mapping_v2") == nil && !hasNull(b.Node)
		}
	}
}

// device says whether a server boots from a device, and whether that is known.
func (l *Checker) device(list string, d *yaml.Node) (bootable, known bool) {
	if d.Kind != yaml.Map || l.IsCall(d) {
		return false, false
	}
	var there, perhaps []string
	for _, name := range sources {
		n := d.Get(name)
		if name == "image" && n.IsNull() {
			n = d.Get("image_id") // its older name
		}
		switch {
		case n.IsNull():
		case l.mayBeNull(n):
			perhaps = append(perhaps, name)
		case name == "ephemeral_format" && len(there) > 0 && there[len(there)-1] == "ephemeral_size": // one source in two properties
		default:
			there = append(there, name)
		}
	}
	if list == "block_device_mapping" {
		name, isText := d.Get("device_name").Text()
		return name == "vda", isText
	}
	switch {
	case len(there) > 1:
		l.Report(d, fmt.Sprintf("a server's device has one source, not several: %s", strings.Join(there, ", ")), "")
	case len(there)+len(perhaps) == 0:
		l.Report(d, fmt.Sprintf("a server's device needs one of %s", strings.Join(sources, ", ")), "")
	}
	if len(there) == 1 && (there[0] == "swap_size" || strings.HasPrefix(there[0], "ephemeral")) {
		return false, true
	}
	index := d.Get("boot_index")
	if index.IsNull() {
		return len(there) == 1, len(perhaps) == 0
	}
	v, isKnown := l.Value(index)
	text := value.ToString(v.Value)
	return isKnown && text == "0" && len(there) == 1, isKnown && len(perhaps) == 0
}

// hasNull says whether a null stands in a node: Heat reads it as "", an image or a network.
func hasNull(n *yaml.Node) bool {
	for x := range n.Nodes() {
		if x.IsNull() {
			return true
		}
	}
	return false
}
