"""Keeps Ansible from evaluating what came from another server as a template.

Ansible marks texts as unsafe (AnsibleUnsafe), and what a template gives is marked if one of
the variables it names is. The marks are on texts, and do not survive everything that a
template can do: str.join, most filters and Python's re give plain texts; the keys of maps
and what is in tuples are not looked at; an included template or a macro marks its own
context and not that of the template it is part of; hostvars and vars are looked through by
nobody. So it is noted here, for as long as a template is rendered, that anything unsafe was
touched at all, and then all of what the template gives is marked, keys too.
"""
import functools
import threading
from collections.abc import Mapping

import ansible.template
from ansible.template import AnsibleContext, AnsibleEnvironment, AnsibleNativeEnvironment, Templar
from ansible.utils.unsafe_proxy import AnsibleUnsafe, wrap_var

_rendering = threading.local()


def note():
    """Says that what is rendered now has touched something unsafe."""
    _rendering.unsafe = True


def marked(value):
    """Whether there is something unsafe in a value, or among its keys."""
    todo, seen = [value], set()
    while todo:
        one = todo.pop()
        if isinstance(one, AnsibleUnsafe):
            return True
        if not isinstance(one, (dict, list, tuple, set, frozenset)) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            todo.extend(one.keys())
            todo.extend(one.values())
        else:
            todo.extend(one)
    return False


def marking(concat):
    """concat, which renders a template, with its result marked if it has to be."""

    @functools.wraps(concat)
    def rendered(nodes):
        outer = getattr(_rendering, "unsafe", False)
        _rendering.unsafe = False
        try:
            result = concat(nodes)
            return wrap_var(result) if _rendering.unsafe else result
        finally:
            _rendering.unsafe = _rendering.unsafe or outer

    return rendered


def install():
    for environment in (AnsibleEnvironment, AnsibleNativeEnvironment):
        environment.concat = staticmethod(marking(environment.concat))
    ansible.template.ansible_concat = marking(ansible.template.ansible_concat)
    template = Templar.template

    def noting(templar, variable, *args, **kwargs):
        # values that are looked up through hostvars come by here alone
        if isinstance(variable, AnsibleUnsafe) or isinstance(variable, Mapping) and any(isinstance(k, AnsibleUnsafe) for k in variable):
            note()
        return template(templar, variable, *args, **kwargs)

    def update_unsafe(context, value):
        if marked(value):
            context.unsafe = True
            note()

    Templar.template = noting
    AnsibleContext._update_unsafe = update_unsafe
