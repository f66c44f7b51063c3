#!/usr/bin/env python3
"""Compares model/ with the public safetensors library (pip install safetensors numpy).

    check_with_safetensors.py TOOL FOLDER

1. Every file of FOLDER that `TOOL verdicts` accepts, the library accepts, with the same tensors.
2. A copy of it written by `TOOL copy` gives the library the same tensors and bytes.
3. Files written by the library are accepted, and come back from `TOOL copy` byte for byte.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy


def read(path):
    with open(path, "rb") as file:
        return file.read()


def by_library(path):
    """{name: (dtype, shape, bytes)} of a file."""
    return {name: (view["dtype"], list(view["shape"]), bytes(view["data"]))
            for name, view in safetensors.deserialize(read(path))}


def verdicts(tool, folder):
    output = subprocess.run([tool, "verdicts", folder], check=True, capture_output=True).stdout
    return [json.loads(line) for line in output.decode().split("\n") if line]


def copy(tool, path):
    with tempfile.TemporaryDirectory() as scratch:
        to = os.path.join(scratch, "copy.safetensors")
        subprocess.run([tool, "copy", path, to], check=True)
        return by_library(to), len(read(to))


def check_accepted(tool, folder):
    accepted = stricter = 0
    for verdict in verdicts(tool, folder):
        path = os.path.join(folder, verdict["file"])
        if not verdict["accepted"]:
            try:
                by_library(path)
                stricter += 1
            except safetensors.SafetensorError:
                pass
            continue
        accepted += 1
        data = read(path)
        start = 8 + int.from_bytes(data[:8], "little")
        ours = {name: (dtype, shape, data[start + begin : start + end])
                for name, dtype, shape, begin, end in verdict["tensors"]}
        theirs = by_library(path)  # raises where the library refuses
        assert ours == theirs, verdict["file"]
        assert copy(tool, path)[0] == theirs, verdict["file"]
    return accepted, stricter


def check_written(tool, files):
    random = numpy.random.default_rng(1)
    dtypes = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64",
              "uint32", "uint16", "uint8", "bool", "complex64"]
    with tempfile.TemporaryDirectory() as folder:
        for i in range(files):
            tensors = {}
            for j in range(random.integers(0, 8)):
                shape = random.integers(0, 5, size=random.integers(0, 5))
                dtype = numpy.dtype(str(random.choice(dtypes)))
                count = int(numpy.prod(shape, dtype=int))
                raw = random.integers(0, 256, size=count * dtype.itemsize, dtype=numpy.uint8)
                if dtype == bool:
                    raw &= 1
                tensors[f"tensor {j} \u20ac"] = raw.view(dtype).reshape(shape)
            metadata = {"format": "np"} if random.integers(2) else None
            safetensors.numpy.save_file(tensors, os.path.join(folder, f"{i:04}"), metadata)
        for verdict in verdicts(tool, folder):
            assert verdict["accepted"], verdict
            path = os.path.join(folder, verdict["file"])
            copied, size = copy(tool, path)
            assert copied == by_library(path), verdict["file"]
            # Both lay large types first and pad the header to 8 bytes.
            data = sum(len(view[2]) for view in copied.values())
            assert (size - data) % 8 == 0
    return files


def main():
    tool, folder = sys.argv[1:]
    accepted, stricter = check_accepted(tool, folder)
    print(f"{accepted} accepted files read and copied alike; "
          f"{stricter} files the library takes are refused by us")
    print(f"{check_written(tool, 200)} files of the library read and copied alike")


if __name__ == "__main__":
    main()
