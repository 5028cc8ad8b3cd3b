"""Stacks as the oracle's user looks at them: status, resources with their paths, servers that have booted, outputs."""
import time

import eventlet

from heat.db.sqlalchemy import api as db_api

LOOK = 0.05      # seconds between two looks at the database
DEPTH = 5        # nested stacks, heat.conf's max_nested_stack_depth


class Stacks:
    """A view on all stacks of an engine. A stack is named by its identity, as the engine's RPC has it."""

    def __init__(self, engine):
        self.engine = engine
        self._project = {}

    def add(self, ident, project):
        self._project[ident['stack_id']] = project
        return dict(ident)

    def context(self, ident):
        return self.engine.identity.context(self._project.get(ident['stack_id']))

    def status(self, ident):
        row = db_api.stack_get(self.context(ident), ident['stack_id'], show_deleted=True)
        return {'action': row.action, 'status': row.status, 'reason': row.status_reason or ''}

    def wait(self, ident, seconds):
        """Returns once the stack's last action has ended, one way or the other, or after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            now = self.status(ident)
            if now['status'] != 'IN_PROGRESS' or time.monotonic() > end:
                return now
            eventlet.sleep(LOOK)

    def resources(self, ident):
        """Every resource of the stack and of the stacks in it, with its path: names joined by slashes."""
        found = []
        for res in self._nested(self.context(ident), ident):
            found.append(res)
            if res['type'] == 'OS::Heat::Stack' and res['id'] and res['action'] != 'DELETE':
                # made over Heat's own API: it is nested in no other
                inner = self.engine.client.identify_stack(self.context(ident), res['id'])
                self._project[inner['stack_id']] = self._project.get(ident['stack_id'])
                found += [dict(r, path=res['path'] + '/' + r['path']) for r in self.resources(inner)]
        return sorted(found, key=lambda r: r['path'])

    def _nested(self, context, ident):
        rows = self.engine.client.list_stack_resources(context, dict(ident), DEPTH)
        owner = {row['physical_resource_id']: row for row in rows if row['physical_resource_id']}

        def path(row):
            above = owner.get(row['stack_identity']['stack_id'])
            return (path(above) + '/' if above else '') + row['resource_name']

        return [{'path': path(row), 'name': row['resource_name'], 'type': row['resource_type'],
                 'id': row['physical_resource_id'] or '', 'action': row['resource_action'],
                 'status': row['resource_status'], 'reason': row['resource_status_reason'] or '', 'required_by': sorted(row['required_by'])}
                for row in rows]

    def servers(self, ident):
        """Servers of the stack that Nova was asked for, with what Heat had resolved for them by then."""
        found = []
        for res in self.resources(ident):
            record = self.engine.cloud.servers.get(res['id'])
            if record is None:
                continue
            packed = record['userdata']
            found.append({
                'name': res['name'], 'path': res['path'], 'id': record['id'], 'physical_name': record['name'],
                'user_data': getattr(packed, 'content', ''), 'nova_user_data': str(packed),
                'metadata': getattr(packed, 'metadata', None) or {}, 'nova_metadata': record['metadata'],
                'addresses': record['networks']})
        return found

    def outputs(self, ident):
        shown = self.engine.client.show_stack(self.context(ident), dict(ident), resolve_outputs=True)[0]
        return {o['output_key']: {'value': o.get('output_value'), 'error': o.get('output_error') or ''}
                for o in shown.get('outputs') or []}
