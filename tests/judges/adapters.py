#!/usr/bin/env python3
"""Adapters must have the numbers of Hugging Face's PEFT.

    adapters.py BIN [FAMILY]...    BIN: the directory of the tools

The twins are some of families.py's, with random adapters of rank 1 to 5 to all matrices of the blocks, or to some of
them, with and without use_rslora.  Of each:

  - the gradient of the mean loss by each A and B, here and by PEFT in float32, each compared with PEFT in double
    precision, as in families_grad.py, whose limits these are;
  - a run of STEPS steps of AdamW, whose windows are the same: each loss within CLOSE of PyTorch's in float32, or, where
    rounding decides the signs of updates, at most ONCE times as far from double precision as PyTorch's furthest;
  - PEFT reads what tg-convert --to peft writes, with the same values bit for bit, and the logits of both, and of the
    model that tg-convert has changed by the adapter, are as near to double precision as families.py asks.

Prints lines for each family; exits with 1 if one says DIFFERS.
"""
import copy
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import peft
import torch

import families
import families_grad
import lens  # noqa: F401  GPT-2 among the families
from families import FLOOR, LIMIT, SHAPES, TOKENS, saved_twin, softmax_of, texts
from families_grad import FEW, MANY, ONCE, differences, judge, outside, text

warnings.filterwarnings("ignore")

STEPS = 50
RATE = 3e-4
CLOSE = 1e-5
TWINS = (0, 4, 6, 7)
# PEFT knows the tensors of these by other names, or in another order, than the library
FAMILIES = [f for f in families.FAMILIES if f not in ("gemma3", "gpt_neox", "phi3", "nanochat")]


def matrices(model):
    """The names of the blocks' matrices, within a block."""
    kinds = (torch.nn.Linear, type(model.h[0].attn.c_attn) if hasattr(model, "h") else torch.nn.Linear)
    if model.config.model_type == "gpt2":
        return ["attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"]
    return sorted({".".join(n.split(".")[-2:]) for n, m in model.named_modules()
                   if isinstance(m, kinds) and ".layers." in n})


def with_adapter(model, i):
    """The model with a random adapter."""
    names = matrices(model)
    config = peft.LoraConfig(r=1 + i % 5, lora_alpha=1 + i % 4, use_rslora=i % 2 == 1, lora_dropout=0.1,
                             target_modules=names if i % 3 else names[:2], task_type="CAUSAL_LM")
    changed = peft.get_peft_model(copy.deepcopy(model), config, autocast_adapter_dtype=False)
    torch.manual_seed(1000 + i)
    for name, p in changed.named_parameters():
        if "lora_" in name:
            with torch.no_grad():
                p.copy_(torch.randn(p.shape, dtype=torch.float32) * (0.3 if "lora_B" in name else p.shape[1] ** -0.5))
    return changed.eval()


def own_name(name):
    """Of a parameter of PEFT's model, as in tg's archives."""
    return name.removeprefix("base_model.model.").removeprefix("transformer.").replace(".default", "")


def adapters(model):
    return [(own_name(n), p) for n, p in model.named_parameters() if "lora_" in n]


def theirs(model, ids):
    torch.nn.functional.softmax = softmax_of(model)
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits[0], ids[0, 1:]).backward()
    return {n: p.grad.double().numpy() for n, p in adapters(model)}


def ours(path, adapter, ids, V, where):
    return families_grad.ours(path, ids, V, where, options=("--batch", "1", "--adapter", adapter))


def twin(where, family, i):
    """Directories of a twin and of an adapter, and PEFT's models in float32 and in double precision."""
    path, adapter = os.path.join(where, "twin"), os.path.join(where, "adapter")
    model, double = saved_twin(path, family, i, SHAPES[i])
    single = with_adapter(model, i)
    single.save_pretrained(adapter)
    return path, adapter, single, with_adapter(double, i)


def compare(family, i, shape):
    """As families_grad.py's."""
    mine, peer = [], []
    with tempfile.TemporaryDirectory() as where:
        path, adapter, model, double = twin(where, family, i)
        for t in range(MANY):
            ids = text(i, t, shape[6])
            want = theirs(double, ids)
            mine.append(differences(ours(path, adapter, ids, shape[6], where), want))
            peer.append(differences(theirs(model, ids), want))
            if t + 1 == FEW and not outside(np.array(mine), np.array(peer)).any():
                break
    return list(want), np.array(mine), np.array(peer)


# ---- a run

def losses_of(model, ids):
    parameters = [p for _, p in adapters(model)]
    adamw = torch.optim.AdamW(parameters, lr=RATE, betas=(0.9, 0.99), weight_decay=0)
    torch.nn.functional.softmax = softmax_of(model)
    found = []
    for _ in range(STEPS):
        adamw.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits[0], ids[0, 1:])
        loss.backward()
        adamw.step()
        found.append(float(loss))
    return np.array(found)


def our_losses(path, adapter, ids, V, where):
    log = os.path.join(where, "log.tsv")
    families_grad.ours(path, ids, V, where, options=(
        "--batch", "1", "--adapter", adapter, "--steps", str(STEPS), "--lr", str(RATE), "--min-lr",
        str(RATE), "--warmup", "0", "--log", log), beta1=0.9)
    with open(log) as f:
        column = f.readline().rstrip("\n").split("\t").index("loss")
        return np.array([float(line.split("\t")[column]) for line in f])


# ---- PEFT's files, logits

def tool(name, *options):
    subprocess.run([os.path.join(sys.argv[1], "tg-" + name), "-q", *options, "--force"], check=True)


def our_logits(path, ids, where, *options):
    out = os.path.join(where, "logits.npz")
    tool("eval", "-m", path, "--ids", " ".join(str(int(i)) for i in ids[0]), "--logits", "-o", out, *options)
    with np.load(out) as z:
        return np.concatenate([z[n] for n in sorted(z.files) if n.startswith("logits/")]).astype(np.float64)


def their_logits(model, ids):
    torch.nn.functional.softmax = softmax_of(model)
    with torch.no_grad():
        return model(ids).logits[0].double().numpy()


def same_files(path, adapter, model, ids, V, where):
    """Whether PEFT reads the values that tg-train has written."""
    written = os.path.join(where, "written")
    got = os.path.join(where, "trained.npz")
    families_grad.ours(path, ids, V, where, options=("--batch", "1", "--adapter", adapter))
    tool("convert", path, "--adapter", got, "--to", "peft", "-o", written)
    base = copy.deepcopy(model).unload()
    read = peft.PeftModel.from_pretrained(base, written)
    with np.load(got) as z:
        return all(np.array_equal(z[n], p.detach().numpy()) for n, p in adapters(read))


def distances(path, adapter, model, double, i, where):
    """Of the logits of the model with its adapter, of the changed model, and of PEFT's float32: means over texts."""
    changed = os.path.join(where, "changed.npz")
    tool("convert", path, "--adapter", adapter, "-o", changed)
    off = []
    for ids in texts(i, SHAPES[i][6]):
        want = their_logits(double, ids)
        off.append([np.abs(got - want).max() / max(1, np.abs(want).max()) for got in (
            our_logits(path, ids, where, "--adapter", adapter), our_logits(changed, ids, where),
            their_logits(model, ids))])
    return np.mean(off, axis=0)


def judge_files(family):
    bad, most, apart = 0, 0, 0
    for i in TWINS:
        with tempfile.TemporaryDirectory() as where:
            path, adapter, model, double = twin(where, family, i)
            V = SHAPES[i][6]
            with_it, changed, peer = distances(path, adapter, model, double, i, where)
            ids = text(i, 0, V)
            got, single, exact = (our_losses(path, adapter, ids, V, where), losses_of(copy.deepcopy(model), ids),
                                  losses_of(copy.deepcopy(double), ids))
            step = np.abs(got - single).max()
            same = same_files(path, adapter, model, ids, V, where)
            bad += max(with_it, changed) > LIMIT * peer + FLOOR or not same
            bad += step > CLOSE and np.abs(got - exact).max() > ONCE * np.abs(single - exact).max()
            most, apart = max(most, with_it / peer, changed / peer), max(apart, step)
    print(f"{family}: logits of {len(TWINS)} twins at most {most:.2f} x PEFT's float32, losses of {STEPS} steps within "
          f"{apart:.1e}, files: {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    wanted = sys.argv[2:] or FAMILIES
    sys.exit(any([judge(f, compare, TWINS, "gradients of adapters") + judge_files(f) for f in wanted]))
