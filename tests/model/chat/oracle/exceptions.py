"""Where the program differs from transformers on purpose, or transformers is wrong."""

import judge

PARTS = "the chat template prints content that is a list of parts"


def reason(what, case, ours):
    """Why this difference is expected; None if it is not."""
    if what == "text" and case.conversation == "parts" and PARTS in ours.get("error", ""):
        return "a list of parts printed as Python prints lists is refused"
    if what == "ids" and case.conversation == "quoted control tokens" and judge.marks_change_text(
            case.row["text"], case.tokenizer.transformers, case.record, case.prompt, ours["text"]):
        return "transformers' marks around quoted tokens change what the template writes"
    if what == "mask":
        return mask_reason(case, ours)
    return None


def mask_reason(case, ours):
    """Of the tokens of which only one side is trained, all must be explained."""
    tokens = case.tokenizer.transformers.convert_ids_to_tokens(case.theirs["ids"])
    theirs, mine = case.theirs["mask"], ours["mask"]
    opening = opening_of(case)
    reasons, at = set(), 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and theirs[end] != mine[end] and theirs[end] == theirs[at]:
            end += 1
        if end > at:
            why = run_reason(case, tokens, theirs, mine, at, end, opening)
            if why is None:
                return None
            reasons.add(why)
        at = max(end, at + 1)
    return "; ".join(sorted(reasons))


def run_reason(case, tokens, theirs, mine, begin, end, opening):
    """Why tokens [begin, end) are trained on one side only."""
    trained_before = begin > 0 and mine[begin - 1]
    run = tokens[begin:end]
    if mine[begin]:
        continues = begin > 0 and theirs[begin - 1] and all(t.startswith("<0x") for t in run)
        return "transformers leaves out all but the first byte of a last character" if continues else None
    text = case.tokenizer.transformers.decode(case.theirs["ids"][begin:end])
    if trained_before and not text.strip("\n"):
        return "trl trains the line break behind the end token"
    if trained_before and set(run) <= set(case.tokenizer.transformers.all_special_tokens) | {"\n"}:
        return "trl trains a second end token"
    in_opening = opening.startswith(text.strip()) if text.strip() else opening.endswith(text)
    if opening and in_opening:
        return "trl trains the header, or the line break that ends it"
    return None


def opening_of(case):
    """What the generation prompt begins an answer with."""
    template, tokenizer = case.row["text"], case.tokenizer.transformers
    chat = [{"role": "user", "content": "x"}]
    texts = [judge.judge(template, tokenizer, {"messages": chat}, prompt, False).get("text", "")
             for prompt in (False, True)]
    return texts[1][len(texts[0]):] if texts[1].startswith(texts[0]) else ""
