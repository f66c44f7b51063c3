"""Writes down how transformers tokenizes rendered chats, with small tokenizers of six families.

    pip install tokenizers transformers        (0.23.3 and 5.23.0 made the files here)
    python3 make_chat_goldens.py FOLDER

FOLDER (this one) gets chat_FAMILY/tokenizer.json and chat_FAMILY/chats.json. Each tokenizer has added
tokens of every combination of flags. A case is a rendered chat, the byte ranges of it that come from
the messages, and ids: those of apply_chat_template(sanitize_control_tokens=True). Where no control
token is quoted these are the ids of the rendered text, and the case has its offsets, in bytes.
"""

import itertools
import json
import os
import random
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        trainers)
from transformers import PreTrainedTokenizerFast

from make_goldens import LLAMA3, QWEN, WORDS, corpus, write

OPEN, CLOSE = "\ue000", "\ue001"  # around what comes from a message
BYTES = ["<0x%02X>" % b for b in range(256)]
FLAGS = list(itertools.product((False, True), repeat=5))

INST = ("{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + "
        "' [/INST]' }}{% else %}{{ ' ' + m['content'] + eos_token }}{% endif %}{% endfor %}")
CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + "
          "'\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n<think>\\n' }}")
HEADERS = ("{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
           "'<|end_header_id|>\\n\\n' + m['content'] + '<|eot_id|>' }}{% endfor %}")
TURNS = ("{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' + m['role'] + '\\n' + m['content'] + "
         "'<end_of_turn>\\n' }}{% endfor %}{{ '<start_of_turn>model\\n' }}")
SYSTEM = INST.replace("'[INST] ' + ", "'[INST] <<SYS>>\\nBe brief.\\n<</SYS>>\\n\\n' + ")


def train(tokenizer, size, specials, alphabet=(), characters=60):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                  initial_alphabet=list(alphabet), max_token_length=8,
                                  limit_alphabet=characters)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def byte_level(expression, normalizer, specials, **options):
    t = Tokenizer(models.BPE(**options))
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 330, [], pre_tokenizers.ByteLevel.alphabet(), 256)
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return t


def byte_fallback(normalizer, pre_tokenizer, specials):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                   decoders.Fuse()])
    train(t, 400, ["<unk>", "<s>", "</s>"] + BYTES)
    data = json.loads(t.to_str())
    data["added_tokens"] = data["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(data))
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return t


def prepended():
    return normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])


def family(name):
    """A tokenizer, its template, and its begin and end tokens."""
    if name == "mistral1":
        return byte_fallback(prepended(), None, []), INST, "<s>", "</s>"
    if name == "mistral3":
        metaspace = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
        return byte_fallback(None, metaspace, ["[INST]", "[/INST]"]), INST, "<s>", "</s>"
    if name == "llama2":
        metaspace = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        return byte_fallback(None, metaspace, []), SYSTEM, "<s>", "</s>"
    if name == "gemma":
        spaces = normalizers.Replace(" ", "\u2581")
        t = byte_fallback(spaces, None, ["<bos>", "<start_of_turn>", "<end_of_turn>"])
        t.add_tokens([AddedToken(c, normalized=False) for c in ("\n\n", "\u2581\u2581")])
        return t, TURNS, "<bos>", "<end_of_turn>"
    if name == "qwen":
        specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
        t = byte_level(QWEN, normalizers.NFC(), specials)
        t.add_tokens([AddedToken(c, normalized=False) for c in ("<think>", "</think>")])
        return t, CHATML, "<|endoftext|>", "<|im_end|>"
    specials = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    t = byte_level(LLAMA3, None, specials, ignore_merges=True)
    return t, HEADERS, specials[0], specials[3]


FAMILIES = ["mistral1", "mistral3", "llama2", "gemma", "qwen", "llama3"]


def add_flagged(t, flags=FLAGS):
    """A token of each combination, by its number: <t0> to <t31>."""
    for number, (special, lstrip, rstrip, single_word, normalized) in enumerate(flags):
        token = AddedToken("<t%d>" % number, special=special, lstrip=lstrip, rstrip=rstrip,
                           single_word=single_word, normalized=normalized)
        (t.add_special_tokens if special else t.add_tokens)([token])


class Family:
    def __init__(self, name, flags=FLAGS):
        t, template, begin, end = family(name)
        add_flagged(t, flags)
        self.json = json.loads(t.to_str())
        self.library = Tokenizer.from_str(t.to_str())
        self.transformers = PreTrainedTokenizerFast(tokenizer_object=t, bos_token=begin,
                                                    eos_token=end, chat_template=template)
        # Wrapping must not have changed a flag.
        wrapped = json.loads(self.transformers.backend_tokenizer.to_str())
        assert wrapped["added_tokens"] == self.json["added_tokens"], name
        self.template = template
        controls = self.transformers._get_control_tokens(template)
        special = {a["content"] for a in self.json["added_tokens"] if a["special"]}
        self.control_ids = [self.library.token_to_id(c) for c in controls if c not in special]
        self.controls = controls
        self.added = [a["content"] for a in self.json["added_tokens"]]

    def content(self, rng):
        parts = []
        for _ in range(rng.randrange(7)):
            kind = rng.random()
            parts.append(rng.choice(self.added) if kind < 0.3 else rng.choice(WORDS) if kind < 0.8
                         else rng.choice(["\n", "\n\n", "<", "|", "caf\u00e9", "\U0001F44D", "\u4f60", "  ",
                                          "_", "9", "\t", "<|im_", "\u2581"]))
            parts.append(rng.choice(["", "", " ", " ", "  ", "\n"]))
        return "".join(parts)

    def case(self, contents):
        """The rendered chat as bytes, what of it is quoted, and the ids of it."""
        roles = ["user", "assistant"]
        chat = lambda wrap: [{"role": roles[i % 2], "content": wrap(c)} for i, c in enumerate(contents)]
        marked = self.transformers.apply_chat_template(chat(lambda c: OPEN + c + CLOSE), tokenize=False)
        data, ranges = b"", []
        for piece in marked.split(OPEN):
            quoted, closed, rest = piece.partition(CLOSE)
            if closed:
                ranges.append((len(data), len(data) + len(quoted.encode())))
            data += (quoted + rest).encode()
        try:
            ids = self.transformers.apply_chat_template(chat(str), sanitize_control_tokens=True,
                                                        return_dict=False)
        except ValueError as error:
            assert "Can't sanitize" in str(error)
            ids = None
        return data, ranges, ids

    def offsets(self, data):
        """Of the rendered text, in bytes, one number after the other."""
        encoding = self.library.encode(data.decode(), add_special_tokens=False)
        places = [0]
        for c in data.decode():
            places.append(places[-1] + len(c.encode()))
        return encoding.ids, [places[n] for pair in encoding.offsets for n in pair]


def main(folder):
    for name in FAMILIES:
        family_ = Family(name)
        rng = random.Random(name)
        cases = []
        fixed = [[""], [" "], ["\n"], ["a"], [" a b "], ["x", "y"]] + [["q " + c] for c in family_.controls[:5]]
        fixed += [["u%sv" % c] for c in family_.added[-32:]] + [["u %s v" % c] for c in family_.added[-32:]]
        fixed += [["the", c] for c in family_.added[:2]]
        for contents in fixed + [[family_.content(rng) for _ in range(rng.randrange(1, 4))]
                                 for _ in range(40)]:
            data, ranges, ids = family_.case(contents)
            case = {"text": data.decode(), "quoted": [n for r in ranges for n in r], "ids": ids}
            if not any(c in content for c in family_.controls for content in contents):
                plain, case["offsets"] = family_.offsets(data)
                assert plain == ids, (name, contents)
            cases.append(case)
        target = os.path.join(folder, "chat_" + name)
        os.makedirs(target, exist_ok=True)
        with open(os.path.join(target, "tokenizer.json"), "w") as f:
            json.dump(family_.json, f, ensure_ascii=False, separators=(",", ":"))
        write(os.path.join(target, "chats.json"),
              {"control_ids": family_.control_ids, "cases": cases}, separators=(",", ":"))
        print(target, len(cases), "cases,", sum("offsets" in c for c in cases), "with offsets,",
              sum(c["ids"] is None for c in cases), "refused")


if __name__ == "__main__":
    main(sys.argv[1])
