"""Who boots the servers that Nova is asked for: nobody, or a bed that listens on a socket (emit/heat/bed)."""
import ipaddress
import json
import socket

from novaclient import exceptions as nova_exceptions


class Nobody:
    """Servers are written down and never boot: a test plays them."""

    network = ipaddress.ip_network('10.77.0.0/16')      # addresses of whatever has no subnet in the template

    def boot(self, cloud, record):
        pass

    def power(self, record, action):
        """`action` is delete, suspend, resume, reboot, wipe, move or cut."""


class Bed(Nobody):
    """Servers boot in the process that listens at a path. A request and its answer are a line of JSON each."""

    def __init__(self, path, network):
        self.path, self.network = path, ipaddress.ip_network(network)

    def _ask(self, **request):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.path)
            with sock.makefile('rw') as lines:
                lines.write(json.dumps(request) + '\n')
                lines.flush()
                answer = json.loads(lines.readline())
        if answer.get('error'):
            raise nova_exceptions.ClientException(500, answer['error'])

    def boot(self, cloud, record):
        nics = []
        for port in (cloud.ports[p] for p in record['ports']):
            subnet = cloud.subnets.get(port['fixed_ips'][0]['subnet_id'])
            length = (subnet['cidr'] if subnet else self.network).prefixlen
            nics.append({'address': '%s/%d' % (port['ip'], length), 'mac': port['mac_address']})
        self._ask(action='boot', id=record['id'], name=record['name'], nics=nics, user_data=str(record['userdata']),
                  metadata=record['metadata'])

    def power(self, record, action):
        self._ask(action=action, id=record['id'])
