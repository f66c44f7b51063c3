"""Writes tokenizer.json files from the vocabularies that PyPI packages carry.

    pip install tokenizers mistral-common dashscope sentencepiece
    python3 make_real.py FOLDER

FOLDER gets qwen/, tekken/ and mistral/, each with a tokenizer.json: byte-level with NFC, byte-level
with ignore_merges, and BPE with byte fallback. They are too large to be kept here.
"""

import base64
import importlib.util
import json
import os
import sys

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def folder_of(package):
    return os.path.dirname(importlib.util.find_spec(package).origin)


def byte_characters():
    seen = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    hidden = [b for b in range(256) if b not in seen]
    table = {b: chr(b) for b in seen}
    table.update({b: chr(256 + i) for i, b in enumerate(hidden)})
    return table


CHARACTERS = byte_characters()


def spell(token):
    return "".join(CHARACTERS[b] for b in token)


def merges_of(ranks):
    """Every way to make a token of two others, in the order of the token's rank."""
    merges = []
    for token, rank in ranks.items():
        ways = [(token[:i], token[i:]) for i in range(1, len(token))]
        ways = [(l, r) for l, r in ways if l in ranks and r in ranks]
        merges += [(rank, ranks[l], ranks[r], l, r) for l, r in ways]
    return [(l, r) for _, _, _, l, r in sorted(merges, key=lambda m: m[:3])]


def added(id_, content, special=True):
    return {"id": id_, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": special}


def split_then_bytes(expression):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated",
         "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
         "use_regex": False}]}


def byte_level(ranks, shift, expression, normalizer, ignore_merges, added_tokens):
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens,
        "normalizer": normalizer, "pre_tokenizer": split_then_bytes(expression),
        "post_processor": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
                           "use_regex": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
                    "use_regex": False},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": ignore_merges,
                  "vocab": {spell(t): r + shift for t, r in ranks.items()},
                  "merges": [spell(l) + " " + spell(r) for l, r in merges_of(ranks)]}}


def qwen():
    ranks = {}
    with open(os.path.join(folder_of("dashscope"), "resources", "qwen.tiktoken"), "rb") as f:
        for line in f:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens = [added(len(ranks) + i, t) for i, t in enumerate(specials)]
    tokens.append(added(len(ranks) + 3, "<think>", special=False))
    return byte_level(ranks, 0, QWEN, {"type": "NFC"}, False, tokens)


def tekken(name="tekken_240911.json"):
    path = os.path.join(folder_of("mistral_common"), "data", name)
    with open(path) as f:
        data = json.load(f)
    specials = data["config"]["default_num_special_tokens"]
    count = data["config"]["default_vocab_size"] - specials
    ranks = {base64.b64decode(e["token_bytes"]): e["rank"] for e in data["vocab"][:count]}
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    names += ["<SPECIAL_%d>" % i for i in range(len(names), specials)]
    tokens = [added(i, name) for i, name in enumerate(names)]
    result = byte_level(ranks, specials, data["config"]["pattern"], None, True, tokens)
    # The library gives tokens that the model lacks ids of its own.
    result["model"]["vocab"].update({t["content"]: t["id"] for t in tokens})
    return result


def mistral(name="tokenizer.model.v1"):
    import sentencepiece
    path = os.path.join(folder_of("mistral_common"), "data", name)
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
    scores = {p: -model.get_score(i) for i, p in enumerate(pieces)}
    ranks = {p: scores[p] for i, p in enumerate(pieces)
             if not (model.is_control(i) or model.is_unknown(i) or model.is_byte(i))}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(i, piece) for i, piece in enumerate(pieces)
                         if model.is_control(i) or model.is_unknown(i)],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing",
                           "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                      {"Sequence": {"id": "A", "type_id": 0}}],
                           "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                                    {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {"<s>": {"id": "<s>", "ids": [1],
                                                      "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>",
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                  "byte_fallback": True, "ignore_merges": False,
                  "vocab": {p: i for i, p in enumerate(pieces)},
                  "merges": [[l, r] for l, r in merges_of(ranks)]}}


def main(folder):
    for make in (qwen, tekken, mistral):
        target = os.path.join(folder, make.__name__)
        os.makedirs(target, exist_ok=True)
        with open(os.path.join(target, "tokenizer.json"), "w") as f:
            json.dump(make(), f, ensure_ascii=False)
        print(target, os.path.getsize(os.path.join(target, "tokenizer.json")), "bytes")


if __name__ == "__main__":
    main(sys.argv[1])
