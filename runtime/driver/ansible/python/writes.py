"""Publishes the declared outputs: variables when set, resources (tasks and handlers) when
they have succeeded.

A cell is written once. So a variable set by set_fact, register, include_vars or a module's
facts is published at once only if nothing that may follow sets it again: no later task, no
rescue, no handler, no later play. Otherwise it waits until those have run or been skipped.
The content of includes is not known in advance. Variables that are not set while the
playbook runs (of plays, role defaults, group files) are published at its end.
"""
from ansible import constants
from ansible.errors import AnsibleError
from ansible.executor.play_iterator import PlayIterator
from ansible.executor.task_queue_manager import TaskQueueManager
from ansible.playbook import Playbook
from ansible.plugins.strategy import StrategyBase
from ansible.template import Templar
from ansible.vars.manager import VariableManager
from jinja2.runtime import Undefined

from agent import Failure
from hotc_client import NOTHING, at, plain


class Output:
    def __init__(self, declared):
        self.name = declared["name"]
        self.path = declared.get("path")
        self.resource = declared.get("resource")
        self.type = declared.get("type", "")
        self.secret = declared.get("secret", False)
        self.value = NOTHING
        self.published = NOTHING

    def is_written_by(self, task):
        if self.resource is not None:
            return self.resource in names_of(task)
        return self.path[0] in variables_of(task)

    def part(self, value):
        """The output's part of a variable's value; NOTHING if missing."""
        found = at(value, self.path[1:])
        return NOTHING if isinstance(found, Undefined) else plain(found)


def names_of(task):
    """A task's names: as written, with its role, and what a handler listens to."""
    listen = getattr(task, "listen", None) or []
    return [task.name, task.get_name()] + ([listen] if isinstance(listen, str) else list(listen))


def variables_of(task):
    names = list(task.args) if task.action in constants._ACTION_SET_FACT and isinstance(task.args, dict) else []
    return names + [task.register] if task.register else names


def tasks_in(blocks):
    """All tasks of blocks, in their possible order."""
    for one in blocks:
        if hasattr(one, "rescue"):
            for part in (one.block, one.rescue, one.always):
                yield from tasks_in(part)
        else:
            yield one


class Outputs:
    def __init__(self, client, mask, config):
        self.client, self.mask = client, mask
        self.host, self.groups = config["host"], config["groups"]
        self.all = [Output(d) for d in config["outputs"]]
        self.plays = []  # of the current playbook
        self.later = []  # outputs that later plays may write
        self.order, self.position, self.handlers = [], -1, {}
        self.batch = None
        self.void = set()  # variables registered by a task that failed or was skipped
        self.ran = []  # plays for this host, with their variable managers

    def install(self):
        outputs = self

        def after(owner, name, then):
            original = getattr(owner, name)

            def wrapped(self, *args, **kwargs):
                result = original(self, *args, **kwargs)
                then(self, result, *args, **kwargs)
                return result

            setattr(owner, name, wrapped)

        def before(owner, name, first):
            original = getattr(owner, name)

            def wrapped(self, *args, **kwargs):
                first(self, *args, **kwargs)
                return original(self, *args, **kwargs)

            setattr(owner, name, wrapped)

        for name in ("set_nonpersistent_facts", "set_host_facts"):
            after(VariableManager, name, lambda _, __, host, facts: outputs.changed(host, facts))
        after(VariableManager, "set_host_variable", lambda _, __, host, name, value: outputs.changed(host, {name: value}))
        after(Playbook, "get_plays", lambda _, plays: setattr(outputs, "plays", list(plays)))
        after(PlayIterator, "__init__", outputs.begin_play)
        after(PlayIterator, "add_tasks", lambda _, __, host, blocks: outputs.included(blocks))
        before(StrategyBase, "_queue_task", lambda _, host, task, *a, **k: outputs.queued(task))
        after(TaskQueueManager, "run", lambda tqm, _, play: outputs.end_play())
        process = StrategyBase._process_pending_results

        def processed(strategy, *args, **kwargs):
            outputs.batch = {}
            try:
                results = process(strategy, *args, **kwargs)
                batch = outputs.batch
            finally:
                outputs.batch = None
            outputs.finished(results, batch)
            return results

        StrategyBase._process_pending_results = processed

    def begin_play(self, iterator, _, inventory, play, play_context, variable_manager, *args, **kwargs):
        if self.host in [h.name for h in inventory.get_hosts(play.hosts)]:
            self.ran.append((play, variable_manager, inventory.get_host(self.host)))
        self.order, self.position = [(t._uuid, self.written_by(t)) for t in tasks_in(iterator._blocks)], -1
        self.handlers = {t._uuid: self.written_by(t) for t in tasks_in(play.handlers)}
        self.later = []
        for other in self.plays_after(play):
            try:
                if self.host not in [h.name for h in inventory.get_hosts(other.hosts)]:
                    continue
            except AnsibleError:
                pass  # only known when its turn has come
            other = other.copy()
            for task in tasks_in(other.compile() + other.handlers):
                self.later += self.written_by(task)

    def plays_after(self, play):
        for n, one in enumerate(self.plays):
            if one._ds is play._ds:
                return self.plays[n + 1:]
        return []

    def written_by(self, task):
        return [o for o in self.all if o.is_written_by(task)]

    def included(self, blocks):
        new = [(t._uuid, self.written_by(t)) for t in tasks_in(blocks)]
        self.order[self.position + 1:self.position + 1] = new

    def queued(self, task):
        """Everything before the task that is about to run is over."""
        for n, (uuid, _) in enumerate(self.order):
            if uuid == task._uuid:
                self.position = max(self.position, n - 1)
                self.publish_settled()
                return

    def changed(self, host, facts):
        if getattr(host, "name", host) != self.host:
            return
        if self.batch is not None:
            self.batch.update(facts)  # in a loop, the last value counts
            return
        self.take(facts)
        self.publish_settled()

    def take(self, facts):
        for o in self.all:
            if o.path and o.path[0] in facts:
                value = o.part(facts[o.path[0]])
                if value is not NOTHING:
                    o.value = value
                    self.void.discard(o.path[0])
                    if o.secret:
                        self.mask.add(value)

    def finished(self, results, batch):
        done = False
        for result in results:
            task = result._task
            failed = result.is_failed() or result.is_unreachable()
            if task.register and (result.is_skipped() or failed and not result._task_fields.get("ignore_errors")):
                batch.pop(task.register, None)
                self.void.add(task.register)
            if result._host.name == self.host and not failed and not result.is_skipped():
                for o in self.all:
                    if o.resource is not None and o.is_written_by(task):
                        o.value = True
            for n, (uuid, _) in enumerate(self.order):
                if uuid == task._uuid:
                    self.position = max(self.position, n)
            self.handlers.pop(task._uuid, None)
            done = True
        self.take(batch)
        if done:
            self.publish_settled()

    def publish_settled(self):
        waiting = [o for o in self.all if o.value is not o.published]
        if not waiting:
            return
        open_ones = list(self.later)
        for _, written in self.order[self.position + 1:]:
            open_ones += written
        for written in self.handlers.values():
            open_ones += written
        for o in waiting:
            if o not in open_ones:
                self.publish(o)

    def publish(self, o):
        if o.published is not NOTHING and o.published == o.value:
            o.published = o.value
            return
        self.client.put(o.name, o.value, o.type)
        o.published = o.value

    def end_play(self):
        self.order, self.handlers = [], {}
        self.publish_settled()

    def end(self, reasons):
        """Publishes the rest after success. Returns the exit status."""
        if not self.ran:
            reasons.last = 'no play targets this server, host "%s" in %s' % (
                self.host, "the groups " + ", ".join(self.groups) if self.groups else "no group: set `groups:` in the role's source")
            return 1
        try:
            self.later = []
            self.publish_settled()
            for o in self.all:
                if o.path and o.published is NOTHING and o.path[0] not in self.void:
                    self.find(o)
        except Failure as e:
            reasons.last = str(e.message)
            return 1
        return 0

    def find(self, o):
        """Looks up an output in the variables of the plays, last play first."""
        for play, manager, host in reversed(self.ran):
            variables = manager.get_vars(play=play, host=host)
            if o.path[0] not in variables:
                continue
            try:
                value = o.part(Templar(loader=manager._loader, variables=variables).template(variables[o.path[0]]))
            except Failure:
                raise
            except AnsibleError:
                continue  # it refers to something undefined
            if value is not NOTHING:
                o.value = value
                self.publish(o)
                return
