"""Modules from folders, and the functions that are built in."""
import glob
import importlib.util
import logging
import os

from salt import functions
from salt.utils.context import NamespacedDictWrapper


def load(path, pack):
    name = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location("salt.loaded.ext." + name, path)
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(pack)
    spec.loader.exec_module(module)
    return name, module


def public(module):
    return [(k, v) for k, v in vars(module).items() if callable(v) and not k.startswith("_") and getattr(v, "__module__", "") == module.__name__]


def grains(opts):
    found = dict(opts.get("grains") or {})
    for folder in opts.get("grains_dirs", []):
        for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
            try:
                for _, function in public(load(path, {"__opts__": opts})[1]):
                    found.update(function())
            except Exception as e:  # Salt goes on, too
                logging.getLogger().critical("Failed to load grains defined in grain file %s: %s", path, e)
    return found


def minion_mods(opts, context):
    pack = {"__opts__": opts, "__context__": context}
    for name in ("grains", "pillar"):
        pack["__%s__" % name] = NamespacedDictWrapper(opts, name)
    all_functions = functions.make(pack)
    pack["__salt__"] = all_functions
    folders = list(opts.get("module_dirs", []))
    folders += [os.path.join(root, "_modules") for root in opts.get("file_roots", {}).get("base", [])]
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
            name, module = load(path, pack)
            for function, value in public(module):
                all_functions["%s.%s" % (name, function)] = value
    return all_functions
