__version__ = "3006.0"
