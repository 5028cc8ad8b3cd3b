"""Declared inputs as parts of the pillar, whose values are requested when read.

An input "db:url" is the key `url` of the key `db` of the pillar, merged with the pillar's
own `db`. When Salt has compiled a pillar, the maps on the paths of inputs become Nodes:
dicts with a Leaf for each input. Reading such a key waits; testing its presence, or counting
keys, does not. An optional input that did not arrive leaves the pillar's own value, or no
key.

A Node is a dict whose C code never sees a Leaf: due to its own __iter__, dict(node),
{**node} and json use keys and items, too. Salt passes the pillar to its modules and
templates in a wrapper, which copies the map that it wraps (quietly).
"""
import copy
import threading
from collections.abc import ItemsView, ValuesView

import hotc_client
import yaml
from hotc_client import NOTHING

quiet = threading.local()  # set while copies are made whose values are not read


try:
    from salt.utils.odict import OrderedDict
except ImportError:  # a Salt whose pillars are plain dicts
    OrderedDict = dict


class Input(hotc_client.Input):
    def value(self):
        return ordered(self.ask())


def ordered(value):
    """A copy of a value whose maps have the type of those in a pillar, which prints differently."""
    if isinstance(value, dict):
        return OrderedDict((key, ordered(inner)) for key, inner in value.items())
    return [ordered(inner) for inner in value] if isinstance(value, list) else value


class Leaf:
    """The place of an input. own is the pillar's own value there."""

    __slots__ = ("input", "own")

    def __init__(self, input, own=NOTHING):
        self.input, self.own = input, own

    def value(self):
        """The value; NOTHING if the key is missing."""
        value = self.input.value()
        return self.own if value is None and self.input.optional else value


class Node(dict):
    """A map with inputs in it, or in maps below. Copies of the whole have the type that Salt
    uses: its ordered maps print differently."""

    __slots__ = ("_hotc_kind",)

    def _hotc_find(self, key):
        """The value of an existing key; NOTHING if it turns out to have none."""
        value = dict.__getitem__(self, key)
        return value.value() if isinstance(value, Leaf) and not getattr(quiet, "now", False) else value

    def __getitem__(self, key):
        value = self._hotc_find(key)
        if value is NOTHING:
            raise KeyError(key)
        return value

    def get(self, key, default=None):
        value = self._hotc_find(key) if key in self else NOTHING
        return default if value is NOTHING else value

    def __iter__(self):
        return dict.__iter__(self)

    def items(self):
        return Items(self)

    def values(self):
        return Values(self)

    def pop(self, key, *default):
        if key not in self:
            return dict.pop(self, key, *default)
        value = self.get(key, *default) if default else self[key]
        dict.__delitem__(self, key)
        return value

    def popitem(self):
        for key in reversed(list(self)):
            return key, self.pop(key, None)
        return dict.popitem(self)

    def setdefault(self, key, default=None):
        value = self.get(key, NOTHING)
        if value is NOTHING:
            self[key] = value = default
        return value

    def copy(self):
        return filled(((key, dict.__getitem__(self, key)) for key in self), self._hotc_kind)

    __copy__ = copy

    def __deepcopy__(self, memo):
        def inner(value):
            return value if isinstance(value, Leaf) else copy.deepcopy(value, memo)

        return filled(((key, inner(dict.__getitem__(self, key))) for key in self), self._hotc_kind)

    def __reduce_ex__(self, protocol):
        return dict, (plain(self),)

    def __eq__(self, other):
        return plain(self) == other

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __or__(self, other):
        return dict(plain(self), **other) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other):
        return dict(other, **plain(self)) if isinstance(other, dict) else NotImplemented

    def __repr__(self):
        return repr(plain(self))


class Items(ItemsView):
    """The pairs of a Node; each waits when it is reached."""

    def __iter__(self):
        for key in list(self._mapping):
            value = self._mapping._hotc_find(key)
            if value is not NOTHING:
                yield key, value


class Values(ValuesView):
    def __iter__(self):
        for _, value in Items(self._mapping):
            yield value


def filled(pairs, kind):
    node = Node()
    node._hotc_kind = kind
    for key, value in pairs:
        dict.__setitem__(node, key, value)
    return node


def plain(value):
    """A value with all inputs in it read. Waits for them."""
    if isinstance(value, Node):
        return value._hotc_kind((key, plain(part)) for key, part in value.items())
    return value


def overlaid(tree, own):
    """The pillar's value at a place, overlaid with a tree of inputs."""
    while hasattr(own, "_dict"):  # Salt's wrapper
        own = own._dict()
    if isinstance(own, Node):
        node = own.copy()
    else:
        node = filled(own.items(), type(own)) if isinstance(own, dict) else filled((), OrderedDict)
    for key, below in tree.items():
        have = dict.get(node, key, NOTHING)
        if isinstance(below, dict):
            have = overlaid(below, have)
        elif not isinstance(have, Leaf):
            have = Leaf(below, have)
        dict.__setitem__(node, key, have)
    return node


class Inputs:
    """All declared inputs, and the pillar of the role's source."""

    def __init__(self, client, config):
        self.given = config["pillar"]
        self.all = [Input(client, declared) for declared in config["inputs"]]
        self.tree = hotc_client.tree_of(self.all)

    def install(self):
        import salt.pillar

        if self.tree:
            wrap_wrapper()
            teach_yaml()
        compile_pillar, inputs = salt.pillar.Pillar.compile_pillar, self

        def with_inputs(pillar, *args, **kwargs):
            compiled = compile_pillar(pillar, *args, **kwargs)
            if inputs.given:
                import salt.utils.dictupdate

                compiled = salt.utils.dictupdate.merge(compiled, ordered(inputs.given), strategy="recurse")
            return overlaid(inputs.tree, compiled) if inputs.tree else compiled

        salt.pillar.Pillar.compile_pillar = with_inputs
        self.leave_slots()

    def leave_slots(self):
        """Keeps Salt from evaluating a state's argument as a slot if it begins with an input's
        value: an SLS file that properly quotes a value cannot prevent that."""
        from salt.state import State

        inputs, evaluate = self, State._State__eval_slot

        def data(state, slot):
            return slot if inputs.holds(slot) else evaluate(state, slot)

        State._State__eval_slot = data

    def holds(self, slot):
        for one in self.all:
            for text in texts(one.known):
                _, mark, rest = text.partition(SLOT)
                if mark and (slot.startswith(mark + rest) or (mark + rest).startswith(slot)):
                    return True
        return False


SLOT = "__slot__:"


def texts(value):
    """All strings in a value, including its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def wrap_wrapper():
    """Makes the wrapper of the pillar delegate reads to the Node."""
    from salt.utils.context import NamespacedDictWrapper as Wrapper

    init = Wrapper.__init__

    def quietly(wrapper, *args, **kwargs):
        quiet.now = True
        try:
            init(wrapper, *args, **kwargs)
        finally:
            quiet.now = False

    Wrapper.__init__ = quietly
    Wrapper.__contains__ = lambda wrapper, key: key in wrapper._dict()
    Wrapper.items = lambda wrapper: wrapper._dict().items()
    Wrapper.values = lambda wrapper: wrapper._dict().values()


def teach_yaml():
    """Makes YAML represent Nodes as maps."""
    import salt.utils.yamldumper as dumpers

    names = [(yaml, n) for n in ("SafeDumper", "Dumper", "CSafeDumper", "CDumper")]
    names += [(dumpers, n) for n in ("OrderedDumper", "SafeOrderedDumper", "IndentedSafeOrderedDumper")]
    for owner, name in names:
        if hasattr(owner, name):
            getattr(owner, name).add_representer(Node, lambda dumper, node: dumper.represent_dict(plain(node)))
