#!/usr/bin/env python3
"""Writes a value of every kind."""
import json
import os

VALUES = {
    'quotes': 'it\'s "quoted" \\ and $escaped `here`',
    'lines': 'one\ntwo\n\n  three\n',
    'unicode': 'Zürich € 漢字 \U0001f600',
    'empty': '',
    'list': [1, 'two', [3.5, None], {'k': False}],
    'map': {'a': ['x', 'the inner one'], 'ü': {'n': None}, 'get_attr': ['not', 'a call']},
    'no': False,
    'nothing': None,
    'number': 12345678901234567890,
    'large': 'x' * 200000,
}

for name, value in VALUES.items():
    with open('%s.%s' % (os.environ['heat_outputs_path'], name), 'w', encoding='utf-8') as f:
        f.write(value if isinstance(value, str) and name != 'nothing' else json.dumps(value))
