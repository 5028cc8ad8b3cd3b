"""Secrets, in the forms in which a Python tool prints them."""
import functools
import json
import mmap
import threading

SHORTEST = 4  # as in the agent: hiding every "1" would reveal it
HIDDEN = "(secret)"


class Secrets:
    def __init__(self):
        self.texts = []

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
            self.texts.append(text)  # sorting in place would empty it for other threads

    def hide(self, text):
        """A text without them."""
        for secret in sorted(self.texts, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text


class SharedSecrets(Secrets):
    """The secret inputs of a run that were read. A forked process may be the only one that
    has read a value, so processes inform each other."""

    def __init__(self, inputs):
        """Inputs have a flag secret and a value(), and call has_read, which is set here, when
        they have received it."""
        super().__init__()
        self.inputs = [one for one in inputs if one.secret]
        self.read = mmap.mmap(-1, max(1, len(self.inputs)))  # shared with forked processes
        for number, one in enumerate(self.inputs):
            one.has_read = functools.partial(self.has_read, number)
        self.known = set()
        self.busy = threading.local()

    def has_read(self, number):
        self.read[number] = 1

    def learn(self):
        if getattr(self.busy, "now", False):
            return
        self.busy.now = True
        try:
            for number, one in enumerate(self.inputs):
                if self.read[number] and number not in self.known:
                    self.add(one.value())
                    self.known.add(number)  # only now: another thread may print
        finally:
            self.busy.now = False

    def hide(self, text):
        self.learn()
        return super().hide(text)
