"""YAML, whose maps are Salt's ordered ones."""
import yaml

from salt.utils.odict import OrderedDict
from salt.utils.yamldumper import SafeOrderedDumper


class Loader(yaml.SafeLoader):
    pass


def ordered(loader, node):
    loader.flatten_mapping(node)
    return OrderedDict(loader.construct_pairs(node, deep=True))


Loader.add_constructor("tag:yaml.org,2002:map", ordered)


def safe_load(text):
    return yaml.load(text, Loader)


def safe_dump(data, stream=None, **options):
    options.setdefault("default_flow_style", None)
    return yaml.dump(data, stream, Dumper=SafeOrderedDumper, allow_unicode=True, **options)
