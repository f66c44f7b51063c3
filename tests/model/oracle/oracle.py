#!/usr/bin/env python3
"""An independent judge of safetensors files: the rules of model/files/safetensors_header.h in plain Python.

Written from the rules alone; shares nothing with model/ and needs no package.

    oracle.py TOOL FOLDER                 compares with `TOOL verdicts FOLDER`, file by file
    oracle.py TOOL FOLDER --mutations N   also N random changes of the files (seeded)
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}
MOST = 2**64 - 1  # the checked count keeps this one for "does not fit"
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(.))', re.DOTALL)
COUNT = re.compile(r"(?:0|[1-9][0-9]*)(?![0-9.eE+-])")
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Refused(Exception):
    pass


def need(condition, reason):
    if not condition:
        raise Refused(reason)


class Text:
    """The header's JSON, read left to right for exactly the grammar the format allows."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def space(self):
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1

    def take(self, mark):
        self.space()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def must(self, mark):
        need(self.take(mark), f"{mark!r} expected at {self.at}")

    def match(self, pattern, what):
        self.space()
        match = pattern.match(self.text, self.at)
        need(match, f"{what} expected at {self.at}")
        self.at = match.end()
        return match.group(0)

    def string(self):
        raw = self.match(STRING, "string")[1:-1]
        units = ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else SHORT[m[2]], raw)
        try:  # escaped surrogates must come in pairs
            return units.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise Refused("lone surrogate") from None

    def count(self):
        value = int(self.match(COUNT, "whole number"))
        need(value < 2**63, "number too large")
        return value

    def list_of(self, close, item):
        if self.take(close):
            return
        while True:
            item()
            if self.take(close):
                return
            self.must(",")

    def counts(self):
        values = []
        self.must("[")
        self.list_of("]", lambda: values.append(self.count()))
        return values

    def members(self, member):
        """An object: member(key) reads the value; keys are unique."""
        seen = set()

        def one():
            key = self.string()
            need(key not in seen, f"{key!r} twice")
            seen.add(key)
            self.must(":")
            member(key)

        self.must("{")
        self.list_of("}", one)
        return seen


def read_tensor(text):
    fields = {}

    def field(key):
        need(key in ("dtype", "shape", "data_offsets"), f"unknown key {key!r}")
        fields[key] = text.string() if key == "dtype" else text.counts()

    text.members(field)
    need(len(fields) == 3, "key missing")
    need(fields["dtype"] in BITS, "unknown dtype")
    need(len(fields["data_offsets"]) == 2, "two offsets needed")
    return fields["dtype"], fields["shape"], *fields["data_offsets"]


def check_tensor(dtype, shape, begin, end, data_bytes):
    elements = 1
    for dimension in shape:
        elements *= dimension
        need(elements < MOST, "elements wrap")
    bits = elements * BITS[dtype]
    need(bits < MOST, "bits wrap")
    need(bits % 8 == 0, "half bytes")
    need(begin <= end and (end - begin) * 8 == bits, "range is not the shape")
    need(end <= data_bytes, "past the end")


def judge(data):
    """(metadata, tensors sorted by (begin, end, name)) of a whole file, or Refused."""
    need(len(data) >= 8, "too short")
    length = int.from_bytes(data[:8], "little")
    need(1 <= length <= 100_000_000, "length")
    need(length <= len(data) - 8, "length past the file")
    data_bytes = len(data) - 8 - length
    try:
        header = data[8 : 8 + length].decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("not UTF-8") from None
    need(header[0] == "{", "first byte")
    header = header.rstrip(" ")
    need(header[-1] == "}", "last byte")

    metadata, tensors, text = {}, [], Text(header)

    def entry(name):
        if name == "__metadata__":
            text.members(lambda key: metadata.__setitem__(key, text.string()))
            return
        tensors.append((name, *read_tensor(text)))
        check_tensor(*tensors[-1][1:], data_bytes)
        need(len(tensors) <= 1_000_000, "too many")

    text.members(entry)
    need(text.at == len(header), "text behind")
    tensors.sort(key=lambda t: (t[3], t[4], t[0].encode()))
    covered = 0
    for tensor in tensors:
        need(tensor[3] == covered, "hole or overlap")
        covered = tensor[4]
    need(covered == data_bytes, "rest")
    return metadata, tensors


def compare(tool, folder):
    """Prints every disagreement; returns (files, accepted, disagreements)."""
    # Split at newlines only: names may hold U+0085 and other things Python takes for line ends.
    output = subprocess.run([tool, "verdicts", folder], check=True, capture_output=True).stdout
    files = accepted = wrong = 0
    for line in output.decode().split("\n"):
        if not line:
            continue
        ours = json.loads(line)
        with open(os.path.join(folder, ours["file"]), "rb") as file:
            data = file.read()
        try:
            metadata, tensors = judge(data)
            theirs = {"accepted": True, "metadata": metadata, "tensors": [list(t) for t in tensors]}
        except Refused as refused:
            theirs = {"accepted": False, "reason": str(refused)}
        files += 1
        accepted += theirs["accepted"]
        same = ours["accepted"] == theirs["accepted"] and (
            not ours["accepted"]
            or (ours["metadata"] == theirs["metadata"] and ours["tensors"] == theirs["tensors"]))
        if not same:
            wrong += 1
            print(f"{ours['file']}\n  tool:   {str(ours)[:300]}\n  oracle: {str(theirs)[:300]}")
    return files, accepted, wrong


PIECES = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"0", b"1", b"-", b"e", b".",
          b"\\u0061", b"\xff", b"\xc3\xa9", b"\n", b"18446744073709551616", b"null", b"true",
          b'"dtype"', b'"F4"', b'"__metadata__"', b"9223372036854775807"]


def mutate(data, random_):
    """One to three changes of the header or the data; the length follows the header, mostly."""
    length = int.from_bytes(data[:8], "little") if len(data) >= 8 else 0
    header, rest = bytearray(data[8 : 8 + length]), bytearray(data[8 + length :])
    for _ in range(random_.randint(1, 3)):
        at = random_.randint(0, len(header))
        kind = random_.randrange(5)
        if kind == 0 and at < len(header):
            header[at] = random_.randrange(256)
        elif kind == 1:
            header[at:at] = random_.choice(PIECES)
        elif kind == 2:
            del header[at : at + random_.randint(1, 4)]
        elif kind == 3:
            end = min(len(header), at + random_.randint(1, 60))
            to = random_.randint(0, len(header))
            header[to:to] = header[at:end]
        else:
            del rest[-random_.randint(1, 4):]
            rest += bytes(random_.randint(0, 8))
    stated = len(header) + (random_.choice([-1, 1]) if random_.random() < 0.05 else 0)
    return max(0, stated).to_bytes(8, "little") + bytes(header) + bytes(rest)


def compare_mutations(tool, folder, count):
    random_ = random.Random(1)
    seeds = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if len(data) <= 4096:
            # Accepted ones change into both kinds, refused ones mostly stay refused.
            seeds += [data] * (10 if name.startswith("accept_") else 1)
    total = [0, 0, 0]
    with tempfile.TemporaryDirectory() as scratch:
        for batch in range(0, count, 5000):
            for i in range(min(5000, count - batch)):
                with open(os.path.join(scratch, f"{i:05}"), "wb") as file:
                    file.write(mutate(random_.choice(seeds), random_))
            total = [a + b for a, b in zip(total, compare(tool, scratch))]
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("folder")
    parser.add_argument("--mutations", type=int, default=0)
    arguments = parser.parse_args()
    results = [("hand-made files", compare(arguments.tool, arguments.folder))]
    if arguments.mutations:
        results.append(("mutations", compare_mutations(
            arguments.tool, arguments.folder, arguments.mutations)))
    for what, (files, accepted, wrong) in results:
        print(f"{what}: {files} judged, {accepted} accepted, {wrong} disagreements")
    return 1 if any(result[2] for _, result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
