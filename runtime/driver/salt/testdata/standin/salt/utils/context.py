"""The wrapper in which modules and templates get grains and pillar."""
from collections.abc import MutableMapping


class NamespacedDictWrapper(MutableMapping, dict):
    """It is a copy to C code, and the map itself to everybody else."""

    def __init__(self, d, key):
        self.__whole, self.__key = d, key
        super().__init__(self._dict())

    def _dict(self):
        return self.__whole[self.__key]

    def __getitem__(self, key):
        return self._dict()[key]

    def __setitem__(self, key, value):
        self._dict()[key] = value

    def __delitem__(self, key):
        del self._dict()[key]

    def __len__(self):
        return len(self._dict())

    def __iter__(self):
        return iter(self._dict())

    def __repr__(self):
        return repr(self._dict())
