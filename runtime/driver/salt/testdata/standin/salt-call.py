"""A stand-in for salt-call --local, for tests where there is no Salt.

It has the parts of Salt that an interceptor meets, by their names and with their
behaviour as Salt's public source has them (3006): the order in which grains, pillar,
SLS files and states come; how the pillar is wrapped; the functions and states that the
tests use. SLS files are rendered by the real Jinja and the real YAML.
"""
import argparse
import json
import logging
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from salt import loader, pillar  # noqa: E402
from salt.utils import yaml  # noqa: E402
from salt.exceptions import CommandExecutionError  # noqa: E402
from salt.version import __version__  # noqa: E402


def main():
    parser = argparse.ArgumentParser(prog="salt-call")
    parser.add_argument("--version", action="version", version="salt-call " + __version__)
    parser.add_argument("--config-dir", "-c", default="/etc/salt")
    for flag in ("--local", "--retcode-passthrough", "--no-color"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("function")
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    conf = os.path.join(given.config_dir, "minion")
    with open(conf, encoding="utf-8") as f:
        opts = yaml.safe_load(f)
    opts["conf_file"] = conf
    opts.setdefault("id", "localhost")
    opts.setdefault("cachedir", os.path.join(opts.get("root_dir", "/var"), "cache"))
    os.makedirs(opts["cachedir"], exist_ok=True)
    logging.basicConfig(stream=sys.stderr, format="[%(levelname)-8s] %(message)s")
    opts["grains"] = loader.grains(opts)
    opts["pillar"] = pillar.get_pillar(opts, opts["grains"], opts["id"]).compile_pillar()
    context = {}
    functions = loader.minion_mods(opts, context)
    if given.function not in functions:
        sys.exit("'%s' is not available." % given.function)
    try:
        found = functions[given.function](*given.arguments)
    except CommandExecutionError as e:
        sys.exit("Error running '%s': %s" % (given.function, e))
    show(found)
    sys.exit(context.get("retcode", 0))


def show(found):
    """What the outputter prints of it."""
    print("local:")
    if not isinstance(found, dict):
        print("    " + "\n    ".join(str(line) for line in found))
        return
    for tag, ret in found.items():
        print("----------\n          ID: %s\n    Function: %s" % (ret.get("__id__"), ".".join(tag.split("_|-")[::3])))
        print("        Name: %s\n      Result: %s\n     Comment: %s" % (ret.get("name"), ret.get("result"), ret.get("comment")))
        print("     Changes: %s" % json.dumps(ret.get("changes"), default=str))


if __name__ == "__main__":
    main()
