"""Renders a template as transformers does, for the scripts beside."""

import copy
import json
import subprocess

from transformers.utils.chat_template_utils import _compile_jinja_template


def render(template, variables):
    """{"text"} or {"error"} of transformers."""
    try:
        return {"text": _compile_jinja_template(template).render(**copy.deepcopy(variables))}
    except Exception as error:  # whatever a template can raise
        return {"error": f"{type(error).__name__}: {error}"}


def render_all(tool, cases):
    """The answers of our interpreter, through the program jinja_tool."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([tool], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def differs(expected, got):
    """Errors only have to be errors; texts are equal to the byte."""
    return expected.get("text") != got.get("text")
