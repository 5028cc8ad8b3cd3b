"""Keeps secret values out of what Ansible prints and logs."""
import threading

from ansible import constants
from ansible.utils.display import Display
from hotc_hidden import Secrets


class Mask(Secrets):
    def __init__(self, inputs):
        super().__init__()
        self.inputs = inputs
        self.seen = set()
        self.busy = threading.local()

    def install(self):
        display, mask = Display.display, self

        def masked(self, msg, *args, **kwargs):
            return display(self, mask.hide(msg), *args, **kwargs)

        Display.display = masked
        if any(one.secret for one in self.inputs.all):
            # modules write their arguments to the system's log
            constants.DEFAULT_NO_TARGET_SYSLOG = True

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
        return super().hide(msg)
