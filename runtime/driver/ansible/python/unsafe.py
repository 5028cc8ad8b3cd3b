"""Keeps Ansible from evaluating values from other servers as templates.

Ansible marks strings as unsafe (AnsibleUnsafe), and a template's result if one of the
variables it names is. The marks are on strings, and do not survive everything that a
template can do: str.join, most filters and Python's re return plain strings; the keys of
maps and the content of tuples are not inspected; an included template or a macro marks its
own context, not that of the enclosing template; hostvars and vars are not inspected. So
this module records, while a template is rendered, whether anything unsafe was touched at
all, and then marks the whole result, including keys.
"""
import functools
import threading
from collections.abc import Mapping

import ansible.template
from ansible.template import AnsibleContext, AnsibleEnvironment, AnsibleNativeEnvironment, Templar
from ansible.utils.unsafe_proxy import AnsibleUnsafe, wrap_var

_rendering = threading.local()


def note():
    """Records that the current rendering has touched something unsafe."""
    _rendering.unsafe = True


def marked(value):
    """Whether a value or its keys contain something unsafe."""
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
    """Wraps concat, which renders a template, to mark its result if needed."""

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
        # values looked up through hostvars pass only here
        if isinstance(variable, AnsibleUnsafe) or isinstance(variable, Mapping) and any(isinstance(k, AnsibleUnsafe) for k in variable):
            note()
        return template(templar, variable, *args, **kwargs)

    def update_unsafe(context, value):
        if marked(value):
            context.unsafe = True
            note()

    Templar.template = noting
    AnsibleContext._update_unsafe = update_unsafe
