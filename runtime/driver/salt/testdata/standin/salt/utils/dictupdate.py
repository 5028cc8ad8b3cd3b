"""Merging of maps."""
import copy
from collections.abc import Mapping


def update(dest, upd):
    for key in list(upd.keys()):
        value = upd[key]
        have = dest.get(key)
        if isinstance(have, Mapping) and isinstance(value, Mapping):
            dest[key] = update(have, value)
        else:
            dest[key] = value
    return dest


def merge(a, b, strategy="recurse", *_):
    assert strategy == "recurse"
    return update(copy.deepcopy(a), b)
