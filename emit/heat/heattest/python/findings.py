"""What Heat grumbles about without refusing: log warnings, Python's warnings, and uses of deprecated things.

Heat itself says nothing of deprecated resource types and properties in a template (only `openstack orchestration
resource type list` shows them), so they are looked up in the same support statuses."""
import logging
import threading
import warnings

from heat.engine import support

AILING = (support.DEPRECATED, support.UNSUPPORTED, support.HIDDEN)


def line_of(record):
    return '%s: %s' % (record.name, record.getMessage())


class Log(logging.Handler):
    """Everything that Heat has warned of since the oracle began."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []
        logging.getLogger('heat').addHandler(self)

    def emit(self, record):
        self.lines.append(line_of(record))


class Capture(logging.Handler):
    """Collects the warnings that the current (green) thread logs inside a `with`."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []
        self._thread = threading.get_ident()

    def emit(self, record):
        # how Heat calls its messaging library says nothing of the template (14.0.3 warns of it, 14.0.0 does not)
        if record.thread == self._thread and not record.name.startswith('oslo_messaging.'):
            self.lines.append(line_of(record))

    def __enter__(self):
        logging.getLogger().addHandler(self)
        self._python = warnings.catch_warnings(record=True)
        self._raised = self._python.__enter__()
        warnings.simplefilter('always')
        return self

    def __exit__(self, *exc):
        self._python.__exit__(*exc)
        logging.getLogger().removeHandler(self)
        # only what is said of the template: the libraries' own quarrels with their Python are not, nor what they had
        # left open and Python happens to find meanwhile
        self.lines += ['%s: %s' % (w.category.__name__, w.message) for w in self._raised
                       if '/heat/engine/' in w.filename and 'SADeprecation' not in w.category.__name__
                       and not issubclass(w.category, ResourceWarning)]


def deprecations(stack):
    """Deprecated resource types and properties that a parsed stack uses."""
    found = []
    for name, res in sorted(stack.items()):
        if res.support_status.status in AILING:
            found.append('%s: %s is %s. %s' % (name, res.type(), res.support_status.status,
                                              res.support_status.message or ''))
        for prop in sorted(res.t._properties or {}):
            schema = res.properties_schema.get(prop)
            status = getattr(getattr(schema, 'support_status', None), 'status', None)
            if status in AILING:
                found.append('%s: property %s is %s. %s' % (name, prop, status, schema.support_status.message or ''))
    return found
