#!/usr/bin/env python3
"""make_goldens.py FOLDER... > goldens.json

What the chat templates of real models make of some conversations. A FOLDER is a model's, named as
in chat_format_test.cc (qwen2.5, llama-3, ...), with the tokenizer_config.json it was published
with. Needs jinja2, set up as transformers does it; where that package refuses a conversation (a
system turn, for some) there is no golden.
"""
import json
import os
import sys

from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONVERSATIONS = [
    [("user", "What is 2 + 2?"), ("assistant", "4")],
    [("user", "One"), ("assistant", "1"), ("user", "Two"), ("assistant", "2")],
    [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi")],
    [("system", "Be brief."), ("user", "One"), ("assistant", "1"), ("user", "Two"), ("assistant", "2")],
    [("user", "  spaces \n"), ("assistant", "\n\u00a0 around\t \u3000")],
    [("system", " \n S \n"), ("user", "\u00e9\u4e2d\U0001f600"), ("assistant", "a\n\nb")],
    [("user", ""), ("assistant", "an empty question")],
    [("user", "quotes <b> & 'x' \"y\" {{ z }}"), ("assistant", "{% if %}")],
]


def fail(message):
    raise TemplateError(message)


def token(value):
    return value["content"] if isinstance(value, dict) else value or ""


def main():
    goldens = []
    for folder in sys.argv[1:]:
        with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as file:
            config = json.load(file)
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = fail
        template = environment.from_string(config["chat_template"])

        def render(turns, prompt):
            messages = [{"role": role, "content": words} for role, words in turns]
            try:
                return template.render(messages=messages, add_generation_prompt=prompt,
                                       bos_token=token(config.get("bos_token")),
                                       eos_token=token(config.get("eos_token")))
            except TemplateError:
                return None

        for turns in CONVERSATIONS:
            model = os.path.basename(os.path.normpath(folder))
            has_system = turns[0][0] == "system"
            # Mistral's templates say the system's words only before a question without an answer.
            # horizon says them before the first question, as it must to learn the answers to it.
            moved = "[INST]" in config["chat_template"] and has_system
            goldens.append({
                "model": model,
                "turns": turns,
                "chat": None if moved else render(turns, False),
                "prompt": None if moved and len(turns) > 3 else render(turns[:-1], True),
            })
    json.dump(goldens, sys.stdout, ensure_ascii=True, indent=1)
    print()


main()
