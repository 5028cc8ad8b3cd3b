"""Stand-ins for the resource types that would talk to a cloud; OS::Nova::Server stays stock (see cloud.py).

A stand-in has the property and attribute schemas of the stock class, its old names of properties and what it depends on
without being told, so that Heat checks templates and orders resources as ever. Its creation succeeds at once and its
attributes are plausible."""
import ipaddress
import uuid

from heat.engine import resource, resources

NOT_IN_A_CLOUD = ('OS::Heat::', 'AWS::CloudFormation::', 'AWS::AutoScaling::')
FLOATING = ('OS::Neutron::FloatingIP', 'OS::Nova::FloatingIP')
ASSOCIATIONS = ('OS::Neutron::FloatingIPAssociation', 'OS::Nova::FloatingIPAssociation')
EMPTY = {'Map': {}, 'List': [], 'Integer': 0, 'Number': 0, 'Boolean': True}


class StandIn(resource.Resource):
    """Base of all stand-ins. `kind` is the type it stands for, `cloud` the one whose networks it shares."""

    kind = ''
    stock = cloud = None

    # where the stock class is a base, too, these are not its own
    validate = resource.Resource.validate
    needs_replace_failed = resource.Resource.needs_replace_failed
    handle_check = lambda _self: None
    check_create_complete = check_update_complete = check_delete_complete = lambda *_args: True

    def __getattr__(self, name):
        if not name.isupper():
            raise AttributeError(name)
        return getattr(self.stock, name)        # stock code has the properties' names as members (self.NAME)

    def _prop(self, name):
        return self.properties[name] if name in self.properties_schema else None

    def handle_create(self):
        rid = str(uuid.uuid4())
        self.resource_id_set(rid)
        name = self._prop('name') or self.physical_resource_name()
        cloud = self.cloud
        if self.kind == 'OS::Neutron::Net':
            cloud.nets[rid] = {'id': rid, 'name': name}
        elif self.kind == 'OS::Neutron::Subnet':
            cidr = ipaddress.ip_network(self._prop('cidr') or '10.78.0.0/24', strict=False)
            cloud.subnets[rid] = {'id': rid, 'name': name, 'network_id': self._prop('network'), 'cidr': cidr,
                                  'gateway_ip': str(cidr[1])}
        elif self.kind == 'OS::Neutron::Port':
            fixed = next((f for f in self._prop('fixed_ips') or [] if f), {})
            cloud.port(name, net=self._prop('network'), subnet=fixed.get('subnet'), wanted=fixed.get('ip_address'),
                       port_id=rid)
        elif self.kind in FLOATING:
            port = cloud.ports.get(self._prop('port_id'))
            cloud.floating_ips[rid] = {'id': rid, 'floating_ip_address': '203.0.113.%d' % next(cloud.public),
                                       'fixed_ip_address': port['ip'] if port else None}
        elif self.kind in ASSOCIATIONS:
            floating = cloud.floating_ips.get(self._prop('floatingip_id') or self._prop('floating_ip'))
            port = cloud.ports.get(self._prop('port_id'))
            if floating and port:
                floating['fixed_ip_address'] = port['ip']

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        pass

    def handle_delete(self):
        for known in (self.cloud.nets, self.cloud.subnets, self.cloud.floating_ips):
            known.pop(self.resource_id, None)
        self.cloud.free(self.resource_id)

    def handle_suspend(self):
        pass

    def handle_resume(self):
        pass

    def get_reference_id(self):
        if self.kind == 'OS::Nova::KeyPair' and self._prop('name'):
            return self._prop('name')
        return self.name if self.resource_id is None else str(self.resource_id)

    def _facts(self):
        rid, cloud = self.resource_id, self.cloud
        name = self._prop('name') or self.physical_resource_name()
        facts = {'name': name, 'display_name': name, 'status': 'ACTIVE', 'admin_state_up': True,
                 'size': self._prop('size') or 1}
        if rid in cloud.ports:
            facts.update({k: cloud.ports[rid][k] for k in ('fixed_ips', 'mac_address', 'network_id', 'device_id')})
        if rid in cloud.floating_ips:
            floating = cloud.floating_ips[rid]
            facts.update(floating_ip_address=floating['floating_ip_address'], ip=floating['floating_ip_address'],
                         fixed_ip_address=floating['fixed_ip_address'] or '')
        if rid in cloud.subnets:
            facts.update(cloud.subnets[rid], cidr=str(cloud.subnets[rid]['cidr']))
        if rid in cloud.nets:
            facts['subnets'] = [s['id'] for s in cloud.subnets.values() if s['network_id'] == rid]
        return facts

    def _resolve_any_attribute(self, name):
        facts = self._facts()
        if name == 'show':
            given = {k: self._prop(k) for k in self.properties_schema if self._prop(k) is not None}
            return dict(given, id=self.resource_id, **facts)
        if name in facts:
            return facts[name]
        if self._prop(name) is not None:
            return self._prop(name)
        if name in ('vip_address', 'ip_address', 'fixed_ip_address'):
            if 'ip' not in self.data():
                self.data_set('ip', self.cloud.address())
            return self.data()['ip']
        kind = getattr(self.attributes_schema.get(name), 'type', None)
        return EMPTY.get(kind, '%s-%s' % (self.name, name))


SCHEMA = ('properties_schema', 'attributes_schema', 'base_attributes_schema', 'support_status', 'default_client_name',
          'translation_rules', '__doc__', '__module__')


def stand_in_for(kind, stock, cloud):
    members = {name: getattr(stock, name) for name in SCHEMA}
    # stock methods that say what a resource depends on call their base's: they need the stock class as a base
    implied = stock.add_dependencies is not resource.Resource.add_dependencies
    members.update(kind=kind, stock=stock, cloud=cloud, entity=None, required_service_extension=None)
    return type('StandIn' + stock.__name__, (StandIn, stock) if implied else (StandIn,), members)


def install(cloud):
    """Registers a stand-in for every stock type that would talk to a cloud."""
    for kind, info in sorted(resources.global_env().registry._registry.items(), key=lambda entry: str(entry[0])):
        stock = getattr(info, 'value', None)
        if '::' not in str(kind) or kind.startswith(NOT_IN_A_CLOUD) or kind == 'OS::Nova::Server':
            continue
        if isinstance(stock, type) and issubclass(stock, resource.Resource):
            resource._register_class(kind, stand_in_for(kind, stock, cloud))
