"""Runs ansible-playbook with its variables and results tied to hotc's agent.

usage: launch.py CONFIG

CONFIG is JSON written by the agent (runtime/driver/ansible/config.go). Playbooks and the
installed Ansible are unmodified: a few functions of the running program are wrapped before
its main function is called. reads.py turns declared inputs into variables, writes.py values
into outputs; failures.py reports failures.
"""
import json
import os
import re
import runpy
import sys

# The supported releases: earlier ones create the environment of templates differently,
# and templates have changed in 2.19.
OLDEST, NEWEST = (2, 13), (2, 18)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        config = json.load(f)
    if config["settings"]:
        os.environ.setdefault("ANSIBLE_CONFIG", config["settings"])
    try:
        from ansible import constants
        from ansible.release import __version__ as version
    except ImportError as e:
        sys.exit("the Python of %s has no Ansible: %s" % (config["program"], e))
    known = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if not OLDEST <= known <= NEWEST:
        sys.exit("Ansible core %s is not supported: this hotc-agent supports %d.%d to %d.%d" % ((version,) + OLDEST + NEWEST))
    # before the plugin loader, which reads it, is imported
    constants.DEFAULT_ROLES_PATH = config["roles"] + list(constants.DEFAULT_ROLES_PATH)
    constants.COLLECTIONS_PATHS = config["collections"] + list(constants.COLLECTIONS_PATHS)

    import agent
    import failures
    import reads
    import secrecy
    import writes

    client = agent.Client(os.environ["HOTC_SOCKET"])
    inputs = reads.Inputs(client, config["inputs"], config["vars"])
    mask = secrecy.Mask(inputs.all)
    outputs = writes.Outputs(client, mask, config)
    reasons = failures.Reasons(config["folders"])
    mask.install()
    inputs.install()
    outputs.install()
    reasons.install()
    status = run(config)
    if status == 0:
        status = outputs.end(reasons)
    if status != 0 and reasons.last:
        sys.stdout.flush()
        sys.stderr.write(mask.hide(reasons.last) + "\n")
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(status)


def run(config):
    """Runs the program as if started by itself, and returns its exit status."""
    program = config["program"]
    sys.path[0] = os.path.dirname(program)
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    sys.argv = [program] + config["arguments"]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as e:
        if e.code is None:
            return 0
        if isinstance(e.code, int):
            return e.code
        sys.stderr.write("%s\n" % e.code)
        return 1
    return 0


if __name__ == "__main__":
    main()
