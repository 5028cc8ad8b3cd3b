"""Runs schemas.py with the source of another release of Heat and Debian's libraries, some of which have since dropped what it
needs: `PYTHONPATH=SOURCE HEAT_VERSION=10.0.3 python3 older.py table`. `go test -run TestReleases -update` calls it for each release."""
import collections
import collections.abc
import fnmatch
import importlib.metadata
import inspect
import os
import re
import runpy
import sys
import types

for name in collections.abc.__all__:
    setattr(collections, name, getattr(collections.abc, name))
inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]
importlib.metadata.EntryPoint.module_name = property(lambda entry: entry.module)
sys.modules['oslo_utils.fnmatch'] = fnmatch
mox = types.ModuleType('mox3.mox')
mox.__getattr__ = lambda name: object
sys.modules['mox3'] = types.ModuleType('mox3')
sys.modules['mox3'].mox = sys.modules['mox3.mox'] = mox

import oslo_context.context  # noqa: E402
import oslo_utils  # noqa: E402

oslo_utils.fnmatch = fnmatch
RENAMED = {'tenant': 'project_id', 'user': 'user_id', 'domain': 'domain_id', 'user_domain': 'user_domain_id', 'project_domain': 'project_domain_id'}


class Context(oslo_context.context.RequestContext):
    def __init__(self, *args, **named):
        super().__init__(*args, **{RENAMED.get(name, name): value for name, value in named.items() if RENAMED.get(name) not in named})

    tenant = property(lambda self: self.project_id, lambda self, value: None)
    user = property(lambda self: self.user_id, lambda self, value: None)


oslo_context.context.RequestContext = Context

from heat.engine import template  # noqa: E402
from heat.engine.hot import template as hot  # noqa: E402

# the versions of HOT are entry points of the installed package, which is Debian's
template._template_classes = {('heat_template_version', re.sub('([0-9]{4})(..)(..)', r'\1-\2-\3', name[10:])): cls
                              for name, cls in vars(hot).items() if re.fullmatch('HOTemplate[0-9]{8}', name)}
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'schemas.py'), run_name='__main__')
