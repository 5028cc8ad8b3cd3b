#!/usr/bin/env python3
"""Writes slurm.conf when every node has said where it is and what its key is."""
import json
import os
import subprocess


def get(name):
    return subprocess.run(['hotc-agent', 'get', name], check=True, stdout=subprocess.PIPE).stdout.decode()


nodes = json.loads(get('nodes'))
lines = ['ClusterName=%s' % os.environ['cluster'], 'SlurmctldHost=head(%s)' % get('address')]
for n in nodes:
    lines.append('NodeName=%s NodeAddr=%s # %s %s' % (n['name'], n['address'], n['id'], n['key']))
conf = '\n'.join(lines) + '\n'
with open('slurm.conf', 'w') as f:
    f.write(conf)
print(conf, end='')
with open(os.environ['heat_outputs_path'] + '.conf', 'w') as f:
    f.write(conf)
