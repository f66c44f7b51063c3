#!/usr/bin/env python3
"""make_goldens.py FOLDER > goldens.json

What the chat templates of real models make of some conversations. The templates come out of these
packages, which FOLDER holds as pip downloads them (pip download --no-deps):
  llama_cpp_python-0.3.36.tar.gz          vendor/llama.cpp/models/templates and tests (MIT)
  trl-1.16.0-py3-none-any.whl             the templates "as shipped" (Apache-2.0)
  axolotl-0.19.0-py3-none-any.whl         (Apache-2.0)
  mistral-common 1.13.0, installed        Mistral's own templates (Apache-2.0)
They are written to FOLDER/templates, to be looked at; only a digest and what they render is kept
here. Needs jinja2, set up as transformers does it but for
strftime_now, in whose absence Llama-3.2's template has a fixed date. Where a template refuses a
conversation (a system turn, for some) there is no golden.
"""
import ast
import hashlib
import json
import os
import re
import sys
import tarfile
import zipfile

from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from mistral_common.integrations.chat_templates.chat_templates import generate_chat_template
from mistral_common.tokens.tokenizers.base import TokenizerVersion

LLAMA_CPP = "llama_cpp_python-0.3.36"
TRL = "trl-1.16.0-py3-none-any.whl"
AXOLOTL = "axolotl-0.19.0-py3-none-any.whl"
CPP_TESTS = "vendor/llama.cpp/tests/test-chat-template.cpp"
CPP = "vendor/llama.cpp/models/templates/"

# model, package, file and (of the C++ test) entry.
TEMPLATES = [
    ("chatml", AXOLOTL, "axolotl/utils/chat_templates/templates/chatml.jinja", None),
    ("openhermes", LLAMA_CPP, CPP_TESTS, "teknium/OpenHermes-2.5-Mistral-7B"),
    ("qwen2-vl", TRL, "trl/chat_templates/qwen2_5_vl.jinja", None),
    ("qwen2.5", LLAMA_CPP, CPP + "Qwen-Qwen2.5-7B-Instruct.jinja", None),
    ("qwen3", LLAMA_CPP, CPP + "Qwen-Qwen3-0.6B.jinja", None),
    ("qwen3-trl", TRL, "trl/chat_templates/qwen3.jinja", None),
    ("qwen3-2507", TRL, "trl/chat_templates/qwen3_instruct_2507.jinja", None),
    ("llama-3", TRL, "trl/chat_templates/llama3.jinja", None),
    ("llama-3.1", LLAMA_CPP, CPP + "meta-llama-Llama-3.1-8B-Instruct.jinja", None),
    ("llama-3.2", LLAMA_CPP, CPP + "meta-llama-Llama-3.2-3B-Instruct.jinja", None),
    ("llama-3.3", LLAMA_CPP, CPP + "meta-llama-Llama-3.3-70B-Instruct.jinja", None),
    ("mistral-7b-v0.2", LLAMA_CPP, CPP_TESTS,
     "mistralai/Mistral-7B-Instruct-v0.2 (NOTE: Old pre-v1 without a system prompt)"),
    ("mistral-v1", LLAMA_CPP, CPP_TESTS,
     "mistralai/Mistral-7B-Instruct-v0.2 (mistralai 'v1' template with a system prompt)"),
    ("mistral-v3", AXOLOTL, "axolotl/utils/chat_templates/templates/mistral_v2v3.jinja", None),
    ("mistral-nemo", LLAMA_CPP, CPP + "mistralai-Mistral-Nemo-Instruct-2407.jinja", None),
    # These are refused; there are no goldens of them.
    ("refused-qwq", LLAMA_CPP, CPP + "Qwen-QwQ-32B.jinja", None),
    ("refused-qwen3.5", TRL, "trl/chat_templates/qwen3_5_think.jinja", None),
    ("refused-qwen3-coder", LLAMA_CPP, CPP + "Qwen3-Coder.jinja", None),
    ("refused-smollm3", LLAMA_CPP, CPP + "HuggingFaceTB-SmolLM3-3B.jinja", None),
    ("refused-phi-4", LLAMA_CPP, CPP_TESTS, "phi-4"),
    ("refused-mistral-small-3.2", LLAMA_CPP, CPP + "Mistral-Small-3.2-24B-Instruct-2506.jinja",
     None),
    ("refused-gpt-oss", LLAMA_CPP, CPP + "openai-gpt-oss-120b.jinja", None),
]

CONVERSATIONS = [
    [("user", "What is 2 + 2?"), ("assistant", "4")],
    [("user", "One"), ("assistant", "1"), ("user", "Two"), ("assistant", "2")],
    [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi")],
    [("system", "Be brief."), ("user", "One"), ("assistant", "1"), ("user", "Two"), ("assistant", "2")],
    [("user", "  spaces \n"), ("assistant", "\n\u00a0 around\t \u3000")],
    [("system", " \n S \n"), ("user", "\u00e9\u4e2d\U0001f600"), ("assistant", "a\n\nb")],
    [("user", ""), ("assistant", "an empty question")],
    [("user", "quotes <b> & 'x' \"y\" {{ z }}"), ("assistant", "{% if %}")],
    [("user", "A"), ("assistant", "\n\n  a\n"), ("user", "B"), ("assistant", "\n\nb \n"),
     ("user", "C"), ("assistant", " c ")],
    [("user", "A"), ("assistant", "<think>\nwhy a\n</think>\n\na"), ("user", "B"),
     ("assistant", "<think>why <think>\n\nb</think>not</think>\nb")],
    [("user", "A"), ("assistant", "<think>\n\n</think>\n\na")],
    [("user", "A"), ("assistant", "reasons\n\n</think>"), ("user", "B"), ("assistant", "<think>b")],
]


def fail(message):
    raise TemplateError(message)


def read_packages(folder):
    with tarfile.open(os.path.join(folder, LLAMA_CPP + ".tar.gz")) as archive:
        for _, package, path, _ in TEMPLATES:
            if package == LLAMA_CPP:
                yield package, path, archive.extractfile(f"{package}/{path}").read().decode()
    for wheel in (TRL, AXOLOTL):
        with zipfile.ZipFile(os.path.join(folder, wheel)) as archive:
            for _, package, path, _ in TEMPLATES:
                if package == wheel:
                    yield package, path, archive.read(path).decode()


def entry_of(source, name):
    """The template of an entry of llama.cpp's test, a C++ literal."""
    at = source.index('/* .name= */ "' + name + '"')
    literal = re.compile(r'template_str= \*/ ((?:"(?:[^"\\]|\\.)*"\s*)+)').search(source, at)[1]
    return ast.literal_eval("(" + literal + ")")


def renderer(text, begin, end):
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.globals["raise_exception"] = fail
    template = environment.from_string(text)

    def render(turns, prompt):
        messages = [{"role": role, "content": words} for role, words in turns]
        try:
            return template.render(messages=messages, add_generation_prompt=prompt,
                                   bos_token=begin, eos_token=end)
        except TemplateError:
            return None

    return render


def mistrals_own(spm):
    text = generate_chat_template(
        spm=spm, tokenizer_version=TokenizerVersion.v3, image_support=False, audio_support=False,
        thinking_support=False, default_system_prompt=None, plain_thinking_support=False,
        use_special_token_variables=True, model_settings_fields=None, reasoning_effort_values=None,
        reasoning_effort_default=None)
    return renderer(text, "<s>", "</s>")


def main():
    sources = {(package, path): text for package, path, text in read_packages(sys.argv[1])}
    templates = os.path.join(sys.argv[1], "templates")
    os.makedirs(templates, exist_ok=True)
    goldens = []
    digests = {}
    # The published templates of v3 leave the system's words out where the last turn is an answer;
    # Mistral's own, newer ones say them before the last question there too.
    own = {"mistral-v3": mistrals_own(True), "mistral-nemo": mistrals_own(False)}
    for model, package, path, entry in TEMPLATES:
        text = sources[package, path]
        if entry is not None:
            text = entry_of(text, entry)
        digests[model] = hashlib.sha256(text.encode()).hexdigest()
        with open(os.path.join(templates, model + ".jinja"), "w", encoding="utf-8",
                  newline="") as file:
            file.write(text)
        if model.startswith("refused-"):
            continue
        is_llama = model.startswith("llama")
        render = renderer(text, "<|begin_of_text|>" if is_llama else "<s>", "</s>")
        for turns in CONVERSATIONS:
            chat = render
            if turns[0][0] == "system" and model in own:
                chat = own[model]
            goldens.append({"model": model, "turns": turns, "chat": chat(turns),
                            "prompt": render(turns[:-1], True)})
    json.dump({"templates": digests, "goldens": goldens}, sys.stdout, ensure_ascii=True, indent=1)
    print()


main()
