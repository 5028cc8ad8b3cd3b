package rule

import (
	"fmt"
	"net/netip"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var ranges = Rule{Code: source.BadRange, Category: Resources, Severity: source.Warning, Evidence: CreationFails, Template: findBadRanges}

// findBadRanges finds ranges that Neutron refuses at creation: addresses outside of their
// subnet, or a start after the end.
func findBadRanges(l *Checker) {
	for b := range l.BlocksOf("OS::Neutron::Subnet") {
		cidr, known := l.prefix(b.Get("cidr"))
		gateway, hasGateway := l.addr(b.Get("gateway_ip"))
		for _, p := range b.Get("allocation_pools").List() {
			start, isStart := l.addr(p.Get("start"))
			end, isEnd := l.addr(p.Get("end"))
			switch {
			case isStart && isEnd && end.Less(start):
				l.Report(p, fmt.Sprintf("the allocation pool ends (%s) before it starts (%s)", end, start), "")
			case known && (isStart && !cidr.Contains(start) || isEnd && !cidr.Contains(end)):
				l.Note(l.Report(p, fmt.Sprintf("the allocation pool is outside of the subnet %s", cidr), ""), b.Get("cidr"), "the subnet")
			case hasGateway && isStart && isEnd && !gateway.Less(start) && !end.Less(gateway):
				l.Note(l.Report(p, fmt.Sprintf("the gateway %s is inside the allocation pool", gateway), "start the pool after it"), b.Get("gateway_ip"), "the gateway")
			}
		}
	}
	for n := range l.groupRules {
		l.portRange(n)
	}
}

// portRange checks a rule for tcp or udp: for icmp the two are a type and a code.
func (l *Checker) portRange(n *yaml.Node) {
	if n.Kind != yaml.Map || n.Get("port_range_min").IsNull() || n.Get("port_range_max").IsNull() {
		return
	}
	if protocol, _ := n.Get("protocol").Text(); protocol != "tcp" && protocol != "udp" {
		return
	}
	first, _, known := l.Number(n.Get("port_range_min"))
	if last, _, too := l.Number(n.Get("port_range_max")); known && too && first > last {
		l.Report(n.Get("port_range_min"), fmt.Sprintf("the first port, %d, is greater than the last, %d", first, last), "")
	}
}

func (l *Checker) addr(n *yaml.Node) (netip.Addr, bool) {
	a, err := netip.ParseAddr(l.text(n))
	return a, err == nil
}

func (l *Checker) prefix(n *yaml.Node) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(l.text(n))
	return p.Masked(), err == nil
}

// text is a node's string, if it is known for certain; otherwise "".
func (l *Checker) text(n *yaml.Node) (text string) {
	if n == nil {
		return ""
	}
	if v, known := l.Value(n); known && v.If == "" {
		text, _ = v.Value.(string)
	}
	return text
}
