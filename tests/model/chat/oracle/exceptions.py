"""Where the program differs from transformers on purpose, or transformers is wrong."""


def reason(what, case, ours):
    """Why this difference is expected; None if it is not."""
    return None
