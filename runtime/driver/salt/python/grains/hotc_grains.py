"""Loaded first by Salt: before any pillar is compiled and any SLS is rendered.

It connects the run to hotc's agent (hotc_salt) and adds no grain. Salt ignores a failing
grains module; so an error is kept for modules/hotc.py, which starts the run, to raise.
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
