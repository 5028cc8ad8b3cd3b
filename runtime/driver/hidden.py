"""Secrets, in the forms in which a tool written in Python prints them."""
import json

SHORTEST = 4  # as in the agent: to hide every "1" would hide nothing
HIDDEN = "(secret)"


class Secrets:
    def __init__(self):
        self.texts = []

    def add(self, value):
        if isinstance(value, dict):
            for one in value.values():
                self.add(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
                self.add(one)
        elif isinstance(value, str):
            for text in [value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]] + value.splitlines():
                self.add_text(text.strip())
        elif value is not None and not isinstance(value, bool):
            self.add_text(str(value))

    def add_text(self, text):
        if len(text) >= SHORTEST and text not in self.texts:
            self.texts.append(text)
            self.texts.sort(key=len, reverse=True)

    def hide(self, text):
        """A text without them."""
        for secret in self.texts:
            text = text.replace(secret, HIDDEN)
        return text
