"""What stock Heat (Debian's python3-heat) says of its resource types.

`schemas.py table` prints the table of this package: a line that names Heat's version, then a line of JSON for each
type, with the names of its attributes and the names and types of its properties. `schemas.py judge` answers, a JSON line
each, whether Heat takes a resource's properties and a reference to one of its attributes."""
import json
import logging
import sys
import warnings

from oslo_config import cfg
from oslo_log import log as oslo_log

oslo_log.register_options(cfg.CONF)
logging.disable(logging.CRITICAL)
cfg.CONF([], project='heat', default_config_files=[], default_config_dirs=[])
cfg.CONF.import_opt('environment_dir', 'heat.common.config')
cfg.CONF.set_override('environment_dir', '/nowhere')  # mappings are for environments
cfg.CONF.set_override('template_dir', '/nowhere')

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from heat import version
    from heat.common import template_format
    from heat.engine import constraints, function, properties, resource, resources, stack, support, template, translation
    from heat.engine.resources.openstack.heat import none_resource
    from heat.tests import utils


def classes():
    """All types but those that do nothing, whatever their properties are."""
    registry = resources.global_env().registry._registry
    found = {kind: info.value for kind, info in registry.items()
             if isinstance(kind, str) and isinstance(getattr(info, 'value', None), type)}
    return {kind: cls for kind, cls in sorted(found.items())
            if not issubclass(cls, none_resource.NoneResource)}


def stack_of(kind, props, **outputs):
    text = {'heat_template_version': '2013-05-23', 'resources': {'r': {'type': kind, 'properties': props}},
            'outputs': {name: {'value': value} for name, value in outputs.items()}}
    return stack.Stack(utils.dummy_context(), 's', template.Template(template_format.parse(json.dumps(text))))


def needed(cls):
    """Some of the properties that a resource must have: rules of translation read them."""
    return {name: 'x' for name, s in properties.schemata(cls.properties_schema).items() if s.required and s.type == s.STRING}


def replacements(kind, cls):
    """The properties that another one may be given instead of: {path: the other's name}; and those that Heat takes
    away before it looks at their values, which have no other: {path: None}."""
    st = stack_of(kind, needed(cls))
    r = st['r']
    rules = r.translation_rules(r.properties) or ()
    return {'.'.join(rule.translation_path): rule.value_name or rule.value_path[-1] if rule.rule == translation.TranslationRule.REPLACE else None
            for rule in rules if rule.rule in (translation.TranslationRule.REPLACE, translation.TranslationRule.DELETE)}


def described(schemata, path, instead):
    return {name: one(s, path + (name,), instead) for name, s in sorted(schemata.items())}


def one(s, path, instead):
    out = {'type': s.type.lower()}
    if s.required:
        out['required'] = True
    if instead.get('.'.join(path)):
        out['instead'] = instead['.'.join(path)]
    if s.default is not None:
        out['default'] = s.default
    if len(path) == 1 and not s.update_allowed and not s.immutable:
        out['replaces'] = True
    out.update(status(s.support_status))
    if '.'.join(path) not in instead or instead['.'.join(path)]:
        out.update({key: value for c in s.constraints for key, value in limits(c).items()})
    if s.schema is not None and s.type == s.LIST:
        out['each'] = one(s.schema[0], path, instead)
    elif s.schema is not None:
        out['properties'] = described(s.schema, path, instead)
    return out


def limits(c):
    """A constraint, but for those that only a cloud can decide."""
    if isinstance(c, constraints.AllowedValues):
        return {'values': list(c.allowed)}
    if isinstance(c, constraints.AllowedPattern):
        return {'pattern': c.pattern}
    if isinstance(c, constraints.Modulo):
        return {'step': c.step, 'offset': c.offset}
    if isinstance(c, constraints.CustomConstraint):
        return {'custom': c.name}
    kind = 'range' if type(c) is constraints.Range else 'length'
    return {kind: [c.min, c.max]}


def status(s):
    """Since when, and why, something should not be used any more."""
    ailing = {}
    while s is not None and s.status in (support.DEPRECATED, support.UNSUPPORTED, support.HIDDEN):
        ailing = {'deprecated': ' '.join((ailing.get('deprecated') or s.message or '').split()), 'hidden': ailing.get('hidden') or s.status == support.HIDDEN}
        s = s.previous_status
    return {key: value for key, value in ailing.items() if value or key == 'deprecated'}


def table():
    print(json.dumps({'heat': version.version_info.version_string()}))
    for kind, cls in classes().items():
        out = {'type': kind}
        out.update(status(cls.support_status))
        if cls.get_attribute is resource.Resource.get_attribute:
            out['attributes'] = sorted(set(cls.attributes_schema) | set(cls.base_attributes_schema))
        out['properties'] = described(properties.schemata(cls.properties_schema), (), replacements(kind, cls))
        print(json.dumps(out, separators=(',', ':')))


def judge():
    # constraints that need a cloud
    constraints.BaseCustomConstraint.validate = lambda *args, **kw: True
    types = classes()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {'properties': '', 'attribute': ''}
        attribute = asked.get('attribute') or 'show'
        st = stack_of(asked['type'], asked['properties'], o={'get_attr': ['r', attribute]})
        try:
            st['r'].properties.validate()
        except Exception as e:
            answer['properties'] = str(e) or type(e).__name__
        st = stack_of(asked['type'], needed(types[asked['type']]), o={'get_attr': ['r', attribute]})
        try:
            st._update_all_resource_data(for_resources=True, for_outputs=True)
            st.outputs['o'].validate()
        except Exception as e:
            answer['attribute'] = str(e) or type(e).__name__
        print(json.dumps(answer), flush=True)


{'table': table, 'judge': judge}[sys.argv[1]]()
