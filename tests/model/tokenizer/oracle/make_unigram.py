"""Trains Unigram models with SentencePiece on a text and writes them as tokenizer.json files.

    pip install sentencepiece protobuf
    python3 make_unigram.py TEXT FOLDER

FOLDER gets t5/ (its table of characters nmt_nfkc, runs of spaces, a metaspace before each word) and
fallback/ (byte fallback, the text as one word), each with 4,000 pieces. The tables of characters are
too large to be kept here.
"""

import base64
import json
import os
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2


def train(text, folder, **options):
    prefix = os.path.join(folder, "model")
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=prefix, vocab_size=4000, hard_vocab_limit=False, minloglevel=2,
        character_coverage=0.999, model_type="unigram", **options)
    model = sentencepiece_model_pb2.ModelProto()
    with open(prefix + ".model", "rb") as f:
        model.ParseFromString(f.read())
    return model


def convert(model, normalizer, pre_tokenizer, decoder):
    pieces = [[p.piece, p.score] for p in model.pieces]
    controls = [i for i, p in enumerate(model.pieces) if p.type in (2, 3)]  # unknown, control
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": i, "content": pieces[i][0], "single_word": False, "lstrip": False,
                              "rstrip": False, "normalized": False, "special": True} for i in controls],
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
            "decoder": decoder,
            "model": {"type": "Unigram", "unk_id": model.trainer_spec.unk_id, "vocab": pieces,
                      "byte_fallback": model.trainer_spec.byte_fallback}}


def t5(text, folder):
    model = train(text, folder, normalization_rule_name="nmt_nfkc")
    charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    return convert(model, {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": charsmap},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}, metaspace, metaspace)


def fallback(text, folder):
    model = train(text, folder, normalization_rule_name="identity", byte_fallback=True)
    return convert(model, {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}, None,
        {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})


def main(text, folder):
    for make in (t5, fallback):
        target = os.path.join(folder, make.__name__)
        os.makedirs(target, exist_ok=True)
        with open(os.path.join(target, "tokenizer.json"), "w", encoding="utf-8") as f:
            json.dump(make(text, target), f, ensure_ascii=False)
        print(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
