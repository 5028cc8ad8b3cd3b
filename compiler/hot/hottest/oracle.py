"""Answers questions about HOT with stock Heat's own code, one JSON line each."""
import copy
import json
import logging
import sys
import time

logging.disable(logging.CRITICAL)

from heat.common import template_format
from heat.engine import attributes
from heat.engine import environment
from heat.engine import function
from heat.engine import node_data
from heat.engine import parameters
from heat.engine import stk_defn
from heat.engine import template
from heat.engine.hot import functions as hot_functions
from heat.common import identifier
import yaml


IDENTIFIER = identifier.HeatIdentifier('project', 'stack', 'stack-id')


class Attributes(dict):
    """A resource's attributes, with the paths that templates may use."""

    def __getitem__(self, key):
        hash(key)
        if isinstance(key, tuple):
            return attributes.select_from_attribute(self[key[0]], key[1:])
        return copy.deepcopy(dict.__getitem__(self, key))  # some functions modify a list


def stack_of(req):
    body = template_format.simple_parse(req['template'])
    env = environment.Environment({'parameters': req.get('values') or {}})
    tmpl = template.Template(body, files=req.get('files') or {}, env=env)
    data = {}
    for name, r in (req.get('resources') or {}).items():
        data[name] = node_data.NodeData(1, name, name, r['ref'], Attributes(r['attributes']), 'CREATE', 'COMPLETE')
    return tmpl, stk_defn.StackDefinition(None, tmpl, IDENTIFIER, data)


def evaluate(req):
    tmpl, stack = stack_of(req)
    return [result(lambda: resolve(tmpl, stack, e, req)) for e in req['expressions']]


def resolve(tmpl, stack, snippet, req):
    # some functions modify a parameter's list
    stack.parameters = tmpl.parameters(IDENTIFIER, tmpl.env.params)
    tmpl._conditions_cache = None, None
    parsed = tmpl.parse(stack, snippet)
    function.validate(parsed)
    return function.resolve(parsed)


def result(compute):
    try:
        return {'value': json.dumps(compute())}
    except Exception as e:
        return {'error': '%s: %s' % (type(e).__name__, str(e)[:300])}


def read(req):
    answer = result(lambda: template_format.simple_parse(req['text']))
    try:
        yaml.load(req['text'], Loader=template_format.yaml_loader)
    except yaml.YAMLError:
        answer['second_try'] = True
    except Exception:  # Heat lets these through, and so fails
        pass
    return answer


def table(req):
    tmpl = template.Template(dict([req['head']]))
    def names(of, but):
        return sorted(n for n, f in of.items() if f not in but)
    return {'functions': names(tmpl.functions, [hot_functions.Removed]),
            'removed': sorted(n for n, f in tmpl.functions.items() if f is hot_functions.Removed),
            'conditions': names(tmpl.condition_functions, []),
            'classes': {n: f.__name__ for n, f in tmpl.functions.items()},
            'sections': sorted(tmpl.SECTIONS), 'resource_keys': sorted(tmpl._RESOURCE_KEYS),
            'output_keys': sorted(tmpl.OUTPUT_KEYS),
            'parameter_keys': sorted(tmpl.param_schema_class.KEYS if hasattr(tmpl, 'param_schema_class')
                                     else parameters.PARAMETER_KEYS)}


def parameter(req):
    def declared():
        t = dict([req['head']])
        t[template.Template(t).PARAMETERS] = {'p': req['schema']}
        tmpl = template.Template(t, env=environment.Environment({'parameters': {'p': req['value']}}))
        params = tmpl.parameters(IDENTIFIER, {'p': req['value']})
        params.validate(validate_value=True)
        return params['p']
    return result(declared)


def timing(req):
    best = None
    for _ in range(req['times']):
        begin = time.process_time()
        yaml.load(req['text'], Loader=template_format.yaml_loader)
        took = time.process_time() - begin
        best = took if best is None else min(best, took)
    return {'seconds': best}


def resolving(req):
    best = None
    for _ in range(req['times']):
        begin = time.process_time()
        tmpl, stack = stack_of(req)
        for resource in tmpl.t['resources'].values():
            for section in ('properties', 'metadata'):
                function.resolve(tmpl.parse(stack, resource.get(section)))
        took = time.process_time() - begin
        best = took if best is None else min(best, took)
    return {'seconds': best}


ANSWERS = {'evaluate': evaluate, 'read': read, 'table': table, 'parameter': parameter, 'timing': timing,
           'resolving': resolving}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {'answer': ANSWERS[request['ask']](request)}
    except Exception as e:
        answer = {'failure': '%s: %s' % (type(e).__name__, e)}
    sys.stdout.write(json.dumps(answer) + '\n')
    sys.stdout.flush()
