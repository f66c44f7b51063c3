"""Trains small tokenizers with the PyPI package `tokenizers` and writes down what it answers.

    pip install tokenizers        (0.23.3 made the files here)
    python3 make_goldens.py FOLDER

FOLDER (this one) gets a folder for each tokenizer, with tokenizer.json and expected.json, and
parts.json with the answers of single normalizers, pre-tokenizers and decoders.
"""

import json
import os
import random
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

from offsets import character_starts, forms_of, leans_back, spread_byte_runs, without_trimming

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace("{1,3}", "")

WORDS = ("the of and to in is that for it was on are as with they be at one have this from or had by "
         "hot but some what there we can out other were all your when up use word how said an each "
         "she which do their time if will way about many then them would write like so these her "
         "long make thing see him two has look more day could go come did my sound no most number "
         "who over know water than call first people may down side been now find any new work part "
         "return int void const auto while print self import 12 345 2024 Привет мир über café naïve "
         "你好 世界 日本 한국 don't it's we'll they've").split()

TEXTS = [
    "", " ", "a", "A", "Hello world", "hello  world", " leading", "trailing ", "\n", "\r\n", "\t\tx",
    "the quick brown fox jumps over the lazy dog", "don't can't WE'LL They've I'M 'S 's 'x",
    "a\nb\n\nc\n\n\n  d", "  two\n   three\n", "x   y", "\u00a0non\u00a0breaking", "\u3000wide\u3000",
    "3.14159 1234567890 1,000,000 2024-01-01", "١٢٣ १२३ ½ Ⅷ ² ①", "if (x == 0) { return -1; }\n",
    "def f(self, *args):\n    return {k: v for k, v in args}\n", "https://example.org/a?b=c&d=%20#e",
    "Привет, мир! Ёлка", "Straße ΣΑΣ İstanbul ıI ǅ", "你好，世界。日本語テスト 한국어", "العربية עברית हिन्दी ไทย",
    "👍 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️", "e\u0301 é a\u0308\u0323 a\u0323\u0308", "\u1100\u1161\u11a8 각 ﬁ ﬀ Å Å",
    "zero\u200bwidth\u200djoin\ufeff", "\u0085 \u2028 \u2029 \u180e \u1680", "\x00\x01\x7f", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐷",
    "!!! ... ?!?! --- *** ###", "a" * 60, "ab" * 40, " " * 30, "\n" * 9, "x" + " " * 17 + "y",
    "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ", "<|endoftext|><|endoftext|>", "<|endof",
    "x <mask> y", "x<mask>y", "x \t <mask>", "<mask>  <mask>", "solo", "solos", "a solo b", "solo.",
    "_solo", "so solo", "<think>yes</think>", "<s>", "</s>x", "<s> <s>", "<unk>", "<0x0A>", "<0x41>",
    "\u2581", "\u2581\u2581x", "_ _", "K ſ 'ſ", "ÀB àb", "MiXeD CaSe", "\ufffd", "\ufffd\ufffd",
    "the<|endoftext|> the", "word" * 20 + " word", "unknown: ☃ ⚙ 𓀀", "tab\tand\vvertical\fform\x1cfs",
]
BROKEN = [
    b"\xff", b"a\xffb", b"\xc3", b"x\xc3", b"\xe4\xbd", b"\xe4\xbd\xa0\xe5", b"\xf0\x9f\x91", b"\xed\xa0\x80",
    b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"a\x80\x80b",
    b"\xf0\x9f\x91\xf0\x9f\x91\x8d", b"\xe2\x28\xa1", b"\xfe\xfe\xff\xff", b"\xf1\x80\x80\x41\xc2",
]
REPEATED = [("etaoinshrdlu", 90000), ("ab", 500), ("\u4f60", 3000), ("aaaaab", 170000), ("\U0001F44D", 50)]


def corpus():
    rng = random.Random(6)
    lines = [" ".join(rng.choices(WORDS, k=rng.randrange(3, 15))) for _ in range(3000)]
    return lines + TEXTS * 3


def special(content, **flags):
    return AddedToken(content, special=True, normalized=False, **flags)


def train(tokenizer, size, specials, alphabet=()):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                  initial_alphabet=list(alphabet), max_token_length=12)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def gpt2():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    train(t, 900, ["<|endoftext|>"], pre_tokenizers.ByteLevel.alphabet())
    t.add_special_tokens([special("<mask>", lstrip=True, rstrip=True)])
    t.add_tokens([AddedToken("solo", single_word=True), AddedToken("so solo", normalized=True)])
    return t


def llama3():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 900, ["<s>", "</s>"], pre_tokenizers.ByteLevel.alphabet())
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A <s> $B",
                                      special_tokens=[("<s>", 0), ("</s>", 1)])])
    t.add_special_tokens([special("<|endoftext|>"), special("<|endof")])
    return t


def qwen():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 900, [], pre_tokenizers.ByteLevel.alphabet())
    t.add_special_tokens([special("<|endoftext|>")])
    t.add_tokens([AddedToken("<think>", normalized=False), AddedToken("e\u0301", normalized=True)])
    return t


def llama2():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"),
                                         normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    bytes_ = ["<0x%02X>" % b for b in range(256)]
    train(t, 1000, ["<unk>", "<s>", "</s>"] + bytes_)
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B",
                                                     special_tokens=[("<s>", 1)])
    data = json.loads(t.to_str())
    data["added_tokens"] = data["added_tokens"][:3]
    # Characters beyond these are left to their bytes.
    keep = lambda token: len(token) != 1 or token in "\u2581" or token.isascii()
    vocab = [token for token in data["model"]["vocab"] if keep(token)]
    known = {token: i for i, token in enumerate(vocab)}
    merges = [m for m in data["model"]["merges"] if all(p in known for p in (m[0], m[1], m[0] + m[1]))]
    made = set(vocab[:259]) | {a + b for a, b in merges} | {v for v in vocab if len(v) == 1}
    vocab = [token for token in vocab if token in made]
    data["model"]["vocab"] = {token: i for i, token in enumerate(vocab)}
    data["model"]["merges"] = [m for m in merges if m[0] in made and m[1] in made]
    return Tokenizer.from_str(json.dumps(data))


def metaspace():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(),
                                         normalizers.Strip(left=False, right=True)])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Digits(True)])
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    train(t, 700, ["<unk>", "<s>"])
    data = json.loads(t.to_str())
    for token in ("x", "日"):
        drop = [token] + [k for k in data["model"]["vocab"] if len(k) > 1 and token in k]
        for k in drop:
            data["model"]["vocab"].pop(k, None)
    vocab = data["model"]["vocab"]
    data["model"]["merges"] = [m for m in data["model"]["merges"]
                               if m[0] in vocab and m[1] in vocab and m[0] + m[1] in vocab]
    data["model"]["vocab"] = {token: i for i, token in enumerate(vocab)}
    t = Tokenizer.from_str(json.dumps(data))
    t.add_tokens([AddedToken("ÀB", normalized=True), AddedToken("</s>", normalized=False)])
    return t


def digest(ids):
    """What the test computes too."""
    value = 0
    for i in ids:
        value = (value * 31 + i + 1) % (1 << 61)
    return value


def byte_offsets(t, data):
    """The offsets of broken or whole text in bytes, one number after the other; none where a
    normalizer may put characters together, which the package covers in part only."""
    text = data.decode("utf-8", errors="replace")
    config = json.loads(t.to_str())
    if forms_of(config) and ("\r\n" in text or any(leans_back(c) for c in text)):
        return None
    starts = character_starts(data)[1]
    encoding = without_trimming(config).encode(text, add_special_tokens=False)
    pairs = spread_byte_runs(text, encoding.tokens, encoding.offsets)
    return [starts[n] for pair in pairs for n in pair]


def answers(t):
    cases = []
    for data in [text.encode() for text in TEXTS] + BROKEN:
        text = data.decode("utf-8", errors="replace")
        t.encode_special_tokens = True
        plain = t.encode(text, add_special_tokens=False).ids
        t.encode_special_tokens = False
        ids = t.encode(text, add_special_tokens=False).ids
        case = {"bytes": data.hex(), "ids": ids, "text": t.decode(ids),
                "spelled": t.decode(ids, skip_special_tokens=False)}
        offsets = byte_offsets(t, data)
        if offsets is not None:
            case["offsets"] = offsets
        if plain != ids:
            case["not_special"] = plain
        if t.encode(text).ids != ids:
            case["around"] = t.encode(text).ids
        cases.append(case)
    repeated = []
    for unit, times in REPEATED:
        ids = t.encode(unit * times, add_special_tokens=False).ids
        repeated.append({"unit": unit, "times": times, "count": len(ids), "digest": digest(ids)})
    # Any ids at all, as a model in training gives them.
    rng = random.Random(7)
    decoded = []
    for size in [1, 2, 3, 5, 8, 13] * 12:
        ids = [rng.randrange(t.get_vocab_size()) for _ in range(size)]
        if rng.random() < 0.4:
            ids = [rng.randrange(3, 259) for _ in range(size)]
        decoded.append({"ids": ids, "text": t.decode(ids),
                        "spelled": t.decode(ids, skip_special_tokens=False)})
    return {"cases": cases, "repeated": repeated, "decoded": decoded}


def read_part(section, config):
    data = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "vocab": {}, "merges": []}}
    data[section] = config
    return getattr(Tokenizer.from_str(json.dumps(data)), section)


def split(pattern, behavior, invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def parts():
    texts = [t for t in TEXTS if 0 < len(t) < 45 and "<" not in t and "solo" not in t] + ["-a--b-", "a-b", "--", "abxxc", "ab\ncd\n", "x\u0301y_z\u203f9"]
    behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
    pre = [split(p, b, i, k) for p, k in [("-", "String"), (r"\s+", "Regex")] for b in behaviors
           for i in (False, True)]
    pre += [split(p, "Isolated") for p in [
        r"\w+", r"\W", r"\S+", r"\b", r"\B", r"\h+", r"\p{Han}+", r"\p{Greek}", r"x*", r"$", r"^.",
        r".+", r"[\s\d]", r"[^\w]+", r"\P{L}+", r"\p{^L}", r"(?i:the|k)", r"\u4f60|\x{597d}", r"a{2}",
        r"(?<=a)b", r"(?<!\s)\s", r"[\h\-\]]", r"\p{Lu}\p{Ll}*|\p{N}{1,3}", LLAMA3, QWEN]]
    pre += [{"type": "ByteLevel", "add_prefix_space": p, "trim_offsets": False, "use_regex": r}
            for p in (False, True) for r in (False, True)]
    pre += [{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": s, "split": b}
            for s in ("always", "first", "never") for b in (False, True)]
    pre += [{"type": "Metaspace", "replacement": "_", "add_prefix_space": True}]
    pre += [{"type": "Digits", "individual_digits": i} for i in (False, True)]
    pre += [{"type": "Punctuation", "behavior": b} for b in behaviors]
    pre += [{"type": "Whitespace"}, {"type": "WhitespaceSplit"}]
    pre += [{"type": "Sequence", "pretokenizers": [pre[-1], {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False,
         "use_regex": False}]}, {"type": "Punctuation", "behavior": "Isolated"}]}]
    pre += [{"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True}]}]
    norm = [{"type": n} for n in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")]
    norm += [{"type": "Strip", "strip_left": l, "strip_right": r}
             for l in (False, True) for r in (False, True)]
    norm += [{"type": "Prepend", "prepend": "\u2581"},
             {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581\u2581"},
             {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " $1"},
             {"type": "Replace", "pattern": {"Regex": r"x*"}, "content": "-"},
             {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
             {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"},
                                                  {"type": "Lowercase"}]}]
    dec = [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
           {"type": "ByteFallback"}, {"type": "Fuse"},
           {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
           {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
           {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
           {"type": "Replace", "pattern": {"Regex": "[ab]+"}, "content": "$0"}]
    dec += [{"type": "Strip", "content": c, "start": a, "stop": b}
            for c in ("a", "\u2581") for a, b in ((0, 0), (1, 0), (2, 0), (0, 1))]
    dec += [{"type": "Sequence", "decoders": [dec[5], dec[1], dec[2], dec[7]]},
            {"type": "Sequence", "decoders": [dec[1], dec[3]]}]
    lists = [[], ["a"], ["\u2581Hey", "\u2581\u2581there", "a"], ["\u0120a", "b", "\u010a", "\u00c3", "\u00a9"],
             ["<0x41>", "<0x42>", "x"], ["<0xE4>", "<0xBD>", "<0xA0>"], ["<0xE4>", "<0xBD>", "a"],
             ["<0xe4>", "<0xFF>"], ["<0x4>", "<0x+A>", "<0xGG>", "<0x0a>"], ["aaa", "aab", "baa"],
             ["\u2581\u2581\u2581", "\u2581"], ["\u4f60", "\u00e4"], [" ", " a"]]
    return {
        "pre_tokenizers": [{"config": c, "words": [
            [w for w, _ in read_part("pre_tokenizer", c).pre_tokenize_str(t)] for t in texts]}
            for c in pre],
        "normalizers": [{"config": c, "normalized": [
            read_part("normalizer", c).normalize_str(t) for t in texts]} for c in norm],
        "decoders": [{"config": c, "decoded": [read_part("decoder", c).decode(l) for l in lists]}
                     for c in dec],
        "texts": texts, "token_lists": lists}


def write(path, value, **options):
    with open(path, "w") as f:
        json.dump(value, f, ensure_ascii=False, **options)
        f.write("\n")


def main(folder):
    for make in (gpt2, llama3, qwen, llama2, metaspace):
        t = make()
        target = os.path.join(folder, make.__name__)
        os.makedirs(target, exist_ok=True)
        data = json.loads(t.to_str())
        # Both ways to write merges, and a file without what older ones lack.
        if make in (gpt2, llama2):
            data["model"]["merges"] = [" ".join(m) for m in data["model"]["merges"]]
        if make is gpt2:
            for key in ("type", "ignore_merges", "byte_fallback"):
                data["model"].pop(key)
        with open(os.path.join(target, "tokenizer.json"), "w") as f:
            json.dump(data, f, ensure_ascii=False, separators=(",", ":"))
        write(os.path.join(target, "expected.json"), answers(t), separators=(",", ":"))
        print(target, t.get_vocab_size())
    write(os.path.join(folder, "parts.json"), parts(), separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1])
