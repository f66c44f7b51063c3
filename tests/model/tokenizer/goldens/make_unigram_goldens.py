"""Trains small Unigram tokenizers and writes down what the PyPI package `tokenizers` answers.

    pip install tokenizers sentencepiece protobuf        (0.23.3 and 0.2.3 made the files here)
    python3 make_unigram_goldens.py FOLDER

FOLDER (this one) gets unigram_KIND/tokenizer.json and unigram_KIND/expected.json, as those of
make_goldens.py.
"""

import base64
import json
import os
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

from make_goldens import TEXTS, answers, corpus, write

# Characters and what is written for them: full-width forms, ligatures, letters with their accents,
# one that becomes three, some that vanish, and two that begin alike.
RULES = {"\uff21": "A", "\uff42": "b", "\uff11": "1", "\u3000": " ", "\ufb01": "fi", "\ufb00": "ff",
         "e\u0301": "\u00e9", "a\u0308": "\u00e4", "\u2460": "1", "\u00bd": "1/2", "\n": " ", "\t": " ",
         "\r": " ", "\u200b": "", "\ufeff": "", "\u00ad": "", "\u1100\u1161": "\uac00", "\u212b": "\u00c5",
         "\u2028": " ", "\u00a0": " ", "\u0130": "i\u0307", "\u0085": " ", "x\u0301": "X"}

MORE = ["\uff21\uff42\uff11\u3000\uff5e", "of\ufb01ce \ufb00", "e\u0301e\u0301 a\u0308 x\u0301y xe\u0301", "soft\u00adhyphen zero\u200bwidth",
        "a\u200b", "a \u00bd b\u00bd\u2460", "\u1100\u1161\u11a8", "a\r\nb\r\n\r\nc", "\U0001F469\u200d\U0001F469\u200d\U0001F467 \u2764\ufe0f",
        "\u0643\u062a\u0627\u0628", "\u2603\u2603\u2603", "a\u2603\u2699b \u2603", "<unk>", "<unk><unk>", "\u2603<unk>\u2603", "<pad>x</s>", "\u2581\u2581",
        "a\u2581b", "a" * 300, "zq" * 100, "\u4f60\u597d" * 40, "\U0001F44D" * 20, "  spaces   in    runs  "]


def character_map():
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "rules.tsv")
        with open(rules, "w", encoding="utf-8") as f:
            for source, target in RULES.items():
                codes = lambda text: " ".join("%X" % ord(c) for c in text)
                f.write("%s\t%s\n" % (codes(source), codes(target)))
        prefix = os.path.join(folder, "model")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c"] * 20), model_prefix=prefix, vocab_size=8,
            normalization_rule_tsv=rules, hard_vocab_limit=False, minloglevel=2)
        model = sentencepiece_model_pb2.ModelProto()
        with open(prefix + ".model", "rb") as f:
            model.ParseFromString(f.read())
    return model.normalizer_spec.precompiled_charsmap


def read(section, config):
    data = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "vocab": {}, "merges": []}}
    data[section] = config
    return getattr(Tokenizer.from_str(json.dumps(data)), section)


def train(t, size, specials):
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=specials, unk_token="<unk>",
                                      show_progress=False, max_piece_length=10)
    t.train_from_iterator(corpus() + MORE, trainer)
    return json.loads(t.to_str())


def without(data, characters):
    """Drops the pieces with some characters, which are unknown then; ids move up."""
    vocab = data["model"]["vocab"]
    keep = [entry for i, entry in enumerate(vocab) if i < 3 or not any(c in entry[0] for c in characters)]
    names = [entry[0] for entry in keep]
    data["model"]["vocab"] = keep
    data["model"]["unk_id"] = names.index("<unk>")
    for token in data["added_tokens"]:
        token["id"] = names.index(token["content"])
    return data


def t5():
    """As converted from SentencePiece: a table of characters, runs of spaces, a metaspace before words."""
    t = Tokenizer(models.Unigram())
    config = {"type": "Precompiled",
              "precompiled_charsmap": base64.b64encode(character_map()).decode()}
    t.normalizer = normalizers.Sequence([read("normalizer", config), normalizers.Strip(left=False),
                                         normalizers.Replace(Regex(" {2,}"), "\u2581")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    t.decoder = decoders.Metaspace(prepend_scheme="always")
    data = without(train(t, 420, ["<pad>", "</s>", "<unk>"]), "\u4f60\u2603z")
    t = Tokenizer.from_str(json.dumps(data))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                     special_tokens=[("</s>", 1)])
    t.add_special_tokens([AddedToken("<mask>", special=True, lstrip=True)])
    return t


def gemma():
    """Byte fallback, spaces as metaspaces, the text as one word."""
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                   decoders.Fuse()])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    data = train(t, 330, ["<pad>", "<s>", "<unk>"])
    # The text is one word from here on.
    data["pre_tokenizer"] = None
    data = without(data, [c for entry in data["model"]["vocab"] for c in entry[0]
                          if not c.isascii() and c != "\u2581"] + ["q"])
    data["model"]["vocab"] += [["<0x%02X>" % b, 0.0] for b in range(256)]
    data["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(data))


def xlmr():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                               pre_tokenizers.Metaspace(prepend_scheme="always")])
    t.decoder = decoders.Metaspace()
    data = without(train(t, 350, ["<s>", "</s>", "<unk>"]), "\u2603K")
    t = Tokenizer.from_str(json.dumps(data))
    t.add_tokens([AddedToken("solo", single_word=True), AddedToken("fi", normalized=True)])
    return t


def words():
    """Words, digits and punctuation, a metaspace before the first; scores of equal sums."""
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.NFC()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(True),
        pre_tokenizers.Metaspace(prepend_scheme="first", split=False)])
    data = without(train(t, 250, ["<unk>", "<a>", "<b>"]), "x")
    for entry in data["model"]["vocab"]:
        entry[1] = float(round(entry[1] / 3) * 3)
    return Tokenizer.from_str(json.dumps(data))


def main(folder):
    for make in (t5, gemma, xlmr, words):
        t = make()
        target = os.path.join(folder, "unigram_" + make.__name__)
        os.makedirs(target, exist_ok=True)
        with open(os.path.join(target, "tokenizer.json"), "w") as f:
            json.dump(json.loads(t.to_str()), f, ensure_ascii=False, separators=(",", ":"))
        TEXTS[len(TEXTS):] = [m for m in MORE if m not in TEXTS]
        write(os.path.join(target, "expected.json"), answers(t), separators=(",", ":"))
        print(target, t.get_vocab_size())


if __name__ == "__main__":
    main(sys.argv[1])
