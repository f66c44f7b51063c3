"""Compares `horizon tokenize --ids` with the PyPI package over rendered chats, special tokens included.

    python3 rendered_chats.py HORIZON FOLDER

FOLDER is that of tests/model/chat/oracle/compare_templates.py, which leaves rendered.jsonl there. For each
of its tokenizers all chats are tokenised as one file, and a few of them as files of their own.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

ALONE = 4  # chats of each tokenizer that are files of their own


def our_ids(horizon, folder, text):
    with tempfile.NamedTemporaryFile(suffix=".txt") as f:
        f.write(text.encode())
        f.flush()
        command = [horizon, "tokenize", f.name, "--model", folder, "--ids"]
        done = subprocess.run(command, check=True, capture_output=True)
    return [int(i) for i in done.stdout.split()]


def main(horizon, folder):
    chats = collections.defaultdict(list)
    with open(os.path.join(folder, "rendered.jsonl"), encoding="utf-8") as f:
        for line in f:
            chat = json.loads(line)
            chats[chat["tokenizer"]].append(chat["text"])
    files = tokens = wrong = 0
    for tokenizer, texts in sorted(chats.items()):
        library = Tokenizer.from_file(os.path.join(tokenizer, "tokenizer.json"))
        for text in [t for t in texts if t][:ALONE] + ["".join(texts)]:
            theirs = library.encode(text, add_special_tokens=False).ids
            ours = our_ids(horizon, tokenizer, text)
            files += 1
            tokens += len(theirs)
            wrong += ours != theirs
            if ours != theirs and wrong <= 5:
                at = next(i for i in range(len(theirs) + 1) if ours[i:i + 1] != theirs[i:i + 1])
                spell = lambda ids: [library.id_to_token(i) for i in ids[max(0, at - 4):at + 6]]
                print("DIFFERENT", tokenizer, at, "ours", spell(ours), "theirs", spell(theirs))
    print("%d tokenizers, %d files, %d tokens, %d differences" % (len(chats), files, tokens, wrong))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
