"""Requests and replies as JSON lines; each request is a green thread of its own."""
import json
import os
import traceback

import eventlet
from eventlet import queue


def serve(oracle, source, sink):
    """Answers until the requests end. A request's `op` names one of the oracle's `operations`.

    `source` and `sink` are descriptors. Only one green thread reads, and only one writes: while a write waits for room in
    a pipe, others run, and what they would write into the same stream meanwhile is refused by Python and lost."""
    requests, replies = os.fdopen(source, 'r'), os.fdopen(sink, 'w')     # green: they let others run while they wait
    waiting = queue.Queue()

    def write():
        while True:
            replies.write(waiting.get())
            replies.flush()

    def reply(**message):
        waiting.put(json.dumps(message, default=str) + '\n')

    def answer(number, op, arguments):
        try:
            reply(id=number, result=oracle.operations[op](**arguments))
        except Exception as error:
            traceback.print_exc()
            reply(id=number, error='%s: %s' % (type(error).__name__, error))

    eventlet.spawn_n(write)
    reply(event='ready', **oracle.endpoints())
    for line in iter(requests.readline, ''):
        request = json.loads(line)
        eventlet.spawn_n(answer, request.pop('id'), request.pop('op'), request)
