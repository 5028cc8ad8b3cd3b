"""Templates: Jinja, then YAML."""
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

from salt.exceptions import SaltRenderError
from salt.utils import yaml
from salt.utils.data import traverse_dict_and_list


class ImportYAML(jinja2.ext.Extension):
    """{% import_yaml 'file' as name %}"""

    tags = {"import_yaml"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        name = parser.parse_expression()
        parser.stream.expect("name:as")
        target = parser.parse_assign_target()
        return jinja2.nodes.Assign(target, self.call_method("load", [name]), lineno=line)

    def load(self, name):
        return yaml.safe_load(self.environment.get_template(name).render())


def environment(roots):
    loader = jinja2.FileSystemLoader(roots)
    env = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined, loader=loader, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", ImportYAML])
    env.filters["json"] = lambda value: json.dumps(value, sort_keys=True, ensure_ascii=False)
    env.filters["yaml_dquote"] = lambda text: yaml.safe_dump(str(text), default_style="\"", width=float("inf")).strip()
    env.filters["yaml"] = lambda value: yaml.safe_dump(value, default_flow_style=True).strip()
    env.filters["traverse"] = traverse_dict_and_list
    return env


def text_of(path, context, roots):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    env = environment(roots)
    env.globals.update(context)
    try:
        rendered = env.from_string(text).render(**context)
    except jinja2.exceptions.UndefinedError as e:
        raise SaltRenderError("Jinja variable %s" % e)
    except Exception as e:
        raise SaltRenderError("Jinja error: %s" % e)
    return rendered + "\n" if text.endswith("\n") else rendered


def yaml_of(path, context, roots):
    text = text_of(path, context, roots)
    try:
        return yaml.safe_load(text)
    except Exception as e:
        raise SaltRenderError("Rendering of YAML failed: %s" % e)
