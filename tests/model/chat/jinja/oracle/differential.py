"""Compares our interpreter with transformers on random templates.

    python3 differential.py JINJA_TOOL [--count 3000] [--seed 0]
"""

import argparse
import json
import random

import make_goldens
import reference

NAMES = ["name", "empty", "text", "unicode", "quotes", "number", "real", "yes", "nothing", "numbers",
         "words", "nested", "mapping", "people", "messages", "missing"]
CONSTANTS = ["0", "1", "2", "-1", "1.5", "'a'", "'é你'", "' x '", "''", "true", "none", "[]", "[1, 2]",
             "('a', 1)", "{'a': 1, 'b': [2]}", "'a,b,,c'", "1e20", "'A\\nb'"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in",
             "not in", "and", "or"]
METHODS = ["upper()", "lower()", "title()", "strip()", "split()", "split(',')", "replace('a', '<>')",
           "find('a')", "count('a')", "startswith('a')", "items()", "keys()", "get('a')", "a", "name",
           "0", "role", "capitalize()", "swapcase()", "splitlines()", "partition(',')", "join(words)",
           "isalpha()", "rsplit(',', 1)", "center(7)", "zfill(4)", "values()", "index('a')"]
FILTERS = ["upper", "lower", "title", "trim", "length", "first", "last", "list", "join(',')", "join",
           "string", "tojson", "tojson(indent=2)", "int", "float", "sort", "reverse", "reverse|list",
           "unique|list", "map('string')|list", "map(attribute='name')|list", "select|list",
           "reject|list", "default('d')", "default('d', true)", "abs", "round", "sum", "min", "max",
           "capitalize", "replace('a', 'bc')", "indent(2)", "truncate(5, true, '.', 0)", "wordcount",
           "items|list", "dictsort", "escape", "batch(2)|list", "slice(2)|list", "center(9)",
           "groupby(0)|list", "selectattr('name')|list|length", "urlencode", "striptags"]
TESTS = ["defined", "none", "string", "number", "mapping", "iterable", "sequence", "odd", "boolean",
         "integer", "float", "upper", "lower", "eq(1)", "in(words)", "callable", "true", "not none"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def expression(self, depth):
        pick = self.random.random
        choose = self.random.choice
        if depth <= 0 or pick() < 0.15:
            return choose(NAMES if pick() < 0.6 else CONSTANTS)
        inner = lambda: self.expression(depth - 1)
        kind = self.random.randrange(10)
        if kind <= 1:
            return f"({inner()} {choose(OPERATORS)} {inner()})"
        if kind == 2:
            return f"({inner()}).{choose(METHODS)}"
        if kind <= 5:
            return f"({inner()})|{choose(FILTERS)}"
        if kind == 6:
            return f"({inner()} is {choose(TESTS)})"
        if kind == 7:
            return f"({inner()})[{choose(['0', '-1', '1:', ':-1', '::-1', '::2', inner()])}]"
        if kind == 8:
            return f"({inner()} if {inner()} else {inner()})"
        return choose([f"[{inner()}, {inner()}]", f"{{'k': {inner()}}}", f"not {inner()}",
                       f"'%s|%r' % ({inner()}, {inner()})", f"'{{}}'.format({inner()})"])

    def template(self, depth):
        choose = self.random.choice
        space = lambda: choose(["", " ", "\n", "  \n", " \n ", "x", "\t"])
        sign = lambda: choose(["", "", "", "-", "+"])
        end = lambda: choose(["", "", "", "-", "+"])
        value = lambda: self.expression(self.random.randrange(3))
        out = space()
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.randrange(8 if depth > 0 else 3)
            if kind <= 2:
                out += "{{" + choose(["", "-"]) + " " + value() + " " + choose(["", "-"]) + "}}"
            elif kind == 3:
                out += "{%" + sign() + " if " + value() + " " + end() + "%}" + self.template(depth - 1)
                if choose([True, False]):
                    out += "{%" + sign() + " else " + end() + "%}" + self.template(depth - 1)
                out += "{%" + sign() + " endif " + end() + "%}"
            elif kind == 4:
                target = choose(["i", "x", "name"])
                out += "{%" + sign() + f" for {target} in " + value() + " " + end() + "%}"
                out += choose(["", "{{ loop.index }}", "{{ x }}"]) + self.template(depth - 1)
                out += "{%" + sign() + " endfor " + end() + "%}"
            elif kind == 5:
                out += "{%" + sign() + " set " + choose(["x", "name"]) + " = " + value() + end() + "%}"
            elif kind == 6:
                out += "{% set x %}" + self.template(depth - 1) + "{%" + sign() + " endset %}{{ x }}"
            else:
                out += "{% macro m(x=1) " + end() + "%}" + self.template(depth - 1) + "{% endmacro %}"
                out += "{{ m(" + value() + ") }}"
            out += space()
        return out


def is_comparable(expected):
    """Addresses, and integers beyond 64 bits, differ by intention."""
    text = expected.get("text", "")
    return " at 0x" not in text and "Markup(" not in text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator = Generator(options.seed)
    cases = []
    for number in range(options.count):
        cases.append("{{ " + generator.expression(3) + " }}" if number % 2 else generator.template(2))
    variables = make_goldens.VARIABLES
    answers = reference.render_all(
        options.tool, [{"template": case, "variables": variables} for case in cases])
    different = 0
    rendered = 0
    for case, got in zip(cases, answers):
        expected = reference.render(case, variables)
        rendered += "text" in expected
        if is_comparable(expected) and reference.differs(expected, got):
            different += 1
            print(json.dumps(case), "\n  expected", expected, "\n  got     ", got)
    print(options.count, "cases,", rendered, "rendered,", different, "different")


if __name__ == "__main__":
    main()
