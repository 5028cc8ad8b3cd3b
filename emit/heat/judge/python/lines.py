"""Requests and replies as JSON lines; each request is a green thread of its own."""
import json
import traceback

import eventlet
from eventlet import tpool


def serve(judge, requests, replies):
    """Answers until the requests end. A request's `op` names one of the judge's `operations`."""
    def reply(**message):
        replies.write(json.dumps(message, default=str) + '\n')
        replies.flush()

    def answer(number, op, arguments):
        try:
            reply(id=number, result=judge.operations[op](**arguments))
        except Exception as error:
            traceback.print_exc()
            reply(id=number, error='%s: %s' % (type(error).__name__, error))

    reply(event='ready', **judge.endpoints())
    while True:
        line = tpool.execute(requests.readline)
        if not line:
            return
        request = json.loads(line)
        eventlet.spawn_n(answer, request.pop('id'), request.pop('op'), request)
