#!/usr/bin/python3
"""Stock Heat as oracle of templates.

  oracle.py check TEMPLATE… [-e ENV]… [-P NAME=VALUE]…    would stock Heat accept these templates?
  oracle.py serve FOLDER [--address A] [--bed SOCKET --network CIDR] [--stock]
                                                         requests and replies, one JSON object a line

`serve` is what the Go package talks to: {"id": 1, "op": "validate", …} is answered, perhaps after the answers to later
requests, by {"id": 1, "result": …} or {"id": 1, "error": "…"}. It ends with its standard input."""
import argparse
import importlib.util
import json
import os
import shutil
import sys
import tempfile

PACKAGES = {'heat': 'python3-heat', 'heatclient': 'python3-heatclient', 'novaclient': 'python3-novaclient'}


def missing_packages():
    """Debian packages without which there is no oracle."""
    missing = [package for module, package in sorted(PACKAGES.items()) if importlib.util.find_spec(module) is None]
    return missing + ([] if os.path.isdir('/etc/heat/environment.d') else ['heat-common'])


def check(arguments):
    import handlers
    folder, accepted = tempfile.mkdtemp(prefix='oracle-'), True
    try:
        oracle = handlers.Oracle(folder)
        for template in arguments.template:
            verdict = oracle.validate(path=template, environments=arguments.environment,
                                     parameters=dict(p.split('=', 1) for p in arguments.parameter))
            accepted = accepted and verdict['accepted']
            print('%s: %s' % (template, 'accepted, %d resources' % len(verdict['resources'])
                              if verdict['accepted'] else 'REFUSED: ' + verdict['error']))
            for warning in verdict['warnings']:
                print('%s: warning: %s' % (template, warning))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if accepted else 1


def serve(arguments):
    folder = arguments.folder
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)           # whatever prints, does not print into the replies
    missing = missing_packages()
    if missing:
        os.write(replies, (json.dumps({'event': 'missing', 'packages': missing}) + '\n').encode())
        return 3
    import handlers
    import hypervisor
    import lines
    import stuck
    stuck.tell_on_signal()
    try:
        boots = hypervisor.Bed(arguments.bed, arguments.network) if arguments.bed else hypervisor.Nobody()
        lines.serve(handlers.Oracle(folder, arguments.address, boots, arguments.stock), requests, replies)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)         # no farewell: threads of unfinished stacks would have to be waited for


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    answers = commands.add_parser('serve')
    answers.add_argument('folder', help='for the database; removed at the end')
    answers.add_argument('--address', default='127.0.0.1', help='where the HTTP APIs listen (%(default)s)')
    answers.add_argument('--bed', metavar='SOCKET', help='where servers are booted')
    answers.add_argument('--stock', action='store_true', help="let Heat's own resource types validate; they cannot be made")
    answers.add_argument('--network', metavar='CIDR', help='of the servers that have no subnet')
    one = commands.add_parser('check')
    one.add_argument('template', nargs='+', metavar='TEMPLATE')
    one.add_argument('-e', '--environment', action='append', default=[], metavar='ENV')
    one.add_argument('-P', '--parameter', action='append', default=[], metavar='NAME=VALUE')
    arguments = parser.parse_args()
    if arguments.command == 'serve':
        return serve(arguments)
    missing = missing_packages()
    if missing:
        sys.exit('oracle.py: these Debian packages are missing: ' + ' '.join(missing))
    if not all('=' in p for p in arguments.parameter):
        parser.error('-P takes NAME=VALUE')
    return check(arguments)


if __name__ == '__main__':
    import eventlet
    eventlet.monkey_patch()      # as heat-engine does: operations on stacks are green threads
    status = main()
    sys.stdout.flush()
    os._exit(status)
