"""Paths in maps and lists."""


def traverse_dict_and_list(data, key, default=None, delimiter=":"):
    for part in key.split(delimiter):
        try:
            data = data[int(part)] if isinstance(data, list) else data[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return default
    return data
