"""The agent's side of a role for interceptors in Python, of its own library alone (3.6
and later): a line of JSON each way over the role's socket."""
import datetime
import json
import socket


class Failure(Exception):
    """The agent refused, or ends this role. It has its own books about why."""


class Client:
    """Asks over a connection for each question: one that is kept would be shared with
    the processes that a tool forks."""

    failure = Failure  # what is raised

    def __init__(self, path):
        self.path = path
        self.refused = ""  # what the agent said first

    def get(self, name):
        """Waits for an input's value."""
        return self.ask({"get": name}).get("value")

    def put(self, name, value, type):
        """Publishes an output's value. What a template or a command gives is mostly a
        text, whatever was meant: a text for another type is read as JSON, and a number
        for a string is written down."""
        if isinstance(value, str) and type in ("number", "boolean", "list"):
            self.ask({"put": name, "text": value})
            return
        if type == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        self.ask({"put": name, "value": value})

    def ask(self, question):
        line = json.dumps(question).encode("utf-8") + b"\n"
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.path)
                s.sendall(line)
                with s.makefile("rb") as answers:
                    text = answers.readline()
        except OSError as e:
            self.fail("the agent cannot be reached: %s" % e)
        if not text:
            self.fail("the agent has ended this role")
        answer = json.loads(text.decode("utf-8"))
        if answer.get("error"):
            self.fail(answer["error"])
        return answer

    def fail(self, message):
        self.refused = self.refused or "hotc: %s" % message
        raise self.failure("hotc: %s" % message)


NOTHING = object()
LONGEST = 300


class Input:
    """A declared input. Its value is asked for once in each process."""

    def __init__(self, client, declared):
        self.client, self.name, self.path = client, declared["name"], declared["path"]
        self.secret, self.optional = declared.get("secret", False), declared.get("optional", False)
        self.has_read = lambda: None  # what the mask has to know of secrets
        self.known = NOTHING

    def ask(self):
        if self.known is NOTHING:
            value = self.taken(self.client.get(self.name))
            self.has_read()  # before another thread can get it
            self.known = value
        return self.known

    def taken(self, value):
        """The value as the tool is given it."""
        return value


def tree_of(inputs):
    """Inputs by the keys of their paths: a dict for each key on the way."""
    top = {}
    for one in inputs:
        tree = top
        for key in one.path[:-1]:
            tree = tree.setdefault(key, {})
        tree[one.path[-1]] = one
    return top


def shorten(text):
    """A reason in one line, not too long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def at(value, path):
    """What lies at a path in a value; NOTHING if nothing does."""
    for key in path:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, (list, tuple)) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return NOTHING
    return value


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if value is NOTHING or value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)
