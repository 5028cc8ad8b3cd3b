"""Keeps secret values out of what Salt prints and logs."""
import logging
import sys

from hotc_hidden import SharedSecrets


class Mask(SharedSecrets):
    def install(self):
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Stream(sys.stdout, self), Stream(sys.stderr, self)
        for handler in logging.getLogger().handlers:  # they already hold the streams
            if getattr(handler, "stream", None) in before:
                handler.stream = Stream(handler.stream, self)


class Stream:
    """A stream that masks secrets."""

    def __init__(self, stream, mask):
        self._stream, self._mask = stream, mask

    def write(self, text):
        return self._stream.write(self._mask.hide(text))

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)
