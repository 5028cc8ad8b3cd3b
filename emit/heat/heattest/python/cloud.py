"""Nova and Neutron as the stock resource classes see them through their client libraries.

OS::Nova::Server is the stock class. Its Nova is the one below: it keeps for each server what Heat had resolved when it
asked for it, which is what the oracle is after, and leaves the booting to a hypervisor."""
import base64
import datetime
import hashlib
import ipaddress
import itertools
import types
import uuid

from novaclient import exceptions as nova_exceptions

USER_DATA_LIMIT = 65535      # bytes after base64: nova.api.openstack.compute.schemas.servers, `user_data`


def stable_id(text):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, str(text)))


def mac_of(seed):
    h = hashlib.sha256(str(seed).encode()).hexdigest()
    return 'fa:16:3e:%s:%s:%s' % (h[0:2], h[2:4], h[4:6])


def version(address):
    return ipaddress.ip_address(address).version


def now():
    return datetime.datetime.utcnow().isoformat()


class Packed(str):
    """User-data as it is sent to Nova, that still knows what Heat packed: the resolved property and the metadata."""
    content = ''
    metadata = {}


class Cloud:
    """Networks, ports and servers of all the oracle's stacks."""

    def __init__(self, hypervisor):
        self.hypervisor = hypervisor
        self.nets, self.subnets, self.ports, self.floating_ips, self.servers = {}, {}, {}, {}, {}
        self.deleted = []
        self.taken = set()
        self.public = itertools.count(10)

    def net_id(self, name):
        found = [nid for nid, net in self.nets.items() if name in (nid, net['name'])]
        return found[0] if found else stable_id('net %s' % name)

    def subnet_of(self, subnet=None, net=None):
        for sid, known in self.subnets.items():
            if subnet in (sid, known['name']) or (subnet is None and net and known['network_id'] == net):
                return known
        return None

    def address(self, subnet=None, wanted=None):
        if not wanted:
            cidr, first = (subnet['cidr'], 2) if subnet else (self.hypervisor.network, 10)
            wanted = next((str(cidr[i]) for i in range(first, cidr.num_addresses - 1)
                           if str(cidr[i]) not in self.taken), None)
            if wanted is None:
                raise nova_exceptions.ClientException(409, 'no free address in %s' % cidr)
        self.taken.add(str(wanted))
        return str(wanted)

    def port(self, name, net=None, subnet=None, wanted=None, port_id=None):
        known = self.subnet_of(subnet, net)
        if net is None and known:
            net = known['network_id']
        net = self.net_id(net or 'private')
        label = self.nets[net]['name'] if net in self.nets else 'private'
        ip = self.address(known, wanted)
        port_id = port_id or str(uuid.uuid4())
        self.ports[port_id] = {
            'id': port_id, 'name': name, 'ip': ip, 'mac_address': mac_of(port_id), 'label': label, 'network_id': net,
            'device_id': '', 'fixed_ips': [{'ip_address': ip,
                                            'subnet_id': known['id'] if known else stable_id('subnet ' + label)}]}
        return self.ports[port_id]

    def detach(self, port_id):
        """A port leaves its server; one that Nova made for it goes."""
        port = self.ports.get(port_id)
        if port and port.get('owned'):
            self.free(port_id)
        elif port:
            port['device_id'] = ''

    def free(self, port_id):
        port = self.ports.pop(port_id, None)
        if port:
            self.taken.discard(port['ip'])


class Instance:
    """A server as novaclient gives it."""

    status = 'ACTIVE'
    fault = {}

    def __init__(self, nova, record):
        self.nova, self.record = nova, record
        for key, value in record.items():
            setattr(self, key, value)
        self.get()

    def get(self):
        self.status = self.record['status']

    def to_dict(self):
        return {k: v for k, v in self.record.items() if k not in ('userdata', 'ports')}

    def interface_list(self):
        ports = [self.nova.cloud.ports[p] for p in self.record['ports']]
        return [types.SimpleNamespace(port_id=p['id'], net_id=p['network_id'], mac_addr=p['mac_address'],
                                      fixed_ips=p['fixed_ips']) for p in ports]

    def interface_detach(self, port_id):
        """Heat does this to a server that it is about to replace, so that the new one may have the port."""
        self.record['ports'].remove(port_id)
        if not self.record['ports']:
            self.nova.cloud.hypervisor.power(self.record, 'cut')
        self.nova.cloud.detach(port_id)

    def delete(self):
        self.nova.delete(self.record['id'])

    def suspend(self):
        self.nova.cloud.hypervisor.power(self.record, 'suspend')
        self.record['status'] = 'SUSPENDED'

    def resume(self):
        self.nova.cloud.hypervisor.power(self.record, 'resume')
        self.record['status'] = 'ACTIVE'

    def reboot(self, *_args, **_kw):
        self.nova.cloud.hypervisor.power(self.record, 'reboot')

    def rebuild(self, image, meta=None, **_kw):
        """The same id, name, addresses and user-data, on an empty disk."""
        self.record['image'] = {'id': image}
        if meta is not None:
            self.record['metadata'] = dict(meta)
        self._launch('wipe')

    def evacuate(self):
        """A rebuild on another host: the old one is given up and cannot be reached."""
        self._launch('move')

    def resize(self, flavor):
        """Another flavor on the same disk, which is booted again."""
        self.record['flavor'] = {'id': flavor}
        self._launch('reboot')
        self.record['status'] = 'VERIFY_RESIZE'

    def confirm_resize(self):
        self.record['status'] = 'ACTIVE'

    def _launch(self, action):
        self.nova.cloud.hypervisor.power(self.record, action)
        self.record['OS-SRV-USG:launched_at'] = now()


class Nova:
    """novaclient's Client and its `servers` in one."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.servers = self
        self.versions = types.SimpleNamespace(get_current=lambda: types.SimpleNamespace(version='2.53'))

    def create(self, name, userdata=None, nics=None, meta=None, **kw):
        size = len(base64.b64encode((userdata or '').encode()))
        if size > USER_DATA_LIMIT:
            raise nova_exceptions.BadRequest(
                400, 'User data is %d bytes once encoded in base64; it must be no larger than %d' % (
                    size, USER_DATA_LIMIT))
        server_id, ports = str(uuid.uuid4()), []
        for nic in nics if isinstance(nics, list) and nics else [{}]:
            port = self.cloud.ports.get(nic.get('port-id'))
            if port is None:
                port = self.cloud.port(name, net=nic.get('net-id'), wanted=nic.get('v4-fixed-ip') or nic.get('v6-fixed-ip'))
                port['owned'] = True
            port['device_id'] = server_id
            ports.append(port)
        networks, addresses = {}, {}
        for port in ports:
            networks.setdefault(port['label'], []).append(port['ip'])
            addresses.setdefault(port['label'], []).append({
                'addr': port['ip'], 'version': version(port['ip']), 'OS-EXT-IPS:type': 'fixed',
                'OS-EXT-IPS-MAC:mac_addr': port['mac_address']})
        self.cloud.servers[server_id] = {
            'id': server_id, 'name': name, 'status': 'ACTIVE', 'networks': networks, 'addresses': addresses,
            'ports': [p['id'] for p in ports], 'tags': [],
            'accessIPv4': next((p['ip'] for p in ports if version(p['ip']) == 4), ''),
            'accessIPv6': next((p['ip'] for p in ports if version(p['ip']) == 6), ''),
            'metadata': dict(meta or {}), 'userdata': userdata or '', 'image': {'id': kw.get('image')},
            'flavor': {'id': kw.get('flavor')}, 'key_name': kw.get('key_name'),
            'OS-EXT-SRV-ATTR:instance_name': 'instance-%s' % server_id[:8], 'OS-SRV-USG:launched_at': now()}
        self.cloud.hypervisor.boot(self.cloud, self.cloud.servers[server_id])
        return self.get(server_id)

    def get(self, server):
        server_id = getattr(server, 'id', server)
        if server_id not in self.cloud.servers:
            raise nova_exceptions.NotFound(404, 'Instance %s could not be found.' % server_id)
        return Instance(self, self.cloud.servers[server_id])

    def delete(self, server):
        record = self.cloud.servers.pop(self.get(server).id)
        self.cloud.hypervisor.power(record, 'delete')
        self.cloud.deleted.append(record['id'])
        for port_id in record['ports']:
            self.cloud.detach(port_id)

    def update(self, server, name=None, **_kw):
        self.get(server).record['name'] = name

    def set_meta(self, server, meta):
        self.get(server).record['metadata'].update(meta)

    def delete_meta(self, server, keys):
        for key in keys:
            self.get(server).record['metadata'].pop(key, None)

    def tag_list(self, server):
        return self.get(server).record['tags']

    def set_tags(self, server, tags):
        self.get(server).record['tags'] = list(tags)


class Neutron:
    """neutronclient's Client, as far as stock OS::Nova::Server asks it."""

    def __init__(self, cloud):
        self.cloud = cloud

    def list_ports(self, device_id=None, **_kw):
        return {'ports': [p for p in self.cloud.ports.values() if p['device_id'] == device_id]}

    def show_network(self, net_id):
        labels = [p['label'] for p in self.cloud.ports.values() if p['network_id'] == net_id]
        return {'network': {'id': net_id, 'name': labels[0] if labels else 'private'}}

    def list_networks(self, id=None, **_kw):
        return {'networks': [self.show_network(id)['network']]}

    def show_subnet(self, subnet_id):
        known = self.cloud.subnet_of(subnet_id)
        if known:
            return {'subnet': dict(known, cidr=str(known['cidr']))}
        return {'subnet': {'id': subnet_id, 'name': str(subnet_id), 'network_id': None, 'cidr': str(self.cloud.hypervisor.network)}}

    def list_floatingips(self, fixed_ip_address=None, **_kw):
        return {'floatingips': [f for f in self.cloud.floating_ips.values()
                                if f['fixed_ip_address'] == fixed_ip_address]}

    def create_port(self, body):
        wanted = body['port']
        fixed = (wanted.get('fixed_ips') or [{}])[0]
        return {'port': self.cloud.port(wanted.get('name', 'port'), net=wanted.get('network_id'),
                                        subnet=fixed.get('subnet_id'), wanted=fixed.get('ip_address'))}

    def delete_port(self, port_id):
        self.cloud.free(port_id)

    def update_floatingip(self, floating_id, body):
        port = self.cloud.ports.get(body['floatingip'].get('port_id'))
        if floating_id in self.cloud.floating_ips:
            self.cloud.floating_ips[floating_id]['fixed_ip_address'] = port['ip'] if port else None
