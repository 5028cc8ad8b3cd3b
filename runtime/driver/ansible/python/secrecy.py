"""Keeps secret values out of what Ansible prints and logs."""
import json
import threading

from ansible import constants
from ansible.utils.display import Display

SHORTEST = 4  # as in the agent: to hide every "1" would hide nothing
HIDDEN = "(secret)"


class Mask:
    def __init__(self, inputs):
        self.inputs = inputs
        self.seen = set()
        self.texts = []
        self.busy = threading.local()

    def install(self):
        display, mask = Display.display, self

        def masked(self, msg, *args, **kwargs):
            return display(self, mask.hide(msg), *args, **kwargs)

        Display.display = masked
        if any(one.secret for one in self.inputs.all):
            # modules write their arguments to the system's log
            constants.DEFAULT_NO_TARGET_SYSLOG = True

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

    def hide(self, msg):
        """A text without the secrets that any process of this run has read."""
        if getattr(self.busy, "now", False) or not isinstance(msg, (str, bytes)):
            return msg
        self.busy.now = True
        try:
            for one in self.inputs.all:
                if one.secret and self.inputs.known[one.number] and one.number not in self.seen:
                    self.seen.add(one.number)
                    self.add(one.value())
        finally:
            self.busy.now = False
        if not self.texts:
            return msg
        if isinstance(msg, bytes):
            msg = msg.decode("utf-8", "surrogateescape")
        for text in self.texts:
            msg = msg.replace(text, HIDDEN)
        return msg
