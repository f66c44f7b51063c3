"""The PyPI package `tokenizers` on the files of tokenizer_benchmark.

    python3 tokenizer_peer.py TOKENIZER_JSON TEXT_FILE

Prints megabytes a second: one by one on one thread (encode), all at once on one and on two threads
(encode_batch_fast, which leaves offsets out).
"""

import os
import sys
import time

import tokenizers


def documents_of(text):
    documents, at = [], 0
    while at < len(text):
        line = text.find(b"\n", at + 4096)
        end = len(text) if line < 0 else line + 1
        documents.append(text[at:end].decode("utf-8", errors="replace"))
        at = end
    return documents


def measure(name, size, run):
    best = None
    for _ in range(3):
        begin = time.perf_counter()
        tokens = run()
        seconds = time.perf_counter() - begin
        best = seconds if best is None else min(best, seconds)
    print("%-28s %8.2f MB/s  %d tokens" % (name, size / best / 1e6, tokens))


def main(json_path, text_path):
    begin = time.perf_counter()
    tokenizer = tokenizers.Tokenizer.from_file(json_path)
    print("load %.3f s" % (time.perf_counter() - begin))
    with open(text_path, "rb") as f:
        text = f.read()
    documents = documents_of(text)
    one = lambda d: len(tokenizer.encode(d, add_special_tokens=False).ids)
    batch = lambda: sum(len(e.ids) for e in
                        tokenizer.encode_batch_fast(documents, add_special_tokens=False))
    if os.environ.get("TOKENIZERS_PARALLELISM") == "false":
        measure("encode, 1 thread", len(text), lambda: sum(one(d) for d in documents))
        measure("encode_batch_fast, 1 thread", len(text), batch)
    else:
        measure("encode_batch_fast, threads", len(text), batch)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        for parallel in ("false", "true"):
            os.system("TOKENIZERS_PARALLELISM=%s %s %s %s %s again" %
                      (parallel, sys.executable, sys.argv[0], sys.argv[1], sys.argv[2]))
    else:
        main(sys.argv[1], sys.argv[2])
