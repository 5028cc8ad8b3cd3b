"""Stock Heat's (Debian's python3-heat) description of its resource types.

`schemas.py table` prints the table of this package: a line with Heat's version, its newest version of HOT and the types that
do nothing, then a line for each type: its name, and in JSON the names and types of its attributes and properties. `schemas.py oracle`
answers, one JSON line each, whether Heat accepts a resource's properties and a reference to one of its attributes. `schemas.py show`
prints the API's description of each type that is not hidden, one per line. `schemas.py dependencies` answers what the resources of
a template depend on. older.py runs this file with the source of another release."""
import itertools
import json
import logging
import os
import re
import sys
import warnings
from unittest import mock

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
    from heat.common import exception, template_format
    from heat.engine import constraints, dependencies, function, properties, resource, resources, service, stack, support, template, translation
    from heat.engine.resources.openstack.heat import none_resource
    from heat.engine.hot import template as hot_template
    from heat.tests import utils


def classes(nothing=False):
    """All types except those that do nothing; or only these."""
    registry = resources.global_env().registry._registry
    found = {kind: info.value for kind, info in registry.items()
             if isinstance(kind, str) and isinstance(getattr(info, 'value', None), type)}
    return {kind: cls for kind, cls in sorted(found.items())
            if issubclass(cls, none_resource.NoneResource) == nothing}


KINDS = {}      # the types by name, for implied


def stack_of(kind, props, **outputs):
    text = {'heat_template_version': '2013-05-23', 'resources': {'r': {'type': kind, 'properties': props}},
            'outputs': {name: {'value': value} for name, value in outputs.items()}}
    return stack.Stack(utils.dummy_context(), 's', template.Template(template_format.parse(json.dumps(text))))


def needed(cls):
    """Some of a resource's required properties: translation rules read them."""
    return {name: 'x' for name, s in properties.schemata(cls.properties_schema).items() if s.required and s.type == s.STRING}


# translation rules that exist only with a value
EXTRA = {'OS::Heat::RandomString': {'sequence': 'letters'}}


def replacements(kind, cls):
    """The properties that another one may replace: {path: the other's name}; and those that Heat removes before it
    checks their values: {path: None}."""
    given = dict(needed(cls), **EXTRA.get(kind, {}))
    # the resource's own properties are already translated, if a rule removes something
    untranslated = properties.Properties(properties.schemata(cls.properties_schema), given)
    rules = stack_of(kind, given)['r'].translation_rules(untranslated) or ()
    return {'.'.join(rule.translation_path): rule.value_name or rule.value_path[-1] if rule.rule == translation.TranslationRule.REPLACE else None
            for rule in rules if rule.rule in (translation.TranslationRule.REPLACE, translation.TranslationRule.DELETE)
            and not rule.custom_value_path}   # a part of the other's value is not another name


def described(schemata, path, instead):
    return {name: one(s, path + (name,), instead) for name, s in sorted(schemata.items()) if s.implemented or path}   # otherwise Heat refuses it


def one(s, path, instead):
    removed = '.'.join(path) in instead and not instead['.'.join(path)]
    out = {'type': 'any' if removed else s.type.lower()}
    if s.required:
        out['required'] = True
    if instead.get('.'.join(path)):
        out['instead'] = instead['.'.join(path)]
    if s.default is not None:
        out['default'] = s.default
    if len(path) == 1 and s.immutable:
        out['fixed'] = True
    elif len(path) == 1 and not s.update_allowed:
        out['replaces'] = True
    out.update(status(s.support_status))
    if not removed:
        out.update({key: value for c in s.constraints for key, value in limits(c).items()})
    if s.schema is not None and s.type == s.LIST:
        out['each'] = one(s.schema[0], path, instead)
    elif s.schema is not None:
        out['properties'] = described(s.schema, path, instead)
    return out


def limits(c):
    """A constraint, except those that only a cloud can decide."""
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
    """Why something should no longer be used."""
    ailing = {}
    while s is not None and s.status in (support.DEPRECATED, support.UNSUPPORTED, support.HIDDEN):
        ailing = {'deprecated': ' '.join((ailing.get('deprecated') or s.message or '').split()), 'hidden': ailing.get('hidden') or s.status == support.HIDDEN}
        s = s.previous_status
    return {key: value for key, value in ailing.items() if value or key == 'deprecated'}


def table():
    without_cloud()
    KINDS.update(classes())
    dates = sorted(name[10:] for name in vars(hot_template) if re.fullmatch(r'HOTemplate[0-9]{8}', name))
    print(json.dumps({'heat': os.environ.get('HEAT_VERSION') or version.version_info.version_string(),
                      'hot': '-'.join((dates[-1][:4], dates[-1][4:6], dates[-1][6:])), 'nothing': list(classes(nothing=True))}))
    for kind, cls in classes().items():
        out = status(cls.support_status)
        if cls.get_attribute is resource.Resource.get_attribute:
            attributes = sorted({**cls.base_attributes_schema, **cls.attributes_schema}.items())
            out['attributes'] = {name: (s.type or '').lower() for name, s in attributes}
            ailing = {name: status(s.support_status) for name, s in attributes}
            out.update({'ailing': {name: s for name, s in ailing.items() if s}} if any(ailing.values()) else {})
        out.update(rules(kind, cls))
        others = implied(kind, cls)
        if others:
            out['implied'] = others
        if cls.update_policy_schema:
            out['update_policy'] = described(properties.schemata(cls.update_policy_schema), (), {})
        if callable(getattr(cls, 'handle_snapshot_delete', None)):
            out['snapshots'] = True
        out['properties'] = described(properties.schemata(cls.properties_schema), (), replacements(kind, cls))
        print(kind, json.dumps(out, separators=(',', ':')))


SAMPLES = {'net_cidr': '10.0.0.0/24', 'ip_addr': '10.0.0.5', 'ip_or_cidr': '10.0.0.5', 'mac_addr': 'fa:16:3e:00:00:01',
           'dns_domain': 'example.org.', 'cron_expression': '0 0 * * *', 'timezone': 'UTC', 'expiration': ''}


# what some types require besides their required properties
BASES = {'OS::Nova::Server': {'image': 'x'}, 'OS::Cinder::Volume': {'size': 1}, 'OS::Designate::Zone': {'email': 'a@example.org'},
         'OS::Nova::KeyPair': {'public_key': 'x'}}


def sample(s):
    """A valid value of a property."""
    known = {}
    for c in s.constraints:
        known.update(limits(c))
    if 'values' in known:
        return [known['values'][0]] if s.type == s.LIST else known['values'][0]
    if known.get('custom') in SAMPLES:
        return SAMPLES[known['custom']]
    if s.type == s.LIST:
        return [sample(s.schema[0]) if s.schema is not None else 'x']
    if s.type == s.MAP:
        return {name: sample(below) for name, below in (s.schema or {}).items() if below.required} if s.schema is not None else {'k': 'v'}
    if s.type in (s.INTEGER, s.NUMBER):
        least = known.get('range', [1, None])[0]
        return least if least is not None else 1
    return {s.BOOLEAN: True}.get(s.type, 'x' * max(1, (known.get('length') or [1])[0] or 1))


def refusal(kind, props):
    """The error of a resource's own validation: ('excludes', names), ('one_of', names), ('needs', [name, other]), or text;
    None if it is valid."""
    st = stack_of(kind, props)      # keep a reference: a resource has only a weak one
    try:
        st['r'].validate()
    except exception.ResourcePropertyConflict as e:
        return 'excludes', str(e).partition(': ')[2].rstrip('.').split(', ')
    except exception.PropertyUnspecifiedError as e:
        return 'one_of', str(e).partition(': ')[2].rstrip('.').split(', ')
    except exception.ResourcePropertyDependency as e:
        return 'needs', str(e).rstrip('.').split(' cannot be specified without ')
    except Exception as e:
        return 'other', [str(e) or type(e).__name__]
    return None


def rules(kind, cls):
    """Which properties exclude each other, of which one is required, and which need another: found by trying them, one
    and two at a time."""
    schemata = properties.schemata(cls.properties_schema)
    known = {name: s for name, s in schemata.items() if not (status(s.support_status) or {}).get('hidden')}
    base = dict({name: sample(s) for name, s in known.items() if s.required}, **BASES.get(kind, {}))
    found = {'excludes': set(), 'one_of': set(), 'needs': set()}

    def note(said):
        if said and said[0] in found and all(name in schemata for name in said[1]):
            found[said[0]].add(tuple(said[1] if said[0] == 'needs' else sorted(said[1])))
            return True
        return False

    for _ in range(6):      # until the base is valid
        said = refusal(kind, base)
        if not note(said) or said[0] == 'excludes':
            break
        missing = said[1][-1] if said[0] == 'needs' else next((n for n in said[1] if n in known), said[1][0])
        base[missing] = sample(schemata[missing])
    if said is None:
        optional = sorted(set(known) - set(base))
        alone = {name for name in optional if refusal(kind, dict(base, **{name: sample(known[name])})) is None}
        for name in set(optional) - alone:
            note(refusal(kind, dict(base, **{name: sample(known[name])})))
        for a, b in itertools.combinations(sorted(alone), 2):
            note(refusal(kind, dict(base, **{a: sample(known[a]), b: sample(known[b])})))
    return {key: sorted(map(list, value)) for key, value in found.items() if value}


class Noted(dependencies.Dependencies):
    """Dependencies, and those of them that a resource's class adds by itself."""
    implied = ()

    def __iadd__(self, edge):
        self.implied = self.implied + (edge[1],)
        return super().__iadd__(edge)


def leaves(schemata, prefix=()):
    """The paths of a type's single values, through maps and lists, without old names."""
    for name, s in sorted(schemata.items()):
        below = s.schema[0].schema if s.type == s.LIST and s.schema is not None else s.schema
        if s.type in (s.LIST, s.MAP) and below:
            yield from leaves(below, prefix + (name,))
        elif s.type == s.STRING and not status(s.support_status).get('hidden'):
            yield prefix + (name,)


def filled(schemata, values):
    """Properties with these values, {path: value, or several: one for each item of the list around it}."""
    out = {}
    for name, s in schemata.items():
        within = {path[1:]: value for path, value in values.items() if path[0] == name}
        if not within:
            continue
        if () in within:
            out[name] = within[()]
        elif s.type == s.LIST:
            several = max((len(v) for v in within.values() if isinstance(v, tuple)), default=1)
            out[name] = [filled(s.schema[0].schema, {path: v[i] if isinstance(v, tuple) else v for path, v in within.items()}) for i in range(several)]
        else:
            out[name] = filled(s.schema, within)
    return out


def depends(given, needs):
    """The types that `r` depends on without being told, in a stack of {name: (type, {path: value})}."""
    made = {name: {'type': kind, 'properties': filled(properties.schemata(KINDS[kind].properties_schema), values)}
            for name, (kind, values) in given.items()}
    made['r']['depends_on'] = needs
    text = {'heat_template_version': '2013-05-23', 'resources': made}
    st = stack.Stack(utils.dummy_context(), 's', template.Template(template_format.parse(json.dumps(text))))
    deps = Noted()
    st['r'].add_explicit_dependencies(deps)
    deps.implied = ()
    try:
        st['r'].add_dependencies(deps)
    except Exception:
        pass    # of properties that no user would give
    return {res.type() for res in deps.implied}


def apart(name, kind):
    """All single values of a type, each another one."""
    return {path: '%s.%s' % (name, '.'.join(path)) for path in leaves(properties.schemata(KINDS[kind].properties_schema))}


def same(kind):
    return dict.fromkeys(apart('', kind), 'x')


def implied(kind, cls):
    """What resources of a type depend on without being told (add_dependencies): found by trying which values have to be
    the same for it, or to be missing."""
    if cls.add_dependencies is resource.Resource.add_dependencies:
        return []
    every = {other: (other, same(other)) for other in KINDS}
    found = []
    for on in sorted(depends(dict(every, r=(kind, same(kind))), list(every))):
        direct = depends({'r': (kind, same(kind)), 'b': (on, same(on))}, [])
        through = [None] if on in direct else [via for via in KINDS if via != on and on in depends(
            {'r': (kind, apart('r', kind)), 'v': (via, same(via)), 'b': (on, same(on))}, ['v'])]
        found += [rule for via in through for rule in compared(kind, on, via)]
    return found


def compared(kind, on, via):
    """The pairs of values by which a type depends on another one."""
    holder = via or kind

    def there(own, other):
        given = {'r': (kind, own if via is None else apart('r', kind)), 'b': (on, other)}
        if via is not None:
            given['v'] = (via, own)
        return on in depends(given, ['v'] if via else [])

    for own in apart('', holder):
        for other in apart('', on):
            a, b = apart('a', holder), apart('b', on)
            if there(a, b) or not there({**a, own: 'x'}, {**b, other: 'x'}):
                continue
            rule = {'on': on, 'own': '.'.join(own), 'other': '.'.join(other)}
            unset = {**b, other: ''}
            listed = properties.schemata(KINDS[holder].properties_schema)[own[0]].type == properties.Schema.LIST
            tried = {'via': via, 'own_unset': there({**a, own: ''}, b), 'other_unset': there(a, unset),
                     'both_unset': there({**a, own: ''}, unset),
                     'first': listed and not there({**a, own: ('y', 'x')}, {**b, other: 'x'}),
                     'empty': listed and there({path: v for path, v in a.items() if path[0] != own[0]}, unset)}
            yield dict(rule, **{name: value for name, value in tried.items() if value})


def without_cloud():
    """Lets resources validate without a cloud."""
    constraints.BaseCustomConstraint.validate = lambda *args, **kw: True
    resource.Resource.is_service_available = classmethod(lambda *args, **kw: (True, None))
    set_rules = translation.Translation.set_rules  # without those that ask the cloud
    translation.Translation.set_rules = lambda self, rules, *args, **kw: set_rules(
        self, [r for r in rules or () if r.rule != translation.TranslationRule.RESOLVE], *args, **kw)
    resource.Resource.client = lambda *args, **kw: mock.MagicMock()
    resource.Resource.client_plugin = lambda *args, **kw: mock.MagicMock()


def oracle():
    without_cloud()
    types = classes()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {'properties': '', 'whole': '', 'attribute': ''}
        attribute = asked.get('attribute') or 'show'
        st = stack_of(asked['type'], asked['properties'], o={'get_attr': ['r', attribute]})
        try:
            st['r'].properties.validate()
        except Exception as e:
            answer['properties'] = str(e) or type(e).__name__
        try:
            st['r'].validate()
        except Exception as e:
            answer['whole'] = str(e) or type(e).__name__
        st = stack_of(asked['type'], needed(types[asked['type']]), o={'get_attr': ['r', attribute]})
        try:
            st._update_all_resource_data(for_resources=True, for_outputs=True)
            st.outputs['o'].validate()
        except Exception as e:
            answer['attribute'] = str(e) or type(e).__name__
        print(json.dumps(answer), flush=True)


def dependencies_of():
    """Prints for each template, a line of standard input, what each of its resources depends on, before any is created."""
    resource.Resource.client = lambda *args, **kw: mock.MagicMock()
    resource.Resource.is_service_available = classmethod(lambda *args, **kw: (True, None))
    for line in sys.stdin:
        st = stack.Stack(utils.dummy_context(), 's', template.Template(template_format.parse(line)))
        graph = st.dependencies.graph()
        print(json.dumps({res.name: sorted(on.name for on in graph[res]) for res in st.values()}), flush=True)


def show():
    without_cloud()
    engine = mock.Mock(resource_enforcer=mock.Mock())
    for kind, cls in classes().items():
        if cls.support_status.status != support.HIDDEN:
            print(json.dumps(service.EngineService.resource_schema.__wrapped__(engine, utils.dummy_context(), kind)))


{'table': table, 'oracle': oracle, 'show': show, 'dependencies': dependencies_of}[sys.argv[1]]()
