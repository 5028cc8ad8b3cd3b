"""The HTTP APIs: stock heat-api, and the stand-in of Keystone. Both can be made to fail."""
import logging
import socket

import eventlet
from eventlet import wsgi
from oslo_config import cfg
from oslo_middleware import request_id

from heat.api import openstack as heat_api
from heat.api.openstack import v1
from heat.common import context as heat_context

import identity


def listen(address):
    """A listening socket on a free port of an address, and its URL."""
    version6 = ':' in address
    sock = eventlet.listen((address, 0), socket.AF_INET6 if version6 else socket.AF_INET, backlog=512)
    return sock, 'http://%s:%d' % ('[%s]' % address if version6 else address, sock.getsockname()[1])


class Outage:
    """WSGI middleware that answers 503 to the next `left` requests; `seen` are those that got through."""

    def __init__(self, app):
        self.app, self.left, self.seen = app, 0, []

    def __call__(self, environ, start_response):
        if self.left > 0:
            self.left -= 1
            return identity.refuse(start_response, '503 Service Unavailable', 'out of order')
        self.seen.append('%s %s' % (environ['REQUEST_METHOD'], environ['PATH_INFO']))
        return self.app(environ, start_response)


class Servers:
    def __init__(self, engine, heat_socket, keystone_socket):
        conf = cfg.CONF
        heat = identity.TokenCheck(heat_context.ContextMiddleware(v1.API(conf), conf), engine.identity)
        heat = heat_api.version_negotiation_filter(heat, conf)
        heat = request_id.RequestId(heat_api.faultwrap_filter(heat, conf))
        self.heat, self.keystone = Outage(heat), Outage(engine.identity.app)
        log = logging.getLogger('oracle.http')
        for sock, app in ((heat_socket, self.heat), (keystone_socket, self.keystone)):
            eventlet.spawn(wsgi.server, sock, app, log=log, debug=False)
