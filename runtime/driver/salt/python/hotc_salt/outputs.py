"""Publishes the declared outputs: grains when they are set, and the success and changes of
states.

A cell is written once. So a value is published at once only if no remaining state may write
it again: one of the same name or ID or, for a grain, one that sets that key. Grains are read
from the file where Salt's own functions store them, after each state and before the first,
which includes what SLS files set while rendered.
"""
import os

from hotc_client import NOTHING, at, plain


class Output:
    def __init__(self, declared):
        self.name, self.path = declared["name"], declared.get("path") or []
        self.state, self.id = declared.get("state"), declared.get("id")
        self.type, self.secret = declared.get("type", ""), declared.get("secret", False)
        self.is_grain = self.id is None
        self.value = NOTHING
        self.failed = False
        self.published = NOTHING

    def is_given_by(self, low):
        """Whether a state may write the output."""
        if not self.is_grain:
            return self.state in (None, low.get("state")) and self.id in (low.get("__id__"), low.get("name"))
        if low.get("state") == "grains":
            return str(low.get("name")).split(":")[0] == self.path[0]
        calls_grains = low.get("state") == "module" and any(str(x).startswith("grains.") for x in list(low) + [low.get("name")])
        return calls_grains and self.path[0] in str(low)

    def part(self, value):
        """The output's part of a value; NOTHING if missing."""
        return plain(at(value, self.path))


class Outputs:
    def __init__(self, client, mask, config):
        self.client, self.mask = client, mask
        self.all = [Output(d) for d in config["outputs"]]
        self.grains_file, self.grains_seen = config["grains_file"], None
        self.pending = {}  # states that have not ended, by tag

    def install(self):
        from salt.state import State

        outputs = self
        call_chunks, call_chunk, reconcile = State.call_chunks, State.call_chunk, State.reconcile_procs

        def all_chunks(state, chunks, *args, **kwargs):
            outputs.begin(chunks)
            running = call_chunks(state, chunks, *args, **kwargs)
            outputs.ended(running)
            return running

        def chunk(state, low, running, *args, **kwargs):
            running = call_chunk(state, low, running, *args, **kwargs)
            outputs.ended(running)
            return running

        def reconciled(state, running, *args, **kwargs):
            # only those in separate processes: the others may be a trial run
            waited = [tag for tag, ret in running.items() if isinstance(ret, dict) and ret.get("proc")]
            done = reconcile(state, running, *args, **kwargs)
            outputs.ended({tag: running[tag] for tag in waited})
            return done

        State.call_chunks, State.call_chunk, State.reconcile_procs = all_chunks, chunk, reconciled

    def begin(self, chunks):
        for low in chunks:
            self.pending[tag_of(low)] = low
        self.publish()

    def ended(self, running):
        """Collects the results of states that have ended since."""
        new = [tag for tag, ret in running.items() if tag in self.pending and isinstance(ret, dict) and "proc" not in ret]
        for tag in new:
            self.take(self.pending.pop(tag), running[tag])
        if new:
            self.publish()

    def take(self, low, ret):
        good = ret.get("result") is True
        for o in self.all:
            if o.is_grain or not o.is_given_by(low):
                continue
            o.failed = o.failed or not good
            value = True if not o.path else o.part(ret.get("changes") or {})
            if good and value is not NOTHING:
                o.value = value

    def publish(self):
        self.look_at_grains()
        for o in self.all:
            if o.value is NOTHING or o.failed or any(o.is_given_by(low) for low in self.pending.values()):
                continue
            if o.published is not NOTHING and o.published == o.value:
                continue
            if o.secret:
                self.mask.add(o.value)
            self.client.put(o.name, o.value, o.type)
            o.published = o.value

    def look_at_grains(self):
        try:
            info = os.stat(self.grains_file)
        except OSError:
            return  # no grain was set
        seen = info.st_mtime_ns, info.st_size, info.st_ino
        if seen == self.grains_seen:
            return
        import salt.utils.yaml

        with open(self.grains_file, encoding="utf-8") as f:
            grains = salt.utils.yaml.safe_load(f)
        self.grains_seen = seen
        for o in self.all:
            value = o.part(grains) if o.is_grain else NOTHING
            if value is not NOTHING and value is not None:  # Salt's way to unset a grain
                o.value = value

    def end(self):
        """Publishes the rest after success."""
        self.pending = {}
        self.publish()


def tag_of(low):
    return "{0[state]}_|-{0[__id__]}_|-{0[name]}_|-{0[fun]}".format(low)
