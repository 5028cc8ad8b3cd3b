"""Declared inputs as variables of the highest precedence, whose values are requested when
they are used.

An input "site.db.url" is the key `url` of the key `db` of the variable `site`, merged with
the playbook's own `site`. A variable with an input in it is put into Ansible's variables as
a Node, which has no value yet. Two places turn nodes into values, and wait:

 - Templar.template, through which every use of a variable in Ansible goes, and
 - the Python that Jinja generates from a template. Jinja looks up all variables that a
 template names before its first line, even those in branches that are never taken. So a
 look-up returns a Lazy, and Generator emits code that requests its value where it is
 used. Only names of declared inputs are compiled so; other expressions are not wrapped.

A value from another server is data: no template in it is ever evaluated. See unsafe.py.
"""
from ansible import constants
from ansible.template import AnsibleContext, AnsibleEnvironment, AnsibleNativeEnvironment, NON_TEMPLATED_TYPES, Templar
from ansible.utils.unsafe_proxy import wrap_var
from ansible.vars.manager import VariableManager
from jinja2 import nodes
from jinja2.runtime import missing

import hotc_client
import unsafe
from hotc_client import NOTHING


class Input(hotc_client.Input):
    def taken(self, value):
        return wrap_var(value)

    def value(self):
        value = self.ask()
        unsafe.note()
        return value


class Node:
    """A variable, or a part of one, with inputs in it: tree is an Input, or a dict of
    trees by key. base is the playbook's own value, untemplated."""

    __slots__ = ("tree", "base")

    def __init__(self, tree, base=NOTHING):
        self.tree, self.base = tree, base

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    def __repr__(self):
        return "<a value from another server>"

    def own(self, templar):
        """The playbook's own value; NOTHING if it has none."""
        if self.base is NOTHING:
            return NOTHING
        return templar.template(self.base)

    def value(self, templar):
        """The whole value. Waits for all inputs in it."""
        if isinstance(self.tree, Input):
            value = self.tree.value()
            if value is None and self.tree.optional and self.base is not NOTHING:
                return self.own(templar)
            return value
        own = self.own(templar)
        out = dict(own) if isinstance(own, dict) else {}
        for key, tree in self.tree.items():
            out[key] = Node(tree, out.get(key, NOTHING)).value(templar)
        return out

    def child(self, key):
        """A part: a Node, or NOTHING if it contains no input."""
        if isinstance(self.tree, Input) or not isinstance(key, str) or key not in self.tree:
            return NOTHING
        base = self.base.get(key, NOTHING) if isinstance(self.base, dict) else NOTHING
        return Node(self.tree[key], base)


class Lazy:
    """A node in a template that is being rendered."""

    __slots__ = ("node", "templar")

    def __init__(self, node, templar):
        self.node, self.templar = node, templar

    def value(self):
        return self.node.value(self.templar)

    def item(self, environment, key, attribute):
        part = self.node.child(key)
        if part is not NOTHING:
            return Lazy(part, self.templar)
        base = self.node.base
        if isinstance(base, dict) and isinstance(self.node.tree, dict) and key in base:
            return self.templar.template(base[key])
        if attribute and key == "get" and isinstance(self.node.tree, dict):
            return self.get
        return read(environment, self.value(), key, attribute)

    def get(self, key, default=None):
        """A map's get, which waits only for that key."""
        part = self.node.child(key)
        return self.value().get(key, default) if part is NOTHING else part.value(self.templar)


class LazyVariables:
    """`vars`, the map of all variables."""

    __slots__ = ("all", "templar")

    def __init__(self, all, templar):
        self.all, self.templar = all, templar

    def value(self):
        return {k: v.value(self.templar) if isinstance(v, Node) else v for k, v in self.all.items()}

    def item(self, environment, key, attribute):
        value = read(environment, self.all, key, attribute)
        return Lazy(value, self.templar) if isinstance(value, Node) else value


def read(environment, value, key, attribute):
    return environment.getattr(value, key) if attribute else environment.getitem(value, key)


class Inputs:
    """All declared inputs, and the variables of the role's source."""

    def __init__(self, client, declared, given):
        self.given = given
        self.all = [Input(client, d) for d in declared]
        self.trees = hotc_client.tree_of(self.all)
        self.names = frozenset(self.trees) | {"vars"}

    def install(self):
        self.wrap_variables()
        if self.trees:
            unsafe.install()
            self.wrap_template()
            self.wrap_context()
            for environment in (AnsibleEnvironment, AnsibleNativeEnvironment):
                environment.code_generator_class = generator(environment.code_generator_class, self.names)

    def wrap_variables(self):
        make, get_vars, inputs = VariableManager.__init__, VariableManager.get_vars, self

        def init(manager, *args, **kwargs):
            make(manager, *args, **kwargs)
            manager._extra_vars = dict(manager._extra_vars, **inputs.given)
            for name, tree in inputs.trees.items():
                if isinstance(tree, Input) and not tree.optional:
                    manager._extra_vars[name] = Node(tree)

        def with_inputs(manager, *args, **kwargs):
            variables = get_vars(manager, *args, **kwargs)
            for name, tree in inputs.trees.items():
                have = variables.get(name, NOTHING)
                if not isinstance(have, Node):
                    variables[name] = Node(tree, have)
                if isinstance(variables.get("vars"), dict):
                    variables["vars"][name] = variables[name]
            return variables

        VariableManager.__init__ = init
        VariableManager.get_vars = with_inputs

    @staticmethod
    def wrap_template():
        template = Templar.template

        def with_values(templar, variable, *args, **kwargs):
            if isinstance(variable, Node):
                return variable.value(templar)
            if isinstance(variable, str) and not hasattr(variable, "__UNSAFE__"):
                # "{{ name }}" alone keeps numbers, booleans and null as they are
                alone = templar.SINGLE_VAR.match(variable)
                node = templar.available_variables.get(alone.group(1)) if alone else None
                if isinstance(node, Node) and isinstance(node.tree, Input):
                    value = node.value(templar)
                    if isinstance(value, NON_TEMPLATED_TYPES):
                        return value
                    if value is None:
                        return constants.DEFAULT_NULL_REPRESENTATION
            return template(templar, variable, *args, **kwargs)

        Templar.template = with_values

    def wrap_context(self):
        look_up, names = AnsibleContext.resolve_or_missing, self.names

        def lazily(context, key):
            if key in names and key not in context.vars:
                parent = context.parent
                templar = getattr(parent, "_templar", None)
                if templar is not None and key not in local_names(parent):
                    variable = templar.available_variables.get(key)
                    if isinstance(variable, Node):
                        return Lazy(variable, templar)
                    if key == "vars" and isinstance(variable, dict):
                        return LazyVariables(variable, templar)
            return look_up(context, key)

        def resolve(context, key):
            value = context.resolve_or_missing(key)
            if value is missing:
                return context.environment.undefined(name=key)
            return context.hotc_value(value)

        def getitem(context, key):
            value = context.resolve_or_missing(key)
            if value is missing:
                raise KeyError(key)
            return context.hotc_value(value)

        def hotc_value(context, value):
            if isinstance(value, (Lazy, LazyVariables)):
                value = value.value()
            context._update_unsafe(value)
            return value

        def hotc_item(context, value, key, attribute):
            if isinstance(value, (Lazy, LazyVariables)):
                return value.item(context.environment, key, attribute)
            return read(context.environment, value, key, attribute)

        AnsibleContext.resolve_or_missing = lazily
        AnsibleContext.resolve = resolve
        AnsibleContext.__getitem__ = getitem
        AnsibleContext.hotc_value = hotc_value
        AnsibleContext.hotc_item = hotc_item


def local_names(variables):
    """The names that a template itself has assigned, as a mapping."""
    maps = getattr(variables, "maps", None)
    return maps[0] if maps else getattr(variables, "_locals", {})


def generator(base, names):
    """Jinja's code generator, for templates that read inputs."""

    class Generator(base):
        def __init__(self, *args, **kwargs):
            self.hotc_parts = set()
            super().__init__(*args, **kwargs)

        def hotc_reads(self, node):
            """Whether an expression is an input's variable, or a part of one."""
            while isinstance(node, nodes.Getattr) or isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Slice):
                node = node.node
            return isinstance(node, nodes.Name) and node.ctx == "load" and node.name in names

        def hotc_begin(self, node):
            """Begins an expression; returns whether its value is requested here."""
            if id(node) in self.hotc_parts:
                return False
            self.write("context.hotc_value(")
            return True

        def visit_Name(self, node, frame):
            if not self.hotc_reads(node):
                return super().visit_Name(node, frame)
            outermost = self.hotc_begin(node)
            super().visit_Name(node, frame)
            if outermost:
                self.write(")")

        def visit_Getattr(self, node, frame, **kwargs):
            if not self.hotc_reads(node):
                return super().visit_Getattr(node, frame, **kwargs)
            self.hotc_part(node, frame, lambda: self.write("%r, True" % node.attr))

        def visit_Getitem(self, node, frame, **kwargs):
            if isinstance(node.arg, nodes.Slice) or not self.hotc_reads(node):
                return super().visit_Getitem(node, frame, **kwargs)

            def key():
                self.visit(node.arg, frame)
                self.write(", False")

            self.hotc_part(node, frame, key)

        def hotc_part(self, node, frame, key):
            outermost = self.hotc_begin(node)
            self.hotc_parts.add(id(node.node))
            self.write("context.hotc_item(")
            self.visit(node.node, frame)
            self.write(", ")
            key()
            self.write(")")
            if outermost:
                self.write(")")

        def visit_Test(self, node, frame, **kwargs):
            # whether an input is defined is known without its value
            if node.name in ("defined", "undefined") and self.hotc_reads(node.node):
                self.hotc_parts.add(id(node.node))
            return super().visit_Test(node, frame, **kwargs)

    return Generator
