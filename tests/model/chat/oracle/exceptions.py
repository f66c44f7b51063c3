"""Where the program differs from transformers on purpose, or transformers is wrong."""

PARTS = "the chat template prints content that is a list of parts"


def reason(what, case, ours):
    """Why this difference is expected; None if it is not."""
    if what == "text" and case.conversation == "parts" and PARTS in ours.get("error", ""):
        return "a list of parts printed as Python prints lists is refused"
    if what == "mask":
        return mask_reason(case, ours)
    return None


def mask_reason(case, ours):
    tokens = case.tokenizer.transformers.convert_ids_to_tokens(case.theirs["ids"])
    pairs = list(zip(tokens, case.theirs["mask"], ours["mask"]))
    reasons = set()
    for at, (token, theirs, mine) in enumerate(pairs):
        if theirs == mine:
            continue
        previous = pairs[at - 1] if at else ("", 0, 0)
        if mine and token.startswith("<0x") and previous[2] and previous[0].startswith("<0x"):
            reasons.add("transformers leaves out all but the first byte of the last character")
        elif theirs and not token.strip("\u010a\n") and previous[2]:
            reasons.add("the line break behind the end token is in {% generation %} of trl's template")
        else:
            return None
    return "; ".join(sorted(reasons))
