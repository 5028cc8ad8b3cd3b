"""Connects a run of salt-call to hotc's agent.

States and the installed Salt are unmodified: a few methods of the running program are
wrapped. pillar.py turns declared inputs into parts of the pillar, outputs.py results and
grains into outputs; secrecy.py masks secrets.
"""
import json
import os
import re

# The supported releases.
OLDEST, NEWEST = 3005, 3007

run = None  # the installed one
problem = ""  # why there is none


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
        """Applies the states, and records the outcome."""
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
    """Connects this process to the agent, once."""
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
            problem = "hotc: Salt %s is not supported: this hotc-agent supports %d to %d" % (version, OLDEST, NEWEST)
            return
        run = Run(folder)
    except Exception as e:  # Salt would only log it
        problem = "hotc: the agent's part cannot be loaded: %s" % e
