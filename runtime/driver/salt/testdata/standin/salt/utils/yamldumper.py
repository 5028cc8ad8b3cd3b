"""Dumpers: what they do not know is NULL."""
import yaml

from salt.utils.odict import OrderedDict


class OrderedDumper(yaml.Dumper):
    pass


class SafeOrderedDumper(yaml.SafeDumper):
    pass


class IndentedSafeOrderedDumper(SafeOrderedDumper):
    pass


for dumper in (OrderedDumper, SafeOrderedDumper):
    dumper.add_representer(OrderedDict, lambda d, data: d.represent_dict(list(data.items())))
SafeOrderedDumper.add_representer(None, lambda d, data: d.represent_scalar("tag:yaml.org,2002:null", "NULL"))
