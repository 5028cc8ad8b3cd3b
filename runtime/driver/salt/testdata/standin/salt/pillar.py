"""The pillar of a server without a master."""
import fnmatch
import os

from salt import render
from salt.utils.dictupdate import merge
from salt.utils.odict import OrderedDict


class Pillar:
    def __init__(self, opts, grains, minion_id):
        self.opts, self.grains, self.id = opts, grains, minion_id

    def compile_pillar(self, ext=True):
        compiled = OrderedDict()
        if not self.find("top.sls"):
            return compiled
        for target, names in self.render("top")["base"].items():
            if fnmatch.fnmatch(self.id, target):
                for name in names:
                    compiled = merge(compiled, self.render(name) or {})
        return compiled

    def find(self, path):
        for root in self.opts.get("pillar_roots", {}).get("base", []):
            if os.path.isfile(os.path.join(root, path)):
                return os.path.join(root, path)
        return None

    def render(self, name):
        return render.yaml_of(self.find(name.replace(".", "/") + ".sls"), {"grains": self.grains, "opts": self.opts, "pillar": {}}, self.opts["pillar_roots"]["base"])


def get_pillar(opts, grains, minion_id):
    return Pillar(opts, grains, minion_id)
