"""What Salt loads first: before any pillar is compiled and any SLS is rendered.

It ties the run to hotc's agent (hotc_salt) and adds no grain. Salt goes on without a
grains module that fails; so what is wrong is kept, and modules/hotc.py, by which the run
is started, ends it.
"""
import os
import sys

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def hotc():
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
    import hotc_salt

    hotc_salt.install(FOLDER)
    return {}
