"""What is reported of a failure: the task, its place and its message."""
import re

from ansible.executor.task_queue_manager import TaskQueueManager
from ansible.utils.display import Display
from hotc_client import shorten


class Reasons:
    """last is the reason of the last unrescued failure, in one line."""

    def __init__(self, folders):
        # private folders, and the names that replace them
        self.folders = sorted(folders.items(), key=lambda f: len(f[0]), reverse=True)
        self.last = ""

    def install(self):
        send, error, reasons = TaskQueueManager.send_callback, Display.error, self

        def noticed(tqm, method, *args, **kwargs):
            if method in ("v2_runner_on_failed", "v2_runner_on_unreachable") and not kwargs.get("ignore_errors"):
                reasons.last = reasons.of_result(args[0])
            return send(tqm, method, *args, **kwargs)

        def told(display, msg, *args, **kwargs):
            reasons.last = reasons.of_error(str(msg))
            return error(display, msg, *args, **kwargs)

        TaskQueueManager.send_callback = noticed
        Display.error = told

    def of_result(self, result):
        task = result._task
        name = task.get_name()
        said = "output hidden (no_log)"
        if not (task.no_log or result._result.get("_ansible_no_log")):
            said = message(result._result)
        return shorten(self.rename('task "%s" (%s) failed: %s' % (name, self.place(task.get_path()), said)))

    def of_error(self, text):
        where = re.search(r"The error appears to be in '(.*?)': line (\d+)", text)
        text = next((line.strip() for line in text.splitlines() if line.strip()), "")
        text = re.sub(r"^ERROR! ", "", text)
        if where:
            text = "%s:%s: %s" % (self.place(where.group(1)), where.group(2), text)
        return shorten(self.rename(text))

    def place(self, path):
        return self.rename(path or "an unknown place")

    def rename(self, text):
        for folder, name in self.folders:
            text = text.replace(folder + "/", name)
        return text


def message(result):
    """A failed result's message."""
    for item in result.get("results") or []:
        if isinstance(item, dict) and (item.get("failed") or item.get("unreachable")):
            return message(item)
    said = str(result.get("msg") or result.get("exception") or "no reason given").strip()
    said = said.split("\n\nThe error appears to be in")[0]
    for stream in ("module_stderr", "stderr"):
        lines = [line for line in str(result.get(stream) or "").splitlines() if line.strip()]
        if lines:
            return "%s: %s" % (said, lines[-1].strip())
    return said
