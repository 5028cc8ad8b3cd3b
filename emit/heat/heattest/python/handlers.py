"""What the oracle can be asked: a method for each kind of request, and the table of them."""
import logging
import uuid
import warnings

from heat.rpc import api as rpc_api

import api
import cloud
import client
import engine
import findings
import hypervisor
import stacks

PREVIEW = ('added', 'deleted', 'replaced', 'unchanged', 'updated')


class Oracle:
    """An engine with its HTTP APIs at an address. `folder` holds the database, `boots` is who boots servers."""

    def __init__(self, folder, address='127.0.0.1', boots=None, stock=False):
        logging.basicConfig(level=logging.WARNING, format='%(levelname)s %(name)s %(message)s', force=True)
        warnings.simplefilter('ignore')         # of Python, but for what a validation captures
        heat_socket, heat_url = api.listen(address)
        keystone_socket, keystone_url = api.listen(address)
        logging.disable(logging.WARNING)        # what Heat says of its own resource types as it loads them
        self.engine = engine.Engine(folder, heat_url, keystone_url + '/v3', boots or hypervisor.Nobody(), stock)
        logging.disable(logging.NOTSET)
        self.log = findings.Log()
        self.http = api.Servers(self.engine, heat_socket, keystone_socket)
        self.stacks = stacks.Stacks(self.engine)
        self.operations = {
            'validate': self.validate, 'create': self.create, 'update': self.update, 'preview': self.preview,
            'unhealthy': self.unhealthy, 'lose': self.lose, 'relaunch': self.relaunch, 'signal': self.signal, 'delete': self.delete, 'find': self.find,
            'status': self.stacks.status, 'wait': self.stacks.wait, 'resources': self.stacks.resources, 'servers': self.stacks.servers, 'outputs': self.stacks.outputs,
            'warnings': self.warnings, 'outage': self.outage, 'expire_tokens': self.expire_tokens, 'expire_password': self.expire_password,
            'requests': self.requests,
        }

    def endpoints(self):
        """What a client needs to reach the APIs as the stacks' owner."""
        ident = self.engine.identity
        owner = ident.users[ident.owner]
        return {'auth_url': ident.url, 'heat_url': ident.services['orchestration'] % {'tenant_id': owner['project']},
                'username': owner['name'], 'password': owner['password'], 'project': owner['project']}

    def validate(self, path, environments=(), parameters=None, name='checked'):
        """All that the service checks before it starts to create a stack."""
        verdict = {'accepted': False, 'error': '', 'warnings': [], 'resources': [], 'bytes': 0}
        ctx = self.engine.identity.context()
        with findings.Capture() as capture:
            try:
                request = client.Request(path, environments, parameters)
                verdict['bytes'] = request.bytes
                request.check_size()
                # the parsed stack is what stack create and stack validate both look at
                stack = self.engine.service._parse_template_and_validate_stack(
                    ctx, name, request.template, request.parameters, request.files, request.environments, None,
                    {rpc_api.PARAM_TIMEOUT: 60}, convergence=True)
                verdict['resources'] = [{'name': n, 'type': r.type()} for n, r in sorted(stack.items())]
                verdict['accepted'] = True
            except Exception as error:
                verdict['error'] = '%s: %s' % (type(error).__name__, str(error).strip())
        verdict['warnings'] = capture.lines
        if verdict['accepted']:
            verdict['warnings'] = verdict['warnings'] + findings.deprecations(stack)
        return verdict

    def create(self, path, name, environments=(), parameters=None, rollback=False, timeout_mins=60):
        """Starts to create a stack in a project of its own, so that stacks of one name do not meet."""
        request = client.Request(path, environments, parameters)
        request.check_size()
        project = uuid.uuid4().hex
        ident = self.engine.client.create_stack(
            self.engine.identity.context(project), name, request.template, request.parameters, request.files,
            {rpc_api.PARAM_TIMEOUT: timeout_mins, rpc_api.PARAM_DISABLE_ROLLBACK: not rollback},
            environment_files=request.environments)
        return self.stacks.add(ident, project)

    def warnings(self, since=0):
        """What Heat has logged at level WARNING and above, without the first `since` lines."""
        return self.log.lines[since:]

    def find(self, name):
        """A stack that somebody else has created, over the HTTP API in the owner's project."""
        return self.stacks.add(self.engine.client.identify_stack(self.engine.identity.context(), name), None)

    def _change(self, call, ident, path, environments, parameters):
        request = client.Request(path, environments, parameters)
        request.check_size()
        return call(self.stacks.context(ident), dict(ident), request.template, request.parameters, request.files,
                    {rpc_api.PARAM_TIMEOUT: 60}, environment_files=request.environments)

    def update(self, ident, path, environments=(), parameters=None):
        self._change(self.engine.client.update_stack, ident, path, environments, parameters)
        return {}

    def preview(self, ident, path, environments=(), parameters=None):
        """What an update would do: names of resources, by what happens to them."""
        changes = self._change(self.engine.client.preview_update_stack, ident, path, environments, parameters)
        return {kind: sorted(res['resource_name'] for res in changes[kind]) for kind in PREVIEW}

    def unhealthy(self, ident, resource):
        self.engine.client.resource_mark_unhealthy(self.stacks.context(ident), dict(ident), resource, True, 'broken')
        return {}

    def lose(self, server):
        """Somebody deletes a server in Nova, and Heat is not told."""
        cloud.Nova(self.engine.cloud).delete(server)
        return {}

    def relaunch(self, server, how):
        """Somebody rebuilds or evacuates a server in Nova, and Heat is not told."""
        found = cloud.Nova(self.engine.cloud).get(server)
        if how == 'rebuild':
            found.rebuild(found.image['id'])
        else:
            found.evacuate()
        return {}

    def signal(self, ident, resource):
        self.engine.client.resource_signal(self.stacks.context(ident), dict(ident), resource, {}, sync_call=True)
        return {}

    def delete(self, ident):
        self.engine.client.delete_stack(self.stacks.context(ident), dict(ident), cast=False)
        return {}

    def outage(self, heat=0, keystone=0):
        """The next so many requests to an API fail."""
        self.http.heat.left, self.http.keystone.left = heat, keystone
        return {}

    def expire_tokens(self):
        """Every token given out so far is worth nothing, as after its life time."""
        self.engine.identity.tokens.clear()
        return {}

    def expire_password(self, user, expired):
        """A user's password is worth nothing any more, or again."""
        for known in self.engine.identity.users.values():
            if user == known['name']:
                known['password_expires'] = 0 if expired else float('inf')
        return {}

    def requests(self):
        """What reached the APIs so far."""
        return {'heat': self.http.heat.seen, 'keystone': self.http.keystone.seen}
