"""Keeps secret values out of what Ansible prints and logs."""
from ansible import constants
from ansible.utils.display import Display
from hotc_hidden import SharedSecrets


class Mask(SharedSecrets):
    def install(self):
        display, mask = Display.display, self

        def masked(self, msg, *args, **kwargs):
            return display(self, mask.hide(msg), *args, **kwargs)

        Display.display = masked
        if self.inputs:
            # modules write their arguments to syslog
            constants.DEFAULT_NO_TARGET_SYSLOG = True

    def hide(self, msg):
        """A text without the secrets that processes of this run have read."""
        if not isinstance(msg, (str, bytes)):
            return msg
        self.learn()
        if self.texts and isinstance(msg, bytes):
            msg = msg.decode("utf-8", "surrogateescape")
        return super().hide(msg) if isinstance(msg, str) else msg
