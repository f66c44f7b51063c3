"""Offsets of the PyPI package `tokenizers`, which count characters, beside ours, which count bytes."""

import json
import unicodedata

import tokenizers


def without_trimming(data):
    """The library's tokenizer of a tokenizer.json; its post-processors only add tokens and trim spaces
    off offsets."""
    return tokenizers.Tokenizer.from_str(json.dumps(dict(data, post_processor=None)))


def character_starts(data):
    """By byte of data the number of the character of decode(errors="replace") it belongs to, and by
    character where it begins; both with the end."""
    owner, starts, at = [], [], 0
    for c in data.decode("utf-8", errors="replace"):
        size = len(c.encode())
        if data[at:at + size] != c.encode():  # replaced: the longest beginning of a character
            size = 1
            while (at + size < len(data) and size < 3
                   and data[at:at + size + 1].decode("utf-8", errors="replace") == "\ufffd"):
                size += 1
        starts.append(at)
        owner += [len(starts) - 1] * size
        at += size
    assert at == len(data), (data, at)
    return owner + [len(starts)], starts + [at]


def leans_back(character):
    """Whether a normalization may put it together with what is before it: marks, joiners, and the
    vowels and finals of Hangul."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] == "M" or first in "\u200c\u200d" or "\u1161" <= first <= "\u11ff"


def groups(text, forms):
    """By character the [begin, end) of what normalizers put together or change with it."""
    unicode_forms = [f.replace("Precompiled", "NFKC") for f in forms if f != "Nmt"]
    same = lambda a, b: all(unicodedata.normalize(f, a) == b for f in unicode_forms)
    result, begin = [], 0
    for at in range(1, len(text) + 1):
        # A table of characters takes a line break as one; Nmt drops control characters between others.
        if at < len(text) and (
                leans_back(text[at]) or ("Precompiled" in forms and text[at - 1:at + 1] == "\r\n")
                or ("Nmt" in forms and unicodedata.category(text[at]) == "Cc")
                or any(unicodedata.normalize(f, text[begin:at]) + unicodedata.normalize(f, text[at:at + 30])
                       != unicodedata.normalize(f, text[begin:at + 30]) for f in unicode_forms)):
            continue
        part = text[begin:at]
        whole = not same(part, part) or "\r\n" in part or ("Nmt" in forms and len(part) > 1)
        result += [(begin, at)] * (at - begin) if whole else [(i, i + 1) for i in range(begin, at)]
        begin = at
    return result


def spread_byte_runs(text, tokens, offsets):
    """A Unigram model lets every byte token of a run of unknown characters cover the run; ours cover
    their own character, as with BPE."""
    offsets, at = [tuple(o) for o in offsets], 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and offsets[end] == offsets[at] and len(tokens[end]) == 6 and \
                tokens[end].startswith("<0x"):
            end += 1
        begin, stop = offsets[at]
        owners = [i for i in range(begin, stop) for _ in text[i].encode()]
        if end - at == len(owners):
            offsets[at:end] = [(i, i + 1) for i in owners]
        at = max(end, at + 1)
    return offsets


def equal_offsets(data, ours, theirs, forms):
    """Ours are in bytes, theirs in characters. Where a normalizer puts characters together, ours
    cover all of them and theirs the first: both count as the whole group."""
    owner, starts = character_starts(data)
    text = data.decode("utf-8", errors="replace")
    mine = []
    for begin, end in ours:
        if begin != starts[owner[begin]] or end != starts[owner[end]]:
            return False  # no whole characters
        mine.append((owner[begin], owner[end]))
    theirs = [tuple(t) for t in theirs]
    if mine == theirs:
        return True
    if not forms or len(mine) != len(theirs):
        return False
    group = groups(text, forms)
    widen = lambda r: r if r[0] == r[1] else (group[r[0]][0], group[r[1] - 1][1])
    return all(widen(m) == widen(t) and m[0] <= t[0] and m[1] >= t[1] for m, t in zip(mine, theirs))


def forms_of(data):
    """The normalizers of a tokenizer.json that put characters together."""
    text = json.dumps(data["normalizer"])
    return [f for f in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled") if '"%s"' % f in text]
