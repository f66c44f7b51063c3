"""Compares the program's ids with those of mistral-common, with the tokenizers that package carries.

    pip install mistral-common sentencepiece transformers
    python3 compare_mistral.py FOLDER PROGRAM

Each tokenizer is written to FOLDER/mistral/NAME/tokenizer.json, its template is the one mistral-common
generates for it. The package's ids are those of its request for fine-tuning, or for an answer when the
conversation ends with the user. Conversations that the package refuses are counted.
"""

import copy
import glob
import json
import os
import sys

import mistral_common
from mistral_common.integrations.chat_templates.chat_templates import convert_tokenizer_to_chat_template
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from transformers import PreTrainedTokenizerFast

import compare_templates
import judge
from conversations import conversations

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "tokenizer", "oracle"))
import make_real  # noqa: E402


class Folder:
    """Stands in for a SmallTokenizer."""

    def __init__(self, folder):
        self.folder = folder
        self.transformers = PreTrainedTokenizerFast.from_pretrained(folder)


def sentencepiece_json(path):
    """tokenizer.json as newer published models have it: Metaspace puts a space before the first word."""
    data = make_real.mistral(os.path.basename(path))
    data["normalizer"] = None
    data["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first",
                             "split": False}
    return data


def tekken_json(path, tokenizer):
    data = make_real.tekken(os.path.basename(path))
    names = {old["content"]: tokenizer.id_to_piece(old["id"]) for old in data["added_tokens"]}
    for token in data["added_tokens"]:
        del data["model"]["vocab"][token["content"]]
        token["content"] = names[token["content"]]
        data["model"]["vocab"][token["content"]] = token["id"]
    return data


def write_tokenizer(path, folder):
    model = MistralTokenizer.from_file(path).instruct_tokenizer.tokenizer
    data = tekken_json(path, model) if path.endswith(".json") else sentencepiece_json(path)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump(data, f, ensure_ascii=False)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}, f)


def without_returns(record):
    """The record without a tool's `return`, which the package does not know."""
    record = copy.deepcopy(record)
    for tool in record.get("tools", []):
        tool["function"].pop("return", None)
    return record


def package_ids(path, record):
    ends_with_answer = record["messages"][-1]["role"] == "assistant"
    mode = ValidationMode.finetuning if ends_with_answer else ValidationMode.test
    record = copy.deepcopy(record)
    for message in record["messages"]:
        for call in message.get("tool_calls", []):
            if not isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
    request = ChatCompletionRequest(messages=record["messages"], tools=record.get("tools"))
    return MistralTokenizer.from_file(path, mode=mode).encode_chat_completion(request).tokens


def main(folder, program):
    wrong = 0
    for path in sorted(glob.glob(os.path.join(os.path.dirname(mistral_common.__file__), "data", "*"))):
        name = os.path.basename(path)
        target = os.path.join(folder, "mistral", name)
        write_tokenizer(path, target)
        tokenizer = Folder(target)
        row = {"text": convert_tokenizer_to_chat_template(path), "sha256": name}
        cases, expected, refused = [], [], 0
        for conversation, record in conversations(["<s>", "</s>", "[INST]", "[/INST]"]):
            record = without_returns(record)
            try:
                ids = package_ids(path, record)
            except Exception:  # of the package's many kinds
                refused += 1
                continue
            theirs = judge.judge(row["text"], tokenizer.transformers, record, False,
                                 conversation == "quoted control tokens")
            cases.append(compare_templates.Case(row, conversation, False, tokenizer, record, theirs))
            expected.append(ids)
        answers = compare_templates.our_answers(program, cases) if program else [c.theirs for c in cases]
        same = agree = 0
        for case, ids, ours in zip(cases, expected, answers):
            same += ours.get("ids") == ids
            agree += case.theirs.get("ids") == ids
            if ours.get("ids") not in (ids, case.theirs.get("ids")):
                wrong += 1
                print(name, case.conversation, "\n  package     ", ids, "\n  transformers",
                      case.theirs.get("ids"), "\n  ours        ", ours.get("ids"), ours.get("error", ""))
            elif ours.get("ids") != ids:
                print("  %s: ours are the ids of transformers, the package's differ" % case.conversation)
        print("%s: %d conversations, ours equal in %d, transformers in %d; the package refuses %d" %
              (name, len(cases), same, agree, refused))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
