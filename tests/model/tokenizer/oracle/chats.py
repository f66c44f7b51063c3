"""Compares the program's ids of random chats that quote control tokens with those of transformers.

    python3 chats.py TOOL [--cases N] [--seed S]

Each family of goldens/make_chat_goldens.py is tried with its added tokens' flags drawn at random.
"""

import argparse
import json
import os
import random
import sys
import tempfile

import differential

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens"))
import make_chat_goldens as chats  # noqa: E402


def compare(tool, family, cases):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(family.json, f, ensure_ascii=False)
        answers = differential.our_answers(
            tool, path, [(data, ranges, family.control_ids) for data, ranges, _ in cases])
    wrong = refused = 0
    for (data, ranges, ids), ours in zip(cases, answers):
        refused += ids is None
        if ids is not None and ours.get("ids") != ids:
            wrong += 1
            if wrong <= 5:
                spell = lambda ids: [family.library.id_to_token(i) for i in ids or []]
                print("DIFFERENT", ascii(data.decode()), ranges, "\n  ours  ",
                      spell(ours.get("ids")), ours.get("error", ""), "\n  theirs", spell(ids))
    return wrong, refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total = 0
    for name in chats.FAMILIES:
        rng = random.Random("%s %d" % (name, options.seed))
        flags = [tuple(rng.random() < 0.4 for _ in range(5)) for _ in range(12)]
        family = chats.Family(name, flags)
        cases = [family.case([family.content(rng) for _ in range(rng.randrange(1, 4))])
                 for _ in range(options.cases)]
        wrong, refused = compare(options.tool, family, cases)
        print("%s: %d chats, %d refused by transformers, %d differences" %
              (name, len(cases), refused, wrong))
        total += wrong
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
