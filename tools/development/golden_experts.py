"""Development only: what make_goldens.py needs to know about mixtures of experts.

transformers keeps the experts of a layer in one tensor, whatever they are on disk, and says of its routers only what
the release at hand returns. Here every tensor on disk is a parameter of its own, and the logits of the routers are
recorded as they are before any softmax.
"""
import contextlib
import dataclasses

import torch


class FusedExperts(torch.nn.Module):
    """As a parametrization: the fused tensor of a layer is made of `parts` matrices for each expert, one below the
    other. These are the parameters then: they get the gradients, and each can be frozen by itself."""

    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, *matrices):
        experts = range(0, len(matrices), self.parts)
        return torch.stack([torch.cat(matrices[first:first + self.parts]) for first in experts])

    def right_inverse(self, fused):
        return [part.clone() for expert in fused for part in expert.chunk(self.parts)]


def expert_layers(text):
    """The numbers of the decoder's layers that have experts."""
    return [i for i, layer in enumerate(text.layers) if hasattr(layer.mlp, "experts")]


def split_experts(text):
    """Makes the matrices of each expert parameters of their own, as mixtral and qwen3_moe have them on disk. gpt_oss
    has fused tensors there, too."""
    for index in expert_layers(text):
        experts = text.layers[index].mlp.experts
        if hasattr(experts, "gate_up_proj_bias"):
            continue
        for name, parts in [("gate_up_proj", 2), ("down_proj", 1)]:
            torch.nn.utils.parametrize.register_parametrization(experts, name, FusedExperts(parts))


@dataclasses.dataclass
class Routing:
    """What the routers of a forward pass computed, a list item for each layer with experts."""
    logits: list = dataclasses.field(default_factory=list)  # [tokens, experts], before any softmax
    chosen: list = dataclasses.field(default_factory=list)  # [tokens, experts per token]

    def least_gap(self):
        """By how much the last expert that was chosen is ahead of the next one, at least. Infinite without experts."""
        gaps = [torch.inf]
        for logits, chosen in zip(self.logits, self.chosen):
            best = logits.detach().topk(chosen.shape[-1] + 1).values
            gaps.append((best[:, -2] - best[:, -1]).min().item())
        return min(gaps)

    def kept(self, mask):
        """For the tokens whose mask is not 0, all layers in one: their logits and their choices."""
        rows = mask.flatten().bool()
        return torch.cat([one[rows] for one in self.logits]), torch.cat([one[rows] for one in self.chosen])

    def counts(self, mask):
        """By layer, how many of the tokens that count chose each expert."""
        rows = mask.flatten().bool()
        return [torch.bincount(chosen[rows].flatten(), minlength=logits.shape[-1]).tolist()
                for logits, chosen in zip(self.logits, self.chosen)]

    def shares(self, mask):
        """f and P of the auxiliary loss by expert: the share of tokens that chose it, and its mean probability."""
        logits, chosen = self.kept(mask)
        counts = torch.bincount(chosen.flatten(), minlength=logits.shape[-1])
        return counts / len(logits), torch.softmax(logits, dim=-1).mean(dim=0)

    def loss(self, mask):
        """The auxiliary loss: experts x sum over the experts of f P."""
        shares, probabilities = self.shares(mask)
        return len(shares) * (shares * probabilities).sum()


@contextlib.contextmanager
def record_routers(text):
    """Yields the Routing of the forward passes inside."""
    routing = Routing()

    def record(router, args, output):
        hidden = args[0].reshape(-1, args[0].shape[-1])
        logits = torch.nn.functional.linear(hidden, router.weight, getattr(router, "bias", None))
        chosen = logits.detach().topk(router.top_k).indices
        assert torch.equal(chosen.sort().values, output[-1].sort().values), "these are the logits that the router used"
        routing.logits.append(logits)
        routing.chosen.append(chosen)

    routers = [getattr(text.layers[i].mlp, "router", None) or text.layers[i].mlp.gate for i in expert_layers(text)]
    hooks = [router.register_forward_hook(record) for router in routers]
    try:
        yield routing
    finally:
        for hook in hooks:
            hook.remove()
