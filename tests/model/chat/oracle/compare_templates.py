"""Compares the program's chats with those of transformers, for every chat template that packages carry.

    python3 compare_templates.py FOLDER PROGRAM [--only TEXT] [--show N] [--write-goldens]

FOLDER has what find_templates.py found, and is filled by it if it is empty. PROGRAM is render_chats.
Prints the templates with differences, the exceptions, and the totals. Ends with 1 if a difference is no
exception.
"""

import argparse
import collections
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile

import exceptions
import find_templates
import judge
import small_tokenizers
from conversations import conversations

HERE = os.path.dirname(os.path.abspath(__file__))
Case = collections.namedtuple("Case", "row conversation prompt tokenizer record theirs")


def rows_of(folder, only):
    path = os.path.join(folder, "templates.json")
    if not os.path.exists(path):
        find_templates.main(folder)
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)
    return [row for row in rows if only in name_of(row)]


def name_of(row):
    return "%s %s %s %s" % (row["sha256"][:12], row["package"], row["path"], row["symbol"])


def cases_of(rows, folder):
    cases = []
    for row in rows:
        tokenizer = small_tokenizers.SmallTokenizer(row["text"], os.path.join(folder, "tokenizers"))
        for conversation, record in conversations(tokenizer.controls):
            for prompt in (False, True):
                theirs = judge.judge(row["text"], tokenizer.transformers, record, prompt,
                                     conversation == "quoted control tokens")
                cases.append(Case(row, conversation, prompt, tokenizer, record, theirs))
    return cases


def training_rows(rows):
    """Pairs of a template without {% generation %} and trl's template for training of the same name."""
    trl = {row["path"]: row for row in rows if row["package"] == "trl"}
    for path, row in trl.items():
        training = trl.get(path.replace(".jinja", "_training.jinja"))
        if training and not judge.has_generation(row["text"]):
            yield row, training


def training_cases(rows, folder):
    """The second judge: the mask of trl's template for training, where it renders the same text."""
    cases = []
    for row, training in training_rows(rows):
        if judge.has_generation(training["text"]) != "plain":
            continue
        tokenizer = small_tokenizers.SmallTokenizer(row["text"], os.path.join(folder, "tokenizers"))
        for conversation, record in conversations(tokenizer.controls):
            if conversation == "quoted control tokens":
                continue
            for prompt in (False, True):
                plain = judge.judge(row["text"], tokenizer.transformers, record, prompt, False)
                theirs = judge.judge(training["text"], tokenizer.transformers, record, prompt, False)
                if "mask" in theirs and plain.get("text") == theirs["text"]:
                    cases.append(Case(row, conversation, prompt, tokenizer, record, theirs))
    return cases


def our_answers(program, cases):
    with tempfile.TemporaryFile("w+", encoding="utf-8") as questions:
        for case in cases:
            questions.write(json.dumps({
                "template": case.row["text"], "tokenizer": case.tokenizer.folder,
                "record": case.record, "add_generation_prompt": case.prompt, "arguments": {},
                "date": judge.NOW.strftime("%Y-%m-%d")}) + "\n")
        questions.flush()
        questions.seek(0)
        done = subprocess.run([program], stdin=questions, stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
    assert len(answers) == len(cases), (len(answers), len(cases))
    return answers


def compare(case, ours):
    """What was compared, by name, and whether it is equal."""
    theirs = case.theirs
    if "error" in theirs:
        return {"error": "error" in ours}
    result = {"text": ours.get("text") == theirs["text"]}
    if "ids" in theirs and result["text"]:
        result["ids"] = ours.get("ids") == theirs["ids"]
    if "mask" in theirs and result.get("ids") and not case.prompt:
        result["mask"] = [int(m) for m in ours["mask"]] == theirs["mask"]
    return result


def around(theirs, ours, width):
    """The part of each sequence where they begin to differ."""
    at = next((i for i, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1]),
              min(len(theirs), len(ours)))
    place = slice(max(0, at - width), at + width)
    return theirs[place], ours[place]


def marked(tokens, mask):
    return ["*" + token if trained else token for token, trained in zip(tokens, mask)]


def show(case, ours, what):
    print("  %s of '%s'%s" % (what, case.conversation, " with prompt" if case.prompt else ""))
    theirs, spell = case.theirs, case.tokenizer.transformers.convert_ids_to_tokens
    if what == "ids":
        pair = around(spell(theirs["ids"]), spell(ours.get("ids") or []), 12)
    elif what == "mask":
        tokens = spell(theirs["ids"])
        pair = around(marked(tokens, theirs["mask"]), marked(tokens, ours["mask"]), 12)
    elif "text" in theirs and "text" in ours:
        pair = around(theirs["text"], ours["text"], 60)
    else:
        pair = [(answer.get("text") or answer.get("error") or "")[:200] for answer in (theirs, ours)]
    print("    theirs %s\n    ours   %s" % tuple(
        ascii(p) if isinstance(p, str) else " ".join(p).replace("\n", "\\n") for p in pair))


def report(cases, answers, count, title):
    """Prints what differs; returns the number of differences that are no exception."""
    totals, equal, known = collections.Counter(), collections.Counter(), collections.Counter()
    wrong, shown, templates = 0, 0, {}
    for case, ours in zip(cases, answers):
        for what, same in compare(case, ours).items():
            totals[what] += 1
            equal[what] += same
            reason = None if same else exceptions.reason(what, case, ours)
            known[reason] += reason is not None
            differences = templates.setdefault(name_of(case.row), collections.Counter())
            if not same and reason is None:
                differences[what] += 1
                wrong += 1
                if shown < count:
                    shown += 1
                    print(name_of(case.row))
                    show(case, ours, what)
    print("\n%s: %d templates, %d cases" % (title, len(templates), len(cases)))
    for name, differences in templates.items():
        if differences:
            print("  %s: %s" % (name, ", ".join("%s %d" % d for d in sorted(differences.items()))))
    for what in ("text", "error", "ids", "mask"):
        print("  %-5s %6d compared, %6d equal" % (what, totals[what], equal[what]))
    for reason, number in known.items():
        if number:
            print("  exception: %d x %s" % (number, reason))
    print("  differences that are no exception: %d" % wrong)
    return wrong


def torn_masks(cases, answers):
    """Cases in which more stretches are trained than there are answers: markup of an answer is left out.
    A rule that holds for templates without a judge of masks, too."""
    looked_at, torn = 0, []
    for case, ours in zip(cases, answers):
        if case.prompt or "mask" not in ours:
            continue
        looked_at += 1
        pieces = sum(m and not before for before, m in zip([0] + ours["mask"], ours["mask"]))
        if pieces > sum(m["role"] == "assistant" for m in case.record["messages"]):
            torn.append("%s '%s'" % (name_of(case.row), case.conversation))
    print("\nanswers trained in one piece: %d cases, %d torn" % (looked_at, len(torn)))
    for name in torn[:30]:
        print("  " + name)


def write_rendered(cases, folder):
    """For tests/model/tokenizer/oracle/rendered_chats.py."""
    with open(os.path.join(folder, "rendered.jsonl"), "w", encoding="utf-8") as f:
        for case in cases:
            if case.theirs.get("text"):
                f.write(json.dumps({"tokenizer": case.tokenizer.folder, "text": case.theirs["text"]}) + "\n")


def short(value):
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
                          ).hexdigest()[:12]


def golden(theirs):
    if "error" in theirs:
        return "! " + theirs["error"].split("\n")[0][:60]
    return " ".join(short(theirs[key]) for key in ("text", "ids", "mask") if key in theirs)


def write_goldens(cases, folder):
    """manifest.json says where the templates are from, goldens.jsonl what transformers makes of them."""
    rows = {case.row["sha256"]: case.row for case in cases}
    versions = {name: importlib.metadata.version(name) for name in ("transformers", "tokenizers", "Jinja2")}
    with open(os.path.join(HERE, "manifest.json"), "w", encoding="utf-8") as f:
        lines = [json.dumps({k: v for k, v in row.items() if k != "text"}, ensure_ascii=False)
                 for row in rows.values()]
        f.write('{"versions": %s,\n"templates": [\n%s\n]}\n' % (json.dumps(versions), ",\n".join(lines)))
    by_row = collections.defaultdict(list)
    for case in cases:
        by_row[case.row["sha256"]].append(golden(case.theirs))
    kinds = {case.row["sha256"]: case.tokenizer.kind for case in cases}
    with open(os.path.join(HERE, "goldens.jsonl"), "w", encoding="utf-8") as f:
        for key, results in by_row.items():
            f.write(json.dumps({"template": key[:16], "tokenizer": kinds[key], "results": results},
                               ensure_ascii=False) + "\n")


def check_goldens(cases):
    """How many of transformers' results are not those that were written down."""
    path = os.path.join(HERE, "goldens.jsonl")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        written = {row["template"]: row["results"] for row in map(json.loads, f)}
    by_row = collections.defaultdict(list)
    for case in cases:
        by_row[case.row["sha256"][:16]].append(golden(case.theirs))
    changed = sum(written.get(key) != results for key, results in by_row.items())
    print("Templates whose results by transformers are not those of goldens.jsonl: %d" % changed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("program", nargs="?")
    parser.add_argument("--only", default="", help="templates whose name contains this")
    parser.add_argument("--show", type=int, default=5, help="differences to print in full")
    parser.add_argument("--write-goldens", action="store_true")
    options = parser.parse_args()
    rows = rows_of(options.folder, options.only)
    cases = cases_of(rows, options.folder)
    if options.write_goldens:
        write_goldens(cases, options.folder)
    check_goldens(cases)
    write_rendered(cases, options.folder)
    if options.program is None:
        return
    answers = our_answers(options.program, cases)
    wrong = report(cases, answers, options.show, "transformers")
    torn_masks(cases, answers)
    masks = training_cases(rows, options.folder)
    wrong += report(masks, our_answers(options.program, masks), options.show,
                    "masks of trl's templates for training, against ours of the plain ones")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
