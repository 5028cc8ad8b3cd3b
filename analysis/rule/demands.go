package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/value"
)

// demand is what a type's validate() requires of properties beyond its table, which the
// generator of the tables cannot find by trial. All requirements of stock Heat's methods
// are here, in Blocks, or in a rule of their own (server_boot.go, server_network.go, …),
// except those that only a cloud decides.
type demand struct {
	// path is that of the maps that it applies to; "" is the resource's own properties.
	path string
	// of is the property whose value decides: one of `is`, or none of `not`. "" means always.
	of      string
	is, not []string

	// beside is a property without which the demand does not apply; "" is none.
	beside string

	oneOf, excludes []string // at least one of these, and at most one
	needs, without  []string
	ascending       []string // numbers in ascending order

	// property must be one of values, or satisfy like, which says describes.
	property string
	values   []string
	like     func(v value.Value) bool
	says     string
}

// demands are the demands of each type (heat/engine/resources, validate).
var demands = map[string][]demand{
	"AWS::AutoScaling::AutoScalingGroup": {{oneOf: []string{"InstanceId", "LaunchConfigurationName"}}, {excludes: []string{"InstanceId", "LaunchConfigurationName"}},
		{ascending: []string{"MinSize", "DesiredCapacity", "MaxSize"}}, {property: "MinSize", like: notNegative, says: "zero or a positive number"},
		{property: "VPCZoneIdentifier", like: atMostOne, says: "a list of one item"},
		{path: "update_policy.AutoScalingRollingUpdate", property: "PauseTime", like: atMostAnHour, says: anHour}},
	"AWS::AutoScaling::LaunchConfiguration": {{oneOf: []string{"InstanceId", "ImageId"}}, {oneOf: []string{"InstanceId", "InstanceType"}},
		{path: "BlockDeviceMappings", needs: []string{"Ebs"}}, {path: "BlockDeviceMappings.Ebs", needs: []string{"SnapshotId"}}},
	"AWS::AutoScaling::ScalingPolicy": {{of: "AdjustmentType", not: []string{"PercentChangeInCapacity"}, without: []string{"MinAdjustmentStep"}}},
	"AWS::EC2::EIPAssociation": {{oneOf: []string{"EIP", "AllocationId"}}, {excludes: []string{"EIP", "AllocationId"}},
		{oneOf: []string{"InstanceId", "NetworkInterfaceId"}}},
	"AWS::EC2::Instance": {{excludes: []string{"SecurityGroups", "NetworkInterfaces"}}, {excludes: []string{"SecurityGroupIds", "NetworkInterfaces"}},
		{path: "BlockDeviceMappings", needs: []string{"Ebs"}}, {path: "BlockDeviceMappings.Ebs", needs: []string{"SnapshotId"}}},
	"AWS::ElasticLoadBalancing::LoadBalancer": {{path: "HealthCheck", ascending: []string{"Timeout", "Interval"}}},
	"OS::Barbican::Order": {
		{of: "type", is: []string{"key", "asymmetric"}, needs: []string{"algorithm", "bit_length"},
			without: []string{"request_type", "subject_dn", "source_container_ref", "ca_id", "profile", "request_data"}},
		{of: "type", is: []string{"key"}, without: []string{"pass_phrase"}},
		{of: "type", is: []string{"asymmetric", "certificate"}, without: []string{"mode"}},
		{of: "type", is: []string{"certificate"}, without: []string{"algorithm", "bit_length", "payload_content_type", "expiration", "pass_phrase"}},
	},
	"OS::Barbican::Secret": {{of: "payload_content_type", is: []string{"application/octet-stream"}, needs: []string{"payload_content_encoding"}},
		{of: "payload_content_type", is: []string{"text/plain", ""}, without: []string{"payload_content_encoding"}},
		{of: "payload_content_type", is: []string{"application/octet-stream"}, property: "payload", like: isBase64, says: "base64"}},
	"OS::Cinder::Volume":         {{oneOf: []string{"size", "backup_id", "source_volid", "snapshot_id"}}},
	"OS::Cinder::VolumeType":     {{of: "is_public", is: []string{"true"}, without: []string{"projects"}}},
	"OS::Designate::Zone":        {{of: "type", is: []string{"PRIMARY"}, needs: []string{"email"}}, {of: "type", is: []string{"SECONDARY"}, needs: []string{"masters"}}},
	"OS::Glance::Image":          sameFormats,
	"OS::Glance::WebImage":       append([]demand{{of: "visibility", not: []string{"shared"}, without: []string{"members"}}}, sameFormats...),
	"OS::Heat::AutoScalingGroup": {{ascending: []string{"min_size", "desired_capacity", "max_size"}}},
	"OS::Heat::InstanceGroup":    {{path: "update_policy.RollingUpdate", property: "PauseTime", like: atMostAnHour, says: anHour}},
	"OS::Heat::ScalingPolicy":    {{of: "adjustment_type", not: []string{"percent_change_in_capacity"}, without: []string{"min_adjustment_step"}}},

	"OS::Keystone::Group":               oneOwner,
	"OS::Keystone::GroupRoleAssignment": oneOwner,
	"OS::Keystone::User":                oneOwner,
	"OS::Keystone::UserRoleAssignment":  oneOwner,

	"OS::Magnum::ClusterTemplate": {{of: "coe", is: []string{"kubernetes"}, property: "volume_driver", values: []string{"cinder"}},
		{of: "coe", is: []string{"swarm", "mesos"}, property: "volume_driver", values: []string{"rexray"}}},
	"OS::Manila::ShareNetwork": {{excludes: []string{"neutron_network", "nova_network"}}, {excludes: []string{"neutron_subnet", "nova_network"}}},
	"OS::Mistral::Workflow": {{of: "type", is: []string{"reverse"}, needs: []string{"params"}},
		{path: "tasks", oneOf: []string{"workflow", "action"}}, {path: "tasks", excludes: []string{"workflow", "action"}},
		{path: "tasks", beside: "concurrency", needs: []string{"with_items"}}, {path: "tasks", of: "/type", is: []string{"direct"}, without: []string{"requires"}}},
	"OS::Monasca::Notification": {{of: "type", not: []string{"webhook"}, without: []string{"period"}},
		{of: "type", is: []string{"webhook"}, property: "address", like: isWebAddress, says: "an address like http://host/path"},
		{of: "type", is: []string{"email"}, property: "address", like: isMailAddress, says: "an address like name@host"}},
	"OS::Neutron::LBaaS::L7Policy": redirects,
	"OS::Neutron::LBaaS::L7Rule":   keyed,
	"OS::Neutron::LBaaS::Listener": terminated,
	"OS::Neutron::LBaaS::Pool":     persistent,
	"OS::Neutron::NetworkGateway": {{path: "connections", of: "segmentation_type", is: []string{"vlan"}, needs: []string{"segmentation_id"}},
		{path: "connections", of: "segmentation_type", is: []string{"flat"}, without: []string{"segmentation_id"}}},
	"OS::Neutron::Pool":        {{path: "vip.session_persistence", of: "type", is: []string{"APP_COOKIE"}, needs: []string{"cookie_name"}}},
	"OS::Neutron::ProviderNet": {{of: "network_type", not: []string{"vlan"}, without: []string{"segmentation_id"}}},
	"OS::Neutron::RBACPolicy":  {{of: "object_type", is: []string{"qos_policy"}, property: "action", values: []string{"access_as_shared"}}},
	"OS::Neutron::Router": {{excludes: []string{"l3_agent_id", "l3_agent_ids"}}, {excludes: []string{"distributed", "l3_agent_id"}}, {excludes: []string{"distributed", "l3_agent_ids"}},
		{excludes: []string{"distributed", "ha"}}, {of: "ha", not: []string{"true"}, property: "l3_agent_ids", like: atMostOne, says: "a list of one item"}},
	"OS::Neutron::SecurityGroup": {{property: "name", like: func(v value.Value) bool { return v != "default" }, says: "a name other than that of Neutron's own group"}},
	"OS::Neutron::Segment": {{of: "network_type", is: []string{"flat", "vlan"}, needs: []string{"physical_network"}},
		{of: "network_type", is: []string{"vlan"}, needs: []string{"segmentation_id"}},
		{of: "network_type", is: []string{"local", "flat"}, without: []string{"segmentation_id"}},
		{of: "network_type", is: []string{"vxlan", "gre", "geneve"}, without: []string{"physical_network"}},
		{of: "network_type", is: []string{"vlan"}, property: "segmentation_id", like: isVLAN, says: "at most 4094"}},
	"OS::Neutron::Subnet": {{excludes: []string{"cidr", "prefixlen"}}, {of: "ip_version", is: []string{"4"}, without: []string{"ipv6_ra_mode", "ipv6_address_mode"}},
		{of: "ipv6_ra_mode", is: []string{"slaac"}, property: "ipv6_address_mode", values: []string{"slaac"}},
		{of: "ipv6_ra_mode", is: []string{"dhcpv6-stateful"}, property: "ipv6_address_mode", values: []string{"dhcpv6-stateful"}},
		{of: "ipv6_ra_mode", is: []string{"dhcpv6-stateless"}, property: "ipv6_address_mode", values: []string{"dhcpv6-stateless"}},
		{property: "gateway_ip", like: isGateway, says: "an address"}},
	"OS::Neutron::SubnetPool": {{ascending: []string{"min_prefixlen", "default_prefixlen", "max_prefixlen"}}},
	"OS::Nova::KeyPair":       {{oneOf: []string{"public_key"}}},
	"OS::Nova::Server": {{path: "block_device_mapping", oneOf: []string{"volume_id", "snapshot_id"}}, {path: "block_device_mapping", excludes: []string{"volume_id", "snapshot_id"}},
		{path: "networks", excludes: []string{"port", "fixed_ip"}},
		{path: "networks", beside: "floating_ip", oneOf: []string{"port", "subnet"}},
		{path: "networks", of: "allocate_network", is: []string{"auto", "none"}, without: []string{"network", "port", "subnet", "fixed_ip", "floating_ip", "tag"}}},
	"OS::Octavia::L7Policy":       redirects,
	"OS::Octavia::L7Rule":         keyed,
	"OS::Octavia::Listener":       terminated,
	"OS::Octavia::Pool":           persistent,
	"OS::Sahara::ClusterTemplate": {{oneOf: []string{"neutron_management_network"}}},
	"OS::Sahara::JobBinary":       {{property: "url", like: isJobLocation, says: "like swift://… or internal-db:// and a UUID"}},
	"OS::Senlin::Cluster":         {{ascending: []string{"min_size", "desired_capacity", "max_size"}}},
	"OS::Trove::Cluster":          {{path: "instances.networks", oneOf: []string{"network", "port"}}, {path: "instances.networks", excludes: []string{"network", "port"}}},
	"OS::Trove::Instance":         {{path: "networks", oneOf: []string{"network", "port"}}, {path: "networks", excludes: []string{"network", "port"}}, {beside: "users", oneOf: []string{"databases"}}},
	"OS::Zaqar::Subscription":     {{property: "subscriber", like: isSubscriber, says: "http:…, https:…, mailto:…, trust+http:… or trust+https:…"}},
	"OS::Zun::Container": {{path: "mounts", oneOf: []string{"volume_id", "volume_size"}}, {path: "mounts", excludes: []string{"volume_id", "volume_size"}},
		{path: "networks", oneOf: []string{"network", "port"}}, {path: "networks", excludes: []string{"port", "fixed_ip"}},
		{property: "restart_policy", like: isRestartPolicy, says: "no, always, unless-stopped or on-failure, optionally with :COUNT"}},
}

var (
	oneOwner  = []demand{{path: "roles", oneOf: []string{"project", "domain"}}, {path: "roles", excludes: []string{"project", "domain"}}}
	redirects = []demand{{of: "action", is: []string{"REJECT", "REDIRECT_TO_URL"}, without: []string{"redirect_pool"}},
		{of: "action", is: []string{"REJECT", "REDIRECT_TO_POOL"}, without: []string{"redirect_url"}},
		{of: "action", is: []string{"REDIRECT_TO_URL"}, needs: []string{"redirect_url"}},
		{of: "action", is: []string{"REDIRECT_TO_POOL"}, needs: []string{"redirect_pool"}}}
	sameFormats = []demand{{of: "container_format", is: []string{"ami"}, property: "disk_format", values: []string{"ami"}},
		{of: "container_format", is: []string{"ari"}, property: "disk_format", values: []string{"ari"}},
		{of: "container_format", is: []string{"aki"}, property: "disk_format", values: []string{"aki"}}}
	keyed      = []demand{{of: "type", is: []string{"HEADER", "COOKIE"}, needs: []string{"key"}}}
	terminated = []demand{{of: "protocol", is: []string{"TERMINATED_HTTPS"}, needs: []string{"default_tls_container_ref"}}}
	persistent = []demand{{path: "session_persistence", of: "type", is: []string{"APP_COOKIE"}, needs: []string{"cookie_name"}},
		{path: "session_persistence", of: "type", is: []string{"SOURCE_IP"}, without: []string{"cookie_name"}}}
)

// demands visits the demands that apply to a block.
func (b *Block) demands(yield func(demand) bool) {
	for _, d := range demands[b.Type.Name] {
		if d.path == b.Path && (d.beside == "" || b.Get(d.beside) != nil && !falsy(b.Get(d.beside))) && !yield(d) {
			return
		}
	}
}

// sets visits groups of properties that belong together, and the condition for it: those of
// the type's table for the resource's own, and those of demands.
func (b *Block) sets(own [][]string, asked func(demand) []string) func(yield func(names []string, beside string) bool) {
	return func(yield func([]string, string) bool) {
		for _, names := range own {
			if b.Path == "" && !yield(names, "") {
				return
			}
		}
		for d := range b.demands {
			if names := asked(d); names != nil && !yield(names, d.because()) {
				return
			}
		}
	}
}

// because names the property that makes the demand apply.
func (d demand) because() string {
	if d.beside == "" {
		return ""
	}
	return fmt.Sprintf(" beside %q", d.beside)
}
