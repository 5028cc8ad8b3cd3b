"""Times reads in templates: bench.py INTERCEPTOR-FOLDER COUNT. Prints JSON: seconds a read."""
import json
import os
import sys
import time

folder, count = sys.argv[1], int(sys.argv[2])
sys.path.insert(0, folder)

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

TEXT = "{{ address }} is {{ name }}"


def timed(variables):
    """Seconds for each of count times that the template is evaluated."""
    templar = Templar(loader=DataLoader(), variables=variables)
    templar.template(TEXT)
    begin = time.perf_counter()
    for _ in range(count):
        templar.template(TEXT)
    return (time.perf_counter() - begin) / count


bare = timed({"address": "10.0.0.1", "name": "db"})

import agent
import reads

client = agent.Client(os.environ["HOTC_SOCKET"])
inputs = reads.Inputs(client, [{"name": "address", "path": ["address"]}], {})
inputs.install()
others = timed({"address": "10.0.0.1", "name": "db"})
node = reads.Node(inputs.trees["address"])
begin = time.perf_counter()
for _ in range(count):
    client.get("address")
asked = (time.perf_counter() - begin) / count
intercepted = timed({"address": node, "name": "db"})
print(json.dumps({"bare": bare, "others": others, "intercepted": intercepted, "asked": asked}))
