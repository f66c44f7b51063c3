"""Compares the program's tokenizers with the PyPI package on random texts.

    python3 differential.py TOOL TOKENIZER_JSON [--cases N] [--seed S]

TOOL is bazel-bin/tests/model/tokenizer/oracle/tokenizer_tool. Ids, offsets, decoded texts (with and
without special tokens) and streamed texts must be equal; every difference is printed and counted.
"""

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens"))
from offsets import equal_offsets, forms_of, spread_byte_runs, without_trimming  # noqa: E402

WORDS = """the of and hello World HELLO don't they're I'LL we've it's 'S 3.14 1234567 2024 C++ foo_bar
getElementById naïve café Straße ﬁn ﬀ İstanbul ΣΑΣ Привет мир 你好 世界 日本語 テスト 한국어 العربية हिन्दी
ไทย 👩‍👩‍👧‍👦 👍🏽 🇩🇪 e\u0301 a\u0308\u0323 \u1100\u1161\u11a8 ½ Ⅷ ² ① ... --- != == => \u2581 \u2581x <s> </s>
<|im_start|> <|im_end|> <|endoftext|> <think> [INST] <0x0A> <unk> \u00a0 \u3000 \u200b \u200d \ufeff \u0085
\u2028 \u180e \x00 \x7f \x1c K ſ 's 'ſ 't 'll""".split()
SPACES = [" ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", " \n ", "\u00a0", "\u3000", "", "", ""]
BLOCKS = [(0x20, 0x7F), (0, 0x20), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700),
          (0x900, 0xE00), (0x1100, 0x1200), (0x1E00, 0x2070), (0x2070, 0x2C00), (0x3000, 0x3200),
          (0x4E00, 0x5000), (0xAC00, 0xAE00), (0xF900, 0xFB10), (0xFE00, 0x10000),
          (0x10400, 0x10450), (0x1D400, 0x1D500), (0x1F300, 0x1FA00), (0x20000, 0x20100)]


def is_old(character):
    """Assigned in the Unicode version of every library here; later ones differ for good reason.

    U+0C3C came with Unicode 14, which the package's normalization does not know.
    """
    return unicodedata.category(character) not in ("Cn", "Cs") and character != "\u0c3c"


def character(rng):
    while True:
        begin, end = rng.choice(BLOCKS)
        candidate = chr(rng.randrange(begin, end))
        if is_old(candidate):
            return candidate


def text(rng):
    parts = []
    for _ in range(rng.choice([0, 1, 2, 3, 5, 10, 30])):
        kind = rng.random()
        if kind < 0.5:
            parts.append(rng.choice(WORDS))
        elif kind < 0.8:
            parts.append("".join(character(rng) for _ in range(rng.randrange(1, 6))))
        else:
            parts.append(rng.choice("abcxyz019 .\n") * rng.randrange(1, 80))
        parts.append(rng.choice(SPACES))
    return "".join(parts)


def case(rng):
    data = text(rng).encode()
    if rng.random() < 0.1 and data:
        data = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = bytes(data)
    # What became of broken bytes may be a character of a later Unicode.
    decoded = data.decode("utf-8", errors="replace")
    return data if all(is_old(c) for c in decoded) else b""


def our_answers(tool, tokenizer, cases, words=()):
    """What the tool answers for cases: bytes, or (bytes, quoted ranges, control ids)."""
    with tempfile.NamedTemporaryFile(delete=False) as f:
        for one in cases:
            data, ranges, control = one if isinstance(one, tuple) else (one, [], [])
            numbers = [len(ranges)] + [n for r in ranges for n in r] + [len(control)] + list(control)
            f.write(struct.pack("<I", len(data)) + data + struct.pack("<%dI" % len(numbers), *numbers))
    command = [tool, tokenizer, f.name] + list(words)
    lines = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    os.unlink(f.name)
    assert len(lines) == len(cases), (len(lines), len(cases))
    return [json.loads(line) for line in lines]


DROPPED = {}


def drops(library, character):
    """Whether a table of characters drops it. Then the package's offsets may be one character off."""
    if character not in DROPPED:
        DROPPED[character] = not library.normalizer.normalize_str(character)
    return DROPPED[character]


def explain(library, data, ours, theirs):
    """The place where two answers part."""
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    around = slice(max(0, same - 4), same + 6)
    if isinstance(ours, str):
        return ascii((ours[around], theirs[around]))
    spell = lambda ids: [library.id_to_token(i) for i in ids[around]]
    decoded = data.decode("utf-8", errors="replace")
    before = len(library.decode(theirs[:same], skip_special_tokens=False))
    return "ours %s theirs %s near %s" % (spell(ours), spell(theirs),
                                          ascii(decoded[max(0, before - 10):before + 15]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("tokenizer")
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--not-special", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    cases = [case(rng) for _ in range(options.cases)]
    with open(options.tokenizer, encoding="utf-8") as f:
        data = json.load(f)
    library = without_trimming(data)
    if options.not_special:
        library.encode_special_tokens = True
    answers = our_answers(options.tool, options.tokenizer, cases,
                          ["not_special"] if options.not_special else [])
    forms = forms_of(data)
    wrong = 0
    for data, ours in zip(cases, answers):
        encoding = library.encode(data.decode("utf-8", errors="replace"), add_special_tokens=False)
        ids = encoding.ids
        theirs = {"ids": ids, "text": library.decode(ids),
                  "spelled": library.decode(ids, skip_special_tokens=False)}
        theirs["streamed"] = theirs["text"]
        for key, value in theirs.items():
            if ours.get(key) != value:
                wrong += 1
                if wrong <= 10:
                    print("DIFFERENT", key, explain(library, data, ours.get(key, []), value))
        offsets = spread_byte_runs(data.decode("utf-8", errors="replace"), encoding.tokens,
                                   encoding.offsets)
        if "Precompiled" in forms and any(drops(library, c) for c in set(data.decode(errors="replace"))):
            continue
        if ours.get("ids") == ids and not equal_offsets(data, ours["offsets"], offsets, forms):
            wrong += 1
            if wrong <= 10:
                print("DIFFERENT offsets", data, encoding.tokens, ours["offsets"], offsets)
    print("%s: %d cases, %d tokens, %d differences" %
          (options.tokenizer, len(cases), sum(len(a.get("ids", ())) for a in answers), wrong))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
