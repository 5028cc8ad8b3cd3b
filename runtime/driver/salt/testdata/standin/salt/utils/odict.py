import collections


class OrderedDict(collections.OrderedDict):
    __hash__ = None
