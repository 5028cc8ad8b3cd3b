"""A state run: all SLS files are rendered, then the states are called in their order."""
import fnmatch
import json
import multiprocessing
import os
import shlex
import time
import traceback

from salt import render
from salt import states as builtin
from salt.exceptions import SaltRenderError
from salt.utils.odict import OrderedDict

REQUISITES = ("require", "watch", "onchanges", "onfail")


def tag_of(low):
    return "{0[state]}_|-{0[__id__]}_|-{0[name]}_|-{0[fun]}".format(low)


class State:
    def __init__(self, opts, functions, pack):
        self.opts, self.functions, self.pack = opts, functions, pack
        self.run_num = 0
        self.states = builtin.make(self)

    def call_chunks(self, chunks):
        running = {}
        for low in chunks:
            if tag_of(low) not in running:
                running = self.call_chunk(low, running, chunks)
        while not self.reconcile_procs(running):
            time.sleep(0.01)
        return running

    def call_chunk(self, low, running, chunks, depth=0):
        tag = tag_of(low)
        comment, skip = "", None
        for kind in REQUISITES:
            for want in low.get(kind) or []:
                for other in self.matching(want, chunks):
                    if tag_of(other) not in running:
                        running = self.call_chunk(other, running, chunks, depth + 1)
                    while not self.reconcile_procs({"": running[tag_of(other)]}):
                        time.sleep(0.01)
                    ret = running[tag_of(other)]
                    if kind != "onfail" and ret["result"] is False:
                        comment, skip = "One or more requisite failed: %s.%s" % (other["__sls__"], other["__id__"]), False
                    elif kind == "onchanges" and not ret["changes"]:
                        comment, skip = "State was not run because none of the onchanges reqs changed", True
                    elif kind == "onfail" and ret["result"]:
                        comment, skip = "State was not run because onfail req did not change", True
        if skip is None:
            running[tag] = self.call(low, chunks, running)
        else:
            running[tag] = {"changes": {}, "result": skip, "comment": comment, "__run_num__": self.next(), "__sls__": low["__sls__"], "__id__": low["__id__"], "__state_ran__": False}
        return running

    def matching(self, want, chunks):
        (state, name), = (want if isinstance(want, dict) else {"id": want}).items()
        return [c for c in chunks if state in ("id", c["state"]) and name in (c["__id__"], c["name"])]

    def next(self):
        self.run_num += 1
        return self.run_num - 1

    def call(self, low, chunks=None, running=None, retries=1):
        arguments = {k: v for k, v in low.items() if not k.startswith("__") and k not in ("state", "fun", "parallel") + REQUISITES}
        if low.get("parallel"):
            ret = self.call_parallel(low, arguments)
        else:
            ret = self.run(low, arguments)
        ret.update(__run_num__=self.next(), __id__=low["__id__"], __sls__=low["__sls__"])
        return ret

    def run(self, low, arguments):
        try:
            self.format_slots(arguments)
            return self.states["%s.%s" % (low["state"], low["fun"])](**arguments)
        except Exception:
            return {"name": low["name"], "result": False, "changes": {}, "comment": "An exception occurred in this state: " + traceback.format_exc()}

    def call_parallel(self, low, arguments):
        path = os.path.join(self.opts["cachedir"], "parallel-%d" % self.run_num)

        def target():
            ret = self.run(low, arguments)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(ret, f)

        proc = multiprocessing.get_context("fork").Process(target=target)
        proc.start()
        return {"name": low["name"], "result": None, "changes": {}, "comment": "Started in a separate process", "proc": proc, "path": path}

    def reconcile_procs(self, running):
        done = True
        for ret in running.values():
            proc = ret.get("proc")
            if proc and proc.is_alive():
                done = False
            elif proc:
                with open(ret.pop("path"), encoding="utf-8") as f:
                    ret.update(json.load(f))
                ret.pop("proc")
        return done

    def format_slots(self, arguments):
        for key, value in arguments.items():
            if isinstance(value, str) and value.startswith("__slot__:"):
                arguments[key] = self.__eval_slot(value)

    def __eval_slot(self, slot):
        function, rest = slot[len("__slot__:salt:"):].split("(", 1)
        return self.functions[function](*[a.strip(",") for a in shlex.split(rest.rstrip(")"))])


class HighState:
    def __init__(self, state):
        self.state, self.roots = state, state.opts["file_roots"]["base"]
        self.high, self.errors = OrderedDict(), []

    def find(self, name):
        for root in self.roots:
            for path in (name.replace(".", "/") + ".sls", name.replace(".", "/") + "/init.sls"):
                if os.path.isfile(os.path.join(root, path)):
                    return os.path.join(root, path)
        return None

    def context(self):
        pack = self.state.pack
        return {"pillar": pack["__pillar__"], "grains": pack["__grains__"], "salt": self.state.functions, "opts": self.state.opts}

    def from_top(self):
        top = render.yaml_of(self.find("top"), self.context(), self.roots)
        names = []
        for target, wanted in top["base"].items():
            kind = wanted[0].get("match") if isinstance(wanted[0], dict) else None
            if kind == "pillar":
                *path, want = target.split(":")
                found = self.state.functions["pillar.get"](":".join(path))
                matches = fnmatch.fnmatch(str(found), want)
            else:
                matches = fnmatch.fnmatch(self.state.opts["id"], target)
            names += [name for name in wanted if matches and isinstance(name, str)]
        return names

    def render(self, name, seen, included=False):
        if name in seen:
            return
        seen.add(name)
        path = self.find(name)
        if path is None:
            missing = "Specified SLS %s in saltenv base is not available on the salt master" if included else "No matching sls found for '%s' in env 'base'"
            self.errors.append(missing % name)
            return
        try:
            found = self.python(path) or render.yaml_of(path, self.context(), self.roots) or {}
        except SaltRenderError as e:
            self.errors.append("Rendering SLS 'base:%s' failed: %s" % (name, e))
            return
        for included in found.pop("include", []):
            self.render(included, seen, True)
        for id, declared in found.items():
            if id in self.high:
                self.errors.append("Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is '%s'" % id)
            self.high[id] = (name, declared)

    def python(self, path):
        """#!py"""
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if not text.startswith("#!py"):
            return None
        module = {"__pillar__": self.state.pack["__pillar__"], "__salt__": self.state.functions}
        exec(compile(text, path, "exec"), module)
        return module["run"]()

    def chunks(self):
        for id, (sls, declared) in self.high.items():
            for full, arguments in declared.items():
                module, _, function = full.partition(".")
                low = {"state": module, "fun": function, "__id__": id, "__sls__": sls, "name": id}
                names = []
                for argument in arguments or []:
                    if isinstance(argument, str):
                        low["fun"] = argument
                    elif "names" in argument:
                        names = argument["names"]
                    else:
                        low.update(argument)
                for name in names or [low["name"]]:
                    yield dict(low, name=name)


def apply(opts, functions, pack, mods=None):
    state = State(opts, functions, pack)
    high = HighState(state)
    seen = set()
    for name in mods.split(",") if mods else high.from_top():
        high.render(name, seen)
    if high.errors:
        pack["__context__"]["retcode"] = 1
        return high.errors
    ret = state.call_chunks(list(high.chunks()))
    if any(r["result"] is False for r in ret.values()):
        pack["__context__"]["retcode"] = 2
    return ret
