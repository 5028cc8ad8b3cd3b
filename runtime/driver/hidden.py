"""Secrets, in the forms in which a tool written in Python prints them."""
import functools
import json
import mmap
import threading

SHORTEST = 4  # as in the agent: to hide every "1" would hide nothing
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
            self.texts.append(text)  # sorting it would hide it from other threads meanwhile

    def hide(self, text):
        """A text without them."""
        for secret in sorted(self.texts, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text


class SharedSecrets(Secrets):
    """Those of a run's inputs that are secret and were read. What a tool forks may be the
    only one that has read a value: so processes tell each other which."""

    def __init__(self, inputs):
        """Inputs say whether they are secret, have a value(), and call has_read, which is
        set here, when they have got it."""
        super().__init__()
        self.inputs = [one for one in inputs if one.secret]
        self.read = mmap.mmap(-1, max(1, len(self.inputs)))  # shared by processes that are forked
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
                    self.known.add(number)  # now, and not before: another thread may print
        finally:
            self.busy.now = False

    def hide(self, text):
        self.learn()
        return super().hide(text)
