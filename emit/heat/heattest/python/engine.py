"""The stock Heat engine (Debian's python3-heat) inside this process, with a database in a file.

EngineService is started as heat-engine starts it, convergence workers included; messages go over oslo.messaging's
in-process bus. What the engine would ask a cloud is answered by identity.py, cloud.py and standins.py."""
import os
import warnings
from unittest import mock

import eventlet
from oslo_config import cfg
from oslo_db import options as db_options
from oslo_log import log as oslo_log

oslo_log.register_options(cfg.CONF)
cfg.CONF([], project='heat', default_config_files=[], default_config_dirs=[])
cfg.CONF.import_opt('environment_dir', 'heat.common.config')
cfg.CONF.set_override('environment_dir', '/etc/heat/environment.d')
cfg.CONF.set_override('template_dir', '/etc/heat/templates')

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from heat.common import context as heat_context
    from heat.common import messaging
    from heat.db.sqlalchemy import api as db_api
    from heat.db.sqlalchemy import models
    from heat.engine import constraints, resource, resources, scheduler, service, translation
    from heat.engine.clients.os import cinder, glance, keystone, neutron, nova
    from heat.engine.resources.openstack.nova import server as nova_server
    from heat.rpc import api as rpc_api, client as rpc_client

import cloud  # noqa: E402
import identity  # noqa: E402
import standins  # noqa: E402

STEP = 0.05     # seconds between two looks at an unfinished resource; 1 in a cloud


def remember_parts(stock):
    """NovaClientPlugin.build_userdata, whose text also remembers the parts it was made of."""
    def build(plugin, metadata, userdata=None, instance_user=None, user_data_format='HEAT_CFNTOOLS'):
        text = stock(plugin, metadata, userdata, instance_user=instance_user, user_data_format=user_data_format)
        packed = cloud.Packed(text or '')
        packed.content, packed.metadata = userdata or '', metadata
        return packed
    return build


def patch(owner, name, **kw):
    mock.patch.object(owner, name, **kw).start()


class Engine:
    """One engine; it serves many templates. `heat_url` and `keystone_url` are where the HTTP APIs will be,
    `hypervisor` is who boots servers. With `stock` every resource type is Heat's own: they validate as in a cloud,
    and nothing can be made of those that would talk to one."""

    def __init__(self, folder, heat_url, keystone_url, hypervisor, stock=False):
        self.identity = identity.Identity(keystone_url)
        self.identity.services['orchestration'] = heat_url + '/v1/%(tenant_id)s'
        self.cloud = cloud.Cloud(hypervisor)
        self._configure(folder, heat_url)
        self._stand_in(stock)
        self.service = service.EngineService('oracle', rpc_api.ENGINE_TOPIC)
        self.service.start()
        resources.global_env()
        if not stock:
            standins.install(self.cloud)
        self.client = rpc_client.EngineClient()

    @staticmethod
    def _configure(folder, heat_url):
        conf = cfg.CONF
        conf.set_override('url', heat_url + '/v1/%(tenant_id)s', group='clients_heat')
        # no heat-api-cfn is served; these only have to be there
        conf.set_override('heat_waitcondition_server_url', heat_url + '/v1/waitcondition')
        conf.set_override('heat_metadata_server_url', heat_url)
        conf.set_override('auth_encryption_key', '0123456789abcdef0123456789abcdef')
        messaging.setup('fake://', optional=True)
        db_options.cfg.set_defaults(db_options.database_opts, sqlite_synchronous=False)
        db_options.set_defaults(conf, connection='sqlite:///' + os.path.join(folder, 'heat.sqlite'))
        for table in models.BASE.metadata.tables.values():
            # as in MySQL, the number of a deleted row is never given again; stock Heat relies on it
            table.dialect_options['sqlite']['autoincrement'] = True
        models.BASE.metadata.create_all(db_api.get_engine())

    def _stand_in(self, stock):
        patch(scheduler.TaskRunner, '_sleep', new=lambda _task, wait: None if wait is None else eventlet.sleep(
            min(wait, STEP)))
        # old names of properties get their new ones; a cloud would also look up the ids of what is named
        rules = translation.Translation.set_rules
        patch(translation.Translation, 'set_rules', new=lambda self, found, *args, **kw: rules(
            self, [rule for rule in found or () if rule.rule != translation.TranslationRule.RESOLVE], *args, **kw))
        if stock:   # addresses, names and times need no cloud
            patch(constraints.BaseCustomConstraint, 'validate', return_value=True)
        else:
            patch(constraints.CustomConstraint, 'validate', return_value=None)
        patch(resource.Resource, 'is_service_available', return_value=(True, None))
        for plugin in (cinder.CinderClientPlugin, glance.GlanceClientPlugin):
            patch(plugin, '_create', return_value=mock.MagicMock())
        patch(nova.NovaClientPlugin, '_create', return_value=cloud.Nova(self.cloud))
        patch(nova.NovaClientPlugin, 'absolute_limits',
              return_value={'maxServerMeta': -1, 'maxPersonality': -1, 'maxPersonalitySize': -1})
        patch(nova.NovaClientPlugin, 'is_version_supported', return_value=True)
        patch(nova.NovaClientPlugin, 'build_userdata', new=remember_parts(nova.NovaClientPlugin.build_userdata))
        patch(nova_server.Server, '_validate_image_flavor')
        patch(neutron.NeutronClientPlugin, '_create', return_value=cloud.Neutron(self.cloud))
        patch(neutron.NeutronClientPlugin, 'find_resourceid_by_name_or_id',
              new=lambda _plugin, kind, name, **kw: self.cloud.net_id(name) if kind == 'network' else name)
        patch(keystone.KeystoneClientPlugin, '_create',
              new=lambda plugin, *a, **kw: identity.KeystoneClient(self.identity, plugin.context))
        patch(heat_context.RequestContext, 'auth_plugin',
              new=property(lambda ctx: identity.OwnerAuth(self.identity, ctx.tenant_id)))
