"""Writes what transformers makes of the small templates in cases/, for golden_templates_test.

    python3 make_goldens.py OUTPUT.json [--tool jinja_tool]

With --tool nothing is written: the answers of our interpreter are compared instead.
"""

import argparse
import json
import pathlib

import reference

VARIABLES = {
    "name": "Ada",
    "empty": "",
    "text": "  Hello, World!\nSecond line\t",
    "unicode": "Grüße 你好 👍 ÀÉ ß ǆ",
    "quotes": "it's \"quoted\" \\ \n",
    "number": 42,
    "real": 2.5,
    "yes": True,
    "no": False,
    "nothing": None,
    "numbers": [3, 1, 2],
    "words": ["banana", "Apple", "cherry", "apple"],
    "nested": [[1, 2], [3, [4, 5]]],
    "mapping": {"b": 1, "a": "x", "C": None, "items": [1]},
    "people": [
        {"name": "Bob", "age": 30, "city": {"name": "Rome"}},
        {"name": "alice", "age": 25, "city": {"name": "Oslo"}},
        {"name": "Carl", "age": 30},
    ],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Hi <|im_end|> "},
        {"role": "assistant", "content": "Hello!\n", "tool_calls": []},
    ],
}


def read_cases(folder):
    """Expressions, one a line, and templates, with a line of "=====" between them."""
    cases = []
    for file in sorted(folder.glob("*.expressions")):
        for line in file.read_text().split("\n"):
            if line and not line.startswith("##"):
                cases.append("{{ " + line + " }}")
    for file in sorted(folder.glob("*.templates")):
        cases += file.read_text().split("\n=====\n")
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--tool")
    options = parser.parse_args()
    cases = read_cases(pathlib.Path(__file__).parent / "cases")
    expected = [reference.render(case, VARIABLES) for case in cases]
    if options.tool is None:
        rows = [{"template": case, **answer} for case, answer in zip(cases, expected)]
        text = json.dumps({"variables": VARIABLES, "cases": rows}, ensure_ascii=False, indent=1)
        pathlib.Path(options.output).write_text(text + "\n")
        print(len(cases), "cases")
        return
    answers = reference.render_all(
        options.tool, [{"template": case, "variables": VARIABLES} for case in cases]
    )
    different = 0
    for case, wanted, got in zip(cases, expected, answers):
        if reference.differs(wanted, got):
            different += 1
            print(json.dumps(case), "\n  expected", wanted, "\n  got     ", got)
    print(len(cases), "cases,", different, "different")


if __name__ == "__main__":
    main()
