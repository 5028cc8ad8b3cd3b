"""The states that the tests use."""
import os
import subprocess

from salt import render


def make(state):
    functions, opts = state.functions, state.opts
    roots = opts["file_roots"]["base"]

    def ret(name, changes=None, comment="", result=True):
        return {"name": name, "changes": changes or {}, "comment": comment, "result": result}

    def check(command):
        return subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def cmd_run(name, unless=None, onlyif=None, **_):
        if unless is not None and check(unless):
            return ret(name, comment="unless condition is true")
        if onlyif is not None and not check(onlyif):
            return ret(name, comment="onlyif condition is false")
        p = subprocess.run(name, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        changes = {"pid": os.getpid(), "retcode": p.returncode, "stdout": p.stdout.rstrip("\n"), "stderr": p.stderr.rstrip("\n")}
        return ret(name, changes, 'Command "%s" run' % name, p.returncode == 0)

    def file_managed(name, source=None, template=None, contents=None, contents_pillar=None, contents_newline=True, **_):
        if contents_pillar is not None:
            contents = functions["pillar.get"](contents_pillar)
        if source is not None:
            path = next(p for p in (os.path.join(r, source[len("salt://"):]) for r in roots) if os.path.exists(p))
            context = {"pillar": state.pack["__pillar__"], "grains": state.pack["__grains__"], "salt": functions, "opts": opts}
            with open(path, encoding="utf-8") as f:
                contents = render.text_of(path, context, roots) if template else f.read()
        else:
            contents = "".join(line.rstrip("\n").rstrip("\r") + "\n" for line in contents.splitlines())
            if not contents_newline:
                contents = contents.rstrip("\n").rstrip("\r")
        have = open(name, encoding="utf-8").read() if os.path.exists(name) else None
        if have == contents:
            return ret(name, comment="File %s is in the correct state" % name)
        with open(name, "w", encoding="utf-8") as f:
            f.write(contents)
        return ret(name, {"diff": contents if have is not None else "New file"}, "File %s updated" % name)

    def grains_present(name, value, **_):
        top, *below = name.split(":")
        have = functions["grains.get"](top, {})
        if below:
            inner = dict(have or {})
            inner[below[0]] = value
            value = inner
        if have == value:
            return ret(name, comment="Grain is already set")
        functions["grains.setvals"]({top: value})
        return ret(name, {name: value}, "Set grain %s" % name)

    def grains_append(name, value, convert=False, **_):
        have = functions["grains.get"](name, [])
        functions["grains.setvals"]({name: list(have or []) + [value]})
        return ret(name, {"added": value})

    def module_run(name, **calls):
        changes = {}
        for function, arguments in calls.items():
            changes[function] = functions[function](*[v for a in arguments or [] for v in (a.values() if isinstance(a, dict) else [a])])
        return ret(name, changes)

    return {
        "cmd.run": cmd_run, "file.managed": file_managed, "grains.present": grains_present, "grains.append": grains_append,
        "module.run": module_run, "test.nop": lambda name, **_: ret(name, comment="Success!"),
        "test.succeed_with_changes": lambda name, **_: ret(name, {"testing": {"old": "Unchanged", "new": "Something pretended to change"}}),
        "test.fail_without_changes": lambda name, comment="Failure!", **_: ret(name, comment=comment, result=False),
    }
