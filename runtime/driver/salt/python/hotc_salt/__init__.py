"""Ties a run of salt-call to hotc's agent.

Nothing of the states changes, nor of Salt on the disk: a few methods of the running
program are wrapped. pillar.py says how declared inputs become parts of the pillar,
outputs.py how results and grains become outputs, secrecy.py what is not printed.
"""
import json
import os
import re

# The releases whose insides this knows.
OLDEST, NEWEST = 3005, 3007

run = None  # what is installed
problem = ""  # why nothing is


class Run:
    def __init__(self, folder):
        import hotc_client
        from hotc_salt import outputs, pillar, secrecy

        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            self.config = json.load(f)
        self.client = hotc_client.Client(os.environ["HOTC_SOCKET"])
        self.inputs = pillar.Inputs(self.client, self.config)
        self.mask = secrecy.Mask(self.inputs.all)
        self.outputs = outputs.Outputs(self.client, self.mask, self.config)
        self.mask.install()
        self.inputs.install()
        self.outputs.install()

    def apply(self, state_apply, job):
        """Applies the states, and notes how that ended."""
        from hotc_client import Failure
        from hotc_salt import reasons

        found = None
        try:
            found = state_apply(*self.config["apply"], **job)
            reason = reasons.of(found)
            if not reason:
                self.outputs.end()
        except Failure as e:
            reason = str(e)
        reason = self.client.refused or reason
        with open(self.config["outcome"], "w", encoding="utf-8") as f:
            json.dump({"reason": self.mask.hide(reason)}, f)
        return {} if found is None else found


def install(folder):
    """Ties this process to the agent, once."""
    global run, problem
    if run is not None:
        return
    try:
        from salt.version import __version__ as version
        from salt.pillar import Pillar
        from salt.state import State

        known = int((re.findall(r"\d+", str(version)) or ["0"])[0])
        wanted = [(Pillar, "compile_pillar"), (State, "call_chunks"), (State, "call_chunk"), (State, "reconcile_procs")]
        missing = [name for owner, name in wanted if not hasattr(owner, name)]
        if not OLDEST <= known <= NEWEST or missing:
            problem = "hotc: this is Salt %s, and this hotc-agent knows %d to %d" % (version, OLDEST, NEWEST)
            return
        run = Run(folder)
    except Exception as e:  # Salt would go on, with a line in its log
        problem = "hotc: the agent's part cannot be loaded: %s" % e
