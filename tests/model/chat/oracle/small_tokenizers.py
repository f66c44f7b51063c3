"""Makes a small tokenizer for a template: of the kind that models with such templates have, with the
control tokens that the template spells."""

import functools
import hashlib
import json
import os
import re
import sys

from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import _get_template_literal_text

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "tokenizer", "goldens"))
import make_chat_goldens as chats  # noqa: E402

SPECIAL = re.compile(
    r"<\|[^<>|\s'\"{}\0]{1,40}\|?>|<[a-z_]{1,20}\|>|<\uff5c[^<>\uff5c\s\0]{1,40}\uff5c>|"
    r"<(?:/?s|bos|eos|unk|pad|start_of_turn|end_of_turn|start_of_image|image|end_of_utterance|/?BOS_TOKEN|SPECIAL_\d+)>")
BRACKETS = re.compile(r"\[/?[A-Z][A-Z_]{2,30}\]")
# Added tokens that are not special in the models that have them.
PLAIN = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
BEGIN = ["<|begin_of_text|>", "<bos>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<|startoftext|>",
         "<BOS_TOKEN>", "[gMASK]", "<s>"]
END = ["<|im_end|>", "<|eot_id|>", "<|eot|>", "<end_of_turn>", "<end_of_utterance>", "<turn|>", "<|END_OF_TURN_TOKEN|>",
       "<|return|>", "<|end|>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "<|end_of_text|>", "<|user|>",
       "<|endoftext|>", "</s>"]


def first_of(candidates, literals):
    return next((c for c in candidates if c in literals), candidates[-1])


def kind_of(literals):
    if "[INST]" in literals:
        if "[SYSTEM_PROMPT]" in literals or "[TOOL_CONTENT]" in literals:
            return "llama3"  # Tekken is of that kind
        return "mistral3" if "[AVAILABLE_TOOLS]" in literals else (
            "llama2" if "<<SYS>>" in literals else "mistral1")
    if "<start_of_turn>" in literals or "<|turn>" in literals:
        return "gemma"
    if "<|start_header_id|>" in literals:
        return "llama3"
    if "<|im_start|>" in literals:
        return "qwen"
    if not SPECIAL.search(literals) or "<|user|>" in literals or "</s>" in literals:
        return "llama2"
    return "qwen"


@functools.lru_cache
def base(kind):
    """The kind's tokenizer with no added tokens but those of SentencePiece."""
    if kind == "mistral1":
        t = chats.byte_fallback(chats.prepended(), None, [])
    elif kind == "mistral3":
        t = chats.byte_fallback(None, pre_tokenizers.Metaspace(prepend_scheme="always", split=False), [])
    elif kind == "llama2":
        t = chats.byte_fallback(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), [])
    elif kind == "gemma":
        t = chats.byte_fallback(normalizers.Replace(" ", "\u2581"), None, [])
        t.add_tokens([AddedToken(c, normalized=False) for c in ("\n\n", "\u2581\u2581")])
    elif kind == "qwen":
        t = chats.byte_level(chats.QWEN, normalizers.NFC(), [])
    else:
        t = chats.byte_level(chats.LLAMA3, None, [], ignore_merges=True)
    return t.to_str()


class SmallTokenizer:
    def __init__(self, template, folder):
        literals = _get_template_literal_text(template)
        self.kind = kind_of(literals)
        self.begin, self.end = first_of(BEGIN, literals), first_of(END, literals)
        specials = SPECIAL.findall(literals)
        if self.kind not in ("mistral1", "llama2"):  # which have no tokens for [INST]
            specials += BRACKETS.findall(literals)
        if re.search(r"<\|['\"]?\s*[+~]|<\|(?=\{\{|\0|$)", literals + "\0") or "'<|'" in template:
            specials += ["<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
        specials = sorted(set(specials) - {self.begin, self.end})
        plain = [p for p in PLAIN if p in literals]
        self.controls = [self.begin, self.end] + specials + plain
        spec = json.dumps([self.kind, self.controls])
        self.folder = os.path.join(
            folder, "%s_%s" % (self.kind, hashlib.sha256(spec.encode()).hexdigest()[:10]))
        if not os.path.exists(os.path.join(self.folder, "tokenizer_config.json")):
            self.write(specials, plain)
        self.transformers = load(self.folder)

    def write(self, specials, plain):
        t = Tokenizer.from_str(base(self.kind))
        # Phi-3's tokens take the white space behind them along.
        takes_space = self.kind == "llama2" and "<|end|>" in self.controls
        t.add_special_tokens([AddedToken(s, special=True, normalized=False, rstrip=takes_space)
                              for s in [self.begin, self.end] + specials])
        t.add_tokens([AddedToken(p, special=False, normalized=False) for p in plain])
        os.makedirs(self.folder, exist_ok=True)
        wrapped = PreTrainedTokenizerFast(tokenizer_object=t, bos_token=self.begin, eos_token=self.end)
        wrapped.save_pretrained(self.folder)


@functools.lru_cache
def load(folder):
    return PreTrainedTokenizerFast.from_pretrained(folder)
