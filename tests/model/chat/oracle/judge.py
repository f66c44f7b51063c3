"""What transformers makes of a conversation: text, ids and mask, or the error that it raises."""

import datetime
import functools

import jinja2
from transformers.utils import chat_template_utils
from transformers.utils import logging

logging.set_verbosity_error()

NOW = datetime.datetime(2024, 7, 26)


class FixedClock:
    """Stands in for the class datetime, so that strftime_now gives the same every day."""

    @staticmethod
    def now():
        return NOW


chat_template_utils.datetime = FixedClock


@functools.lru_cache
def has_generation(template):
    """"": no {% generation %}; "plain": in the template's own text; "buffered": in a set, macro, call or
    filter, where transformers takes the place in the text from the wrong one."""
    environment = chat_template_utils._compile_jinja_template(template).environment
    tree = environment.parse(template)
    nodes = jinja2.nodes

    def is_generation(node):
        return (isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute)
                and node.call.node.name == "_generation_support")

    found = set()

    def walk(node, buffered):
        if is_generation(node):
            found.add(buffered)
        elif isinstance(node, (nodes.Macro, nodes.CallBlock, nodes.AssignBlock, nodes.FilterBlock)):
            buffered = True
        elif isinstance(node, nodes.For) and node.recursive:
            buffered = True
        for child in node.iter_child_nodes():
            walk(child, buffered)

    walk(tree, False)
    return "" if not found else "buffered" if True in found else "plain"


def marks_change_text(template, tokenizer, record, add_generation_prompt, text):
    """Whether the marks that sanitize_control_tokens puts around quoted tokens change what the template
    writes, or are torn apart by it. Then its ids are not those of the text."""
    marked, tools, _, _ = tokenizer._mark_chat_inputs(
        template, [[{k: v for k, v in m.items() if v is not None} for m in record["messages"]]],
        record.get("tools"), None, {}, True, False)
    rendered = tokenizer.apply_chat_template(marked[0], tools=tools, chat_template=template, tokenize=False,
                                             add_generation_prompt=add_generation_prompt)
    start, end = chat_template_utils._CONTROL_TOKEN_START, chat_template_utils._CONTROL_TOKEN_END
    _, pairs = chat_template_utils._get_control_token_patterns(tuple(tokenizer.added_tokens_encoder))
    alone = [m for m in pairs.finditer(rendered) if m.group(1) is None]
    return bool(alone) or rendered.replace(start, "").replace(end, "") != text


def judge(template, tokenizer, record, add_generation_prompt, quotes):
    """{"text", "ids"} and with {% generation %} "mask", or {"error"}. `quotes`: words of the record
    spell control tokens, so ids are those of sanitize_control_tokens=True and there is no mask."""
    arguments = {"tools": record.get("tools"), "chat_template": template,
                 "add_generation_prompt": add_generation_prompt}
    try:
        text = tokenizer.apply_chat_template(record["messages"], tokenize=False, **arguments)
    except Exception as e:  # of any kind: what a template may do is not bounded
        return {"error": "%s: %s" % (type(e).__name__, e)}
    result = {"text": text}
    try:
        result["ids"] = list(tokenizer.apply_chat_template(
            record["messages"], sanitize_control_tokens=quotes, return_dict=True,
            **arguments)["input_ids"])
    except Exception as e:
        result["ids_error"] = "%s: %s" % (type(e).__name__, e)
        return result
    if not quotes and has_generation(template) == "plain":
        result["mask"] = list(tokenizer.apply_chat_template(
            record["messages"], return_dict=True, return_assistant_tokens_mask=True,
            **arguments)["assistant_masks"])
    return result
