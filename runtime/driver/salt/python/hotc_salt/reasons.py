"""Why a run has failed, in one line."""
from hotc_client import shorten


def of(found):
    """The reason in the result of state.apply; "" for success."""
    if isinstance(found, dict):
        failed = [(ret.get("__run_num__", 0), tag, ret) for tag, ret in found.items() if isinstance(ret, dict) and ret.get("result") is False]
        # a state that failed only because of another has no reason of its own
        own = [one for one in failed if "One or more requisite failed" not in str(one[2].get("comment"))] or failed
        if not own:
            return ""
        _, tag, ret = min(own, key=lambda one: one[:2])
        return shorten("%s failed: %s" % (state(tag, ret), message(ret)))
    if isinstance(found, (list, tuple)):  # nothing was run: an SLS or the pillar is invalid
        return shorten("; ".join(str(one) for one in found) or "no state was applied")
    return shorten(str(found))


def state(tag, ret):
    """A state as users know it: file.managed "/etc/x" (web.conf)."""
    parts = tag.split("_|-")
    if len(parts) != 4 or parts[0] == "no":
        return "the run"
    name = '%s.%s "%s"' % (parts[0], parts[3], ret.get("__id__") or parts[1])
    return name + (" (%s)" % ret["__sls__"] if ret.get("__sls__") else "")


def message(ret):
    said = str(ret.get("comment") or "no reason given").strip()
    if "Traceback (most recent call last)" in said:
        said = said.splitlines()[-1]
    changes = ret.get("changes")
    lines = [line for line in str(changes.get("stderr") or "").splitlines() if line.strip()] if isinstance(changes, dict) else []
    return "%s: %s" % (said, lines[-1].strip()) if lines else said
