#!/usr/bin/env python3
"""Opens a checkpoint with the public safetensors library (pip install safetensors numpy).

    open_checkpoint.py RUN/checkpoints/step-NNNNNNNN

Run by hand when runtime/checkpoint changes. Checks, sharing no code with the program:
1. the manifest's own CRC-32C, and the set and lengths of the files;
2. that the library opens every safetensors file and finds exactly the manifest's tensors, with their
   types, shapes and places;
3. the CRC-32C of every tensor and every head, from the bytes the library gives;
4. that model.safetensors.index.json, where there is one, leads to every weight;
5. that both halves of the masters give finite numbers whose upper half is hi.
"""
import json
import os
import sys

import numpy
import safetensors

SUFFIXES = {"hi": "", "lo": ".lo", "m": ".m", "v": ".v", "m_scale": ".m.scale", "v_scale": ".v.scale"}


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return format(crc ^ 0xFFFFFFFF, "08x")


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def check_masters(tensors, name):
    """Both halves as fp32, checked against hi as the nearest bf16 (ties away from zero)."""
    hi = numpy.frombuffer(tensors[name, "hi"], dtype="<u2").astype(numpy.uint32)
    lo = numpy.frombuffer(tensors[name, "lo"], dtype="<i2").astype(numpy.int64)
    bits = ((hi.astype(numpy.int64) << 16) + lo).astype(numpy.uint32)
    again = ((bits.astype(numpy.uint64) + 0x8000) >> 16).astype(numpy.uint32)
    return bits.view(numpy.float32), bool((again == hi).all())


def main(folder):
    text = read(folder, "manifest.json")
    body = text[:-len('"crc32c": "00000000"}\n')]
    manifest = json.loads(text)
    assert crc32c(body) == manifest["crc32c"], "the manifest's CRC"

    names = [row[0] for row in manifest["files"]]
    assert sorted(os.listdir(folder)) == sorted(names + ["manifest.json"]), "the set of files"
    found, heads = {}, {}
    for name, size, head, crc in manifest["files"]:
        data = read(folder, name)
        assert len(data) == size and crc32c(data[:head]) == crc, name
        if name.endswith(".safetensors"):
            heads[name] = data
            for tensor, view in safetensors.deserialize(data):
                found[name, tensor] = (view["dtype"], list(view["shape"]), bytes(view["data"]))

    tensors, wanted = {}, set()
    for name, part, dtype, shape, file, offset, size, crc, step in manifest["tensors"]:
        key = (names[file], name + SUFFIXES[part])
        wanted.add(key)
        assert found[key][:2] == (dtype, shape), key
        data = found[key][2]
        assert len(data) == size and crc32c(data) == crc, key
        assert heads[names[file]][offset:offset + size] == data, key
        assert step == manifest["step"], key
        tensors[name, part] = data
    assert wanted == set(found), "tensors that the manifest does not list"

    if "model.safetensors.index.json" in names:
        index = json.loads(read(folder, "model.safetensors.index.json"))["weight_map"]
        weights = {name: names[row[4]] for row in manifest["tensors"] if row[1] == "hi"
                   for name in [row[0]]}
        assert index == weights, "the index of the weights"

    odd = 0
    for name, part in tensors:
        if part == "lo":
            values, agrees = check_masters(tensors, name)
            odd += not (agrees and bool(numpy.isfinite(values).all()))
    print(f"step {manifest['step']}, {manifest['mode']}: the library opens {len(heads)} files with "
          f"{len(found)} tensors, all as the manifest says; {odd} tensors are no split masters")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
