#!/usr/bin/env python3
"""Development only: the shapes of experiments/long_context trained by PyTorch, for step time and peak memory.

usage: long_context_sdpa.py TOKENS... [--sample TOKENS] [--threads N] [--steps N]

For each number of tokens it trains one sequence a step: as one sample, and, with --sample, packed with samples of that
length. The model is that of experiments/long_context/measured.json (a llama: RMS norm, rotary positions, SwiGLU) in
fp32, with F.scaled_dot_product_attention(is_causal=True), gradient checkpointing of every layer, the head in pieces of
1,024 tokens (so that the logits of a whole sequence never exist, as in horizon), and AdamW after clipping. Packed
samples are a batch for attention and one row for everything else, which costs what a block-diagonal mask has to cost
at least. Each length runs in a process of its own, so that its peak memory is its own. Needs torch.

Prints a line of JSON for each run: tokens, sample, step_seconds (the median of the steps after the first),
peak_rss_bytes, start_rss_bytes (before the model was made, with torch loaded), threads, torch.
"""
import argparse
import json
import multiprocessing
import resource
import statistics
import time

LAYERS, HIDDEN, INTERMEDIATE, VOCAB, HEAD_DIM = 2, 128, 344, 4096, 64
LOSS_TOKENS = 1024


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def make_model(torch):
    from torch import nn
    from torch.nn import functional as F

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(HIDDEN))

        def forward(self, x):
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    def linear(inputs, outputs):
        return nn.Linear(inputs, outputs, bias=False)

    def rotate(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-second, first), dim=-1) * sin

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_norm, self.feed_forward_norm = Norm(), Norm()
            self.q, self.k, self.v, self.o = (linear(HIDDEN, HIDDEN) for _ in range(4))
            self.gate, self.up = linear(HIDDEN, INTERMEDIATE), linear(HIDDEN, INTERMEDIATE)
            self.down = linear(INTERMEDIATE, HIDDEN)

        def forward(self, x, cos, sin):
            shape = (*x.shape[:2], HIDDEN // HEAD_DIM, HEAD_DIM)
            normed = self.attention_norm(x)
            q, k, v = (project(normed).view(shape).transpose(1, 2) for project in (self.q, self.k, self.v))
            attended = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
            x = x + self.o(attended.transpose(1, 2).reshape(x.shape))
            normed = self.feed_forward_norm(x)
            return x + self.down(F.silu(self.gate(normed)) * self.up(normed))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, HIDDEN)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = Norm()
            self.head = linear(HIDDEN, VOCAB)

        def piece_loss(self, x, labels):
            return F.cross_entropy(self.head(x), labels, reduction="sum")

        def forward(self, ids, labels):
            from torch.utils.checkpoint import checkpoint
            rates = 10000.0 ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float32) / HEAD_DIM)
            angles = torch.outer(torch.arange(ids.shape[1], dtype=torch.float32), rates)
            angles = torch.cat((angles, angles), dim=-1)
            cos, sin = angles.cos(), angles.sin()
            x = self.embedding(ids)
            for layer in self.layers:
                x = checkpoint(layer, x, cos, sin, use_reentrant=False)
            x = self.norm(x).view(-1, HIDDEN)
            flat = labels.view(-1)
            loss = 0
            for begin in range(0, len(flat), LOSS_TOKENS):
                loss = loss + checkpoint(self.piece_loss, x[begin:begin + LOSS_TOKENS],
                                         flat[begin:begin + LOSS_TOKENS], use_reentrant=False)
            return loss / len(flat)

    return Model()


def measure(tokens, sample, threads, steps, answer):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    start = peak_rss_bytes()
    model = make_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    seconds = []
    for _ in range(steps + 1):
        ids, labels = (torch.randint(VOCAB, (tokens // sample, sample)) for _ in range(2))
        begin = time.perf_counter()
        model(ids, labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - begin)
    answer.put({"tokens": tokens, "sample": sample, "step_seconds": statistics.median(seconds[1:]),
                "peak_rss_bytes": peak_rss_bytes(), "start_rss_bytes": start, "threads": threads,
                "torch": torch.__version__})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tokens", type=int, nargs="+")
    parser.add_argument("--sample", type=int, help="also run with rows packed with samples of so many tokens")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2, help="measured steps; one more is made before them")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    for tokens in options.tokens:
        samples = [tokens]
        if options.sample and options.sample < tokens:
            if tokens % options.sample:
                parser.error(f"{tokens} tokens are no whole number of samples of {options.sample}")
            samples.append(options.sample)
        for sample in samples:
            answer = context.Queue()
            process = context.Process(target=measure,
                                      args=(tokens, sample, options.threads, options.steps, answer))
            process.start()
            while True:
                process.join(timeout=0.2)
                if not answer.empty():
                    print(json.dumps(answer.get()), flush=True)
                    process.join()
                    break
                if process.exitcode is not None:
                    raise SystemExit(f"the run of {tokens} tokens ended with {process.exitcode}")


if __name__ == "__main__":
    main()
