#!/usr/bin/env python3
"""tg-patch's metrics after each patch and ablation against transformers with hooks, in double precision.

    patch.py BIN [FAMILY]...    BIN: the directory of the tools

For random twins of each family (families.py) and of GPT-2: every patch of every site that a hook reaches, in every
layer, at every position, or of every head; each head and MLP ablated with zeros.  A logit difference may be LIMIT of
the largest logit away.  Prints a line for each family; exits with 1 if one says DIFFERS.
"""
import os
import subprocess
import sys
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import families

LIMIT = 1e-5
TOKENS = 9
SHAPES = families.SHAPES[1:4]
FAMILIES = ["gpt2"] + [f for f in families.FAMILIES if f != "gemma3"]  # its text model is gemma3_text


def twin(path, family, i, shape):
    if family != "gpt2":
        return families.saved_twin(path, family, i, shape)[1]
    L, H, _, D, _, _, V, _ = shape
    model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=64, n_embd=H * D, n_layer=L, n_head=H,
                                       bos_token_id=None, eos_token_id=None, attn_implementation="eager")).eval()
    generator = torch.Generator().manual_seed(i)
    for name, p in model.named_parameters():
        mean = 1 if "ln_" in name and name.endswith("weight") else 0
        p.data = mean + torch.randn(p.shape, generator=generator) * (0.3 if p.ndim == 1 else p.shape[0] ** -0.5)
    model.save_pretrained(path)
    return model.double()


def modules(model):
    """Of each layer: the block, what reads z, what reads the units, and what writes q, k and v, where one does each."""
    base = next(m for m in model.modules() if any(hasattr(m, n) for n in ("layers", "h")))
    found = []
    for block in getattr(base, "layers", None) or base.h:
        attention = next(getattr(block, n) for n in ("self_attn", "attention", "attn") if hasattr(block, n))
        out = next(getattr(attention, n) for n in ("o_proj", "dense", "c_proj") if hasattr(attention, n))
        down = next(getattr(block.mlp, n) for n in ("down_proj", "dense_4h_to_h", "c_proj", "fc2") if hasattr(block.mlp, n))
        parts = [getattr(attention, n, None) for n in ("q_proj", "k_proj", "v_proj")]
        if type(attention).__name__.startswith("Olmo2"):
            parts[:2] = attention.q_norm, attention.k_norm  # over all heads at once
        found.append((block, out, down, *parts))
    return found


SITES = {"x": 0, "z": 1, "att": 1, "mlp": 2, "q": 3, "k": 4, "v": 5}


def replaced(x, new, part, position):
    x = x.clone()
    t = slice(None) if position is None else position
    x[:, t, part] = 0 if new is None else new[:, t, part]
    return x


def logits(model, ids, module=None, is_input=True, change=None, keep=None):
    """After the last token; `change` the module's input or output, or `keep` a copy of it."""
    def act(x):
        if keep is not None:
            keep.append(x.clone())
        return change(x) if change else x

    def before(_, args, kwargs):
        return ((act(args[0]), *args[1:]), kwargs) if args else (args, kwargs | {"hidden_states": act(kwargs["hidden_states"])})

    handle = None
    if module is not None:
        handle = module.register_forward_pre_hook(before, with_kwargs=True) if is_input else \
            module.register_forward_hook(lambda _, args, out: act(out))
    torch.nn.functional.softmax = families.softmax_of(model)
    with torch.no_grad():
        out = model(ids).logits[0, -1]
    if handle:
        handle.remove()
    return out


def table(*command):
    done = subprocess.run([os.path.join(sys.argv[1], "tg-patch"), "-q", "-f", "tsv", *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def number(text):
    return int(text) if text else None


def compare(family, i, shape):
    """The largest distance, and how many patches there were."""
    L, H, KV, _, _, _, V, _ = shape
    generator = torch.Generator().manual_seed(i)
    clean = torch.randint(0, V, (1, TOKENS), generator=generator)
    corrupt = clean.clone()
    corrupt[0, 2:5] = torch.randint(0, V, (3,), generator=generator)
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "twin")
        model = twin(path, family, i, shape)
        plain = logits(model, corrupt)
        scale = plain.abs().max().item()
        layers = modules(model)
        options = ["-m", path, "--ids", " ".join(map(str, clean[0].tolist())), "--corrupt-ids",
                   " ".join(map(str, corrupt[0].tolist())), "--answer-id", "3", "--wrong-id", "5"]
        worst, n = 0, 0

        def check(line, got):
            nonlocal worst, n
            worst, n = max(worst, abs(float(line["metric"]) - (got[3] - got[5]).item()) / scale), n + 1

        for site, at in SITES.items():
            if layers[0][at] is None:
                continue
            heads = {"q": H, "z": H, "k": KV, "v": KV}.get(site, 0) if family != "gpt2" else {"z": H}.get(site, 0)
            for each in ["position", "layer"] + (["head", "both"] if heads else []):
                kept = {}
                for line in table(*options, "--site", site, "--each", each):
                    l, h, t = (number(line[name]) for name in ("layer", "head", "t"))
                    module = layers[l][at]
                    if l not in kept:
                        kept[l] = []
                        logits(model, clean, module, at < 3, keep=kept[l])
                    D = kept[l][0].shape[-1] // (heads or 1)
                    part = slice(None) if h is None else slice(h * D, (h + 1) * D)
                    check(line, logits(model, corrupt, module, at < 3, lambda x: replaced(x, kept[l][0], part, t)))
        for line in table(*options, "--ablate", "zero")[2:]:
            l, h = line["case"].removeprefix("without:").split(".")
            module = layers[int(l)][2 if h == "mlp" else 1]
            size = (layers[int(l)][1].weight.shape[1 if family != "gpt2" else 0]) // H
            part = slice(None) if h == "mlp" else slice(int(h) * size, (int(h) + 1) * size)
            check(line, logits(model, clean, module, True, lambda x: replaced(x, None, part, None)))
    return worst, n


def main():
    bad = 0
    for family in sys.argv[2:] or FAMILIES:
        found = [compare(family, i, shape) for i, shape in enumerate(SHAPES)]
        worst, n = max(f[0] for f in found), sum(f[1] for f in found)
        bad += not worst <= LIMIT
        print(f"{'ok' if worst <= LIMIT else 'DIFFERS':8} {family:12} {n:6} patches, at most {worst:.1e} away")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
