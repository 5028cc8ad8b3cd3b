"""Keeps secret values out of what Salt prints and logs."""
import json
import logging
import sys

SHORTEST = 4  # as in the agent: to hide every "1" would hide nothing
HIDDEN = "(secret)"


class Mask:
    def __init__(self):
        self.texts = []

    def install(self):
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Stream(sys.stdout, self), Stream(sys.stderr, self)
        for handler in logging.getLogger().handlers:  # they have taken the streams already
            if getattr(handler, "stream", None) in before:
                handler.stream = Stream(handler.stream, self)

    def add(self, value):
        if isinstance(value, dict):
            for one in value.values():
                self.add(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
                self.add(one)
        elif isinstance(value, str):
            for text in [value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]] + value.splitlines():
                self.add_text(text.strip())
        elif value is not None and not isinstance(value, bool):
            self.add_text(str(value))

    def add_text(self, text):
        if len(text) >= SHORTEST and text not in self.texts:
            self.texts.append(text)
            self.texts.sort(key=len, reverse=True)

    def hide(self, text):
        for secret in self.texts:
            text = text.replace(secret, HIDDEN)
        return text


class Stream:
    """A stream to which secrets are written as HIDDEN."""

    def __init__(self, stream, mask):
        self._stream, self._mask = stream, mask

    def write(self, text):
        return self._stream.write(self._mask.hide(text))

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)
