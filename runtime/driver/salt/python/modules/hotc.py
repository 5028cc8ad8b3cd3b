"""The function that starts a run: salt-call --local hotc.apply."""
from salt.exceptions import CommandExecutionError

try:
    import hotc_salt
except ImportError:
    hotc_salt = None

__outputter__ = {"apply": "highstate"}


def apply(**kwargs):
    """Applies the states of the role. Salt passes the job's number, which parallel states
    need."""
    if hotc_salt is None or hotc_salt.run is None:
        raise CommandExecutionError(getattr(hotc_salt, "problem", "") or "hotc: Salt has not loaded the agent's part")
    return hotc_salt.run.apply(__salt__["state.apply"], kwargs)  # noqa: F821 (injected by Salt)
