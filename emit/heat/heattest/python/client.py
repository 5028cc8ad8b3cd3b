"""What a user's client sends for a template: read with python3-heatclient's own code, in the client's own way."""
import json

from oslo_config import cfg
from oslo_serialization import jsonutils

from heat.common import template_format
from heatclient.common import template_utils


class Refused(Exception):
    """heat-api would refuse the request before the engine sees it."""


class Request:
    """A template with everything that goes with it over the wire.

    `template` and `files` are as the service decodes them; `environments` names the environment files among `files`, in
    their order, as `openstack stack create -e A -e B` does."""

    def __init__(self, path, environments=(), parameters=None):
        template_files, template = template_utils.get_template_contents(template_file=path)
        names = []
        environment_files, _merged = template_utils.process_multiple_environments_and_files(
            env_paths=list(environments), env_list_tracker=names)
        files = dict(template_files)
        files.update(environment_files)
        self.parameters = {'parameters': dict(parameters or {}), 'parameter_defaults': {}, 'resource_registry': {},
                           'encrypted_param_names': [], 'event_sinks': []}
        body = jsonutils.dumps({'template': template, 'files': files, 'environment': self.parameters})
        sent = json.loads(body)
        self.template, self.files, self.environments = sent['template'], sent['files'], names or None
        self.bytes = len(body)

    def check_size(self):
        """The limits that heat-api sets: heat.api.openstack.v1.stacks.InstantiationData, heat.common.wsgi."""
        template_format.validate_template_limit(str(self.template))
        limit = cfg.CONF.max_json_body_size
        if self.bytes > limit:
            raise Refused('the request is %d bytes; heat-api takes %d (max_json_body_size)' % (self.bytes, limit))
