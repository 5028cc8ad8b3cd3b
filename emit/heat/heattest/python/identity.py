"""The users, passwords and tokens of one oracle: Keystone's part of the cloud.

Passwords and tokens are real and are checked, so that a signal with wrong credentials is refused here as in a cloud.
`Identity.app` is the part of Keystone's HTTP API that servers use; `KeystoneClient` is what the engine sees of it."""
import json
import secrets
import time
import types
import uuid

from keystoneauth1 import plugin

from heat.common import context as heat_context

OWNER_ROLES = ['admin', 'member', 'reader']
STACK_USER_ROLES = ['heat_stack_user']
TOKEN_LIFE = 3600       # seconds: keystone.conf's [token] expiration
PROJECT_NAME = 'oracle'


def new_id():
    return uuid.uuid4().hex


class Identity:
    """All users of the cloud. `url` is Keystone's address, `services` maps a service type to its end point."""

    def __init__(self, url):
        self.url = url
        self.services = {}
        self.domain = new_id()
        self.users, self.tokens = {}, {}
        self.owner = self.add_user('owner', new_id(), new_id(), OWNER_ROLES)

    def add_user(self, name, password, project, roles):
        user = {'id': new_id(), 'name': name, 'password': password, 'project': project, 'roles': roles,
                'enabled': True, 'password_expires': float('inf')}
        self.users[user['id']] = user
        return user['id']

    def issue(self, user_id, project=None):
        """A token of a user's, for another project than his first if one is given."""
        token = 'gAAAA' + secrets.token_urlsafe(90)
        self.tokens[token] = (user_id, project, time.time() + TOKEN_LIFE)
        return token

    def user_of(self, token):
        """The user who has a token, as he is in the project that it is for; None if it is worth nothing."""
        user_id, project, expires = self.tokens.get(token, (None, None, 0))
        user = self.users.get(user_id)
        if not user or not user['enabled'] or expires < time.time():
            return None
        return dict(user, project=project) if project else user

    def context(self, project=None):
        """The request context of the stacks' owner, in a project of his."""
        user = self.users[self.owner]
        return heat_context.RequestContext.from_dict({
            'tenant_id': project or user['project'], 'tenant': PROJECT_NAME, 'username': user['name'],
            'user_id': user['id'], 'password': None, 'roles': list(user['roles']), 'is_admin': False,
            'auth_url': self.url, 'auth_token': self.issue(user['id'])})

    def app(self, environ, start_response):
        """Keystone's HTTP API, as far as a server or a client needs it."""
        path, method = environ['PATH_INFO'].rstrip('/'), environ['REQUEST_METHOD']
        if (path, method) == ('/v3', 'GET'):
            return reply(start_response, '200 OK', {'version': self._version()})
        if (path, method) == ('', 'GET'):
            return reply(start_response, '300 Multiple Choices', {'versions': {'values': [self._version()]}})
        if (path, method) != ('/v3/auth/tokens', 'POST'):
            return refuse(start_response, '404 Not Found', 'no such call here: %s %s' % (method, path))
        try:
            body = json.loads(environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0)))
        except ValueError:
            return refuse(start_response, '400 Bad Request', 'the body is not JSON')
        user = self._authenticate(body)
        if user is None or not self._in_scope(user, body['auth'].get('scope')):
            return refuse(start_response, '401 Unauthorized', 'The request you have made requires authentication.')
        token = self.issue(user['id'])
        return reply(start_response, '201 Created', {'token': self._describe(user, self.tokens[token][2])},
                     ('X-Subject-Token', token))

    def _version(self):
        return {'id': 'v3.14', 'status': 'stable', 'media-types': [],
                'links': [{'rel': 'self', 'href': self.url + '/'}]}

    def _authenticate(self, body):
        """The user whose password or token an authentication request holds, or None."""
        try:
            identity = body['auth']['identity']
            if 'token' in identity['methods']:
                return self.user_of(identity['token']['id'])
            given = identity['password']['user']
            for user in self.users.values():
                known = [user[key] == given[key] for key in ('id', 'name') if key in given]
                if (known and all(known) and user['enabled'] and user['password'] == given['password']
                        and time.time() < user['password_expires']):
                    return user
        except (KeyError, TypeError):
            pass
        return None

    @staticmethod
    def _in_scope(user, scope):
        """Whether a user may have a token for a scope: for his project, which is also his default."""
        if scope is None:
            return True
        project = scope.get('project') if isinstance(scope, dict) else None
        return isinstance(project, dict) and (
            project.get('id') == user['project'] or 'id' not in project and project.get('name') == PROJECT_NAME)

    def _describe(self, user, expires):
        domain = {'id': 'default', 'name': 'Default'}
        catalog = [{'id': kind, 'type': kind, 'name': kind, 'endpoints': [
            {'id': kind + interface, 'interface': interface, 'region': 'RegionOne', 'region_id': 'RegionOne',
             'url': url % {'tenant_id': user['project']}} for interface in ('public', 'internal', 'admin')]}
            for kind, url in sorted(self.services.items())]
        def at(seconds):
            return time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime(seconds))

        return {'methods': ['password'], 'issued_at': at(expires - TOKEN_LIFE), 'expires_at': at(expires), 'catalog': catalog,
                'roles': [{'id': role, 'name': role} for role in user['roles']],
                'user': {'id': user['id'], 'name': user['name'], 'domain': domain},
                'project': {'id': user['project'], 'name': PROJECT_NAME, 'domain': domain}}


def reply(start_response, status, body, *headers):
    data = json.dumps(body).encode()
    start_response(status, [('Content-Type', 'application/json'), ('Content-Length', str(len(data)))] + list(headers))
    return [data]


def refuse(start_response, status, message, *headers):
    return reply(start_response, status, {'error': {'code': int(status[:3]), 'message': message}}, *headers)


class TokenCheck:
    """WSGI middleware in the place of keystonemiddleware's auth_token."""

    def __init__(self, app, identity):
        self.app, self.identity = app, identity

    def __call__(self, environ, start_response):
        user = self.identity.user_of(environ.get('HTTP_X_AUTH_TOKEN'))
        if user is None:
            return refuse(start_response, '401 Unauthorized', 'The request you have made requires authentication.',
                          ('WWW-Authenticate', 'Keystone uri="%s"' % self.identity.url))
        environ.update(HTTP_X_USER_ID=user['id'], HTTP_X_USER_NAME=user['name'], HTTP_X_PROJECT_ID=user['project'],
                       HTTP_X_PROJECT_NAME=PROJECT_NAME, HTTP_X_ROLES=','.join(user['roles']),
                       HTTP_X_AUTH_URL=self.identity.url, HTTP_X_IDENTITY_STATUS='Confirmed')
        return self.app(environ, start_response)


class KeystoneClient:
    """What heat.engine's Keystone client plug-in hands out: users of stacks' domain, trusts."""

    def __init__(self, identity, context):
        self.identity, self.context = identity, context
        self.v3_endpoint = identity.url
        self.session = context.keystone_session
        self.stack_domain_id = identity.domain
        self._keys = {}

    def server_keystone_endpoint_url(self, fallback_endpoint):
        return fallback_endpoint

    def create_trust_context(self):
        trusting = heat_context.RequestContext.from_dict(self.context.to_dict())
        trusting.trust_id, trusting.trustor_user_id = new_id(), self.context.user_id
        return trusting

    regenerate_trust_context = create_trust_context

    def delete_trust(self, trust_id):
        pass

    def create_stack_domain_project(self, stack_id):
        return new_id()

    def delete_stack_domain_project(self, project_id):
        pass

    def create_stack_domain_user(self, username, project_id, password=None):
        return self.identity.add_user(username, password, project_id, STACK_USER_ROLES)

    def delete_stack_domain_user(self, user_id, project_id):
        self.identity.users.pop(user_id, None)

    def enable_stack_domain_user(self, user_id, project_id):
        self.identity.users[user_id]['enabled'] = True

    def disable_stack_domain_user(self, user_id, project_id):
        self.identity.users[user_id]['enabled'] = False

    def stack_domain_user_token(self, user_id, project_id, password):
        return self.identity.issue(user_id)

    def create_stack_domain_user_keypair(self, user_id, project_id):
        key = types.SimpleNamespace(id=new_id(), access=new_id(), secret=new_id(), user_id=user_id)
        self._keys[key.access] = key
        return key

    create_ec2_keypair = create_stack_domain_user_keypair

    def get_ec2_keypair(self, access, user_id):
        return self._keys[access]

    def delete_stack_domain_user_keypair(self, user_id, project_id, credential_id):
        pass


class OwnerAuth(plugin.BaseAuthPlugin):
    """The auth plug-in of every request context: the stacks' owner in the context's project."""

    def __init__(self, identity, project):
        super().__init__()
        self.identity, self.project = identity, project

    def get_token(self, session, **kw):
        return self.identity.issue(self.identity.owner, self.project)

    def get_user_id(self, session, **kw):
        return self.identity.owner

    def get_project_id(self, session, **kw):
        return self.project

    def get_endpoint(self, session, service_type=None, **kw):
        return self.identity.services.get(service_type)

    def get_access(self, session, **kw):
        return types.SimpleNamespace(role_names=OWNER_ROLES, user_domain_id='default', project_domain_id='default')
