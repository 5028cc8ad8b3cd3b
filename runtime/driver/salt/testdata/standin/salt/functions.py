"""The execution modules' functions that the tests use."""
import copy
import os
import subprocess

from salt.utils import yaml
from salt.utils.data import traverse_dict_and_list
from salt.utils.dictupdate import update


class Functions(dict):
    """salt['mod.fun'] and salt.mod.fun"""

    def __getattr__(self, module):
        found = {k.split(".", 1)[1]: v for k, v in self.items() if k.startswith(module + ".")}
        if not found:
            raise AttributeError(module)
        return type("Module", (), {k: staticmethod(v) for k, v in found.items()})


def make(pack):
    opts, pillar, grains = pack["__opts__"], pack["__pillar__"], pack["__grains__"]

    def pillar_get(key, default="", merge=False, delimiter=":"):
        found = traverse_dict_and_list(pillar, key, default, delimiter)
        return update(copy.deepcopy(default), found) if merge else found

    def pillar_items():
        from salt.pillar import get_pillar

        return get_pillar(opts, dict(grains), opts["id"]).compile_pillar()

    def config_get(key, default=""):
        for where in (opts, grains, pillar):
            found = traverse_dict_and_list(where, key, "_|-")
            if found != "_|-":
                return found
        return default

    def merged(a, b, **_):
        return update(copy.deepcopy(a), copy.deepcopy(b))

    def filter_by(lookup, merge=None, default="default", **_):
        return update(copy.deepcopy(lookup[default]), merge or {})

    def setvals(new):
        path = os.path.join(os.path.dirname(opts["conf_file"]), "grains")
        have = {}
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as f:
                have = yaml.safe_load(f) or {}
        have.update(new)
        for key, value in new.items():
            grains[key] = value
        with open(path, "w", encoding="utf-8") as f:
            yaml.safe_dump(dict(have), f, default_flow_style=False)
        return new

    def state_apply(mods=None):
        from salt.state import apply

        return apply(opts, all_functions, pack, mods)

    all_functions = Functions({
        "pillar.get": pillar_get, "pillar.items": pillar_items, "pillar.ls": lambda: list(pillar_items()),
        "pillar.item": lambda *keys: {key: traverse_dict_and_list(pillar, key, "") for key in keys},
        "pillar.raw": lambda key=None: pillar.get(key, {}) if key else dict(pillar),
        "pillar.keys": lambda key: list(traverse_dict_and_list(pillar, key, {})),
        "config.get": config_get, "environ.get": lambda key, default="": os.environ.get(key, default),
        "slsutil.merge": merged, "defaults.merge": merged, "grains.filter_by": filter_by,
        "grains.get": lambda key, default="": traverse_dict_and_list(grains, key, default),
        "grains.setvals": setvals, "grains.setval": lambda key, value: setvals({key: value}),
        "cmd.run": lambda cmd: subprocess.run(cmd, shell=True, stdout=subprocess.PIPE, encoding="utf-8").stdout,
        "test.ping": lambda: True, "state.apply": state_apply,
    })
    return all_functions
