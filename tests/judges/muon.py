#!/usr/bin/env python3
"""Training with --optimizer muon must change a model as PyTorch's Muon and AdamW do.

    muon.py BIN [FAMILY]...    BIN: the directory of the tools

The twins are some of families.py's, and of GPT-2 besides.  A text is one window of tokens, so that all steps have the
same batch.  torch.optim.Muon updates the matrices of the blocks, q, k, v, gate and up each apart, torch.optim.AdamW all
other parameters.  Two comparisons for each twin:

  - STEPS steps, here and by PyTorch in float32, each compared with PyTorch in double precision: the changes of the
    parameters, by the norm of the difference, with the limits and the means over texts of families_grad.py.
    torch.optim.Muon makes matrices orthogonal in bf16, whatever type they have: in these runs newton_schulz() replaces
    that function of PyTorch.  1 and 2 threads must give the same bytes here.
  - one step by torch.optim.Muon as it is: for each of its matrices, tg's update may be CLOSE times as far from that one
    as PyTorch's in double precision is, plus FLOOR, again by the norm.  PyTorch's distance is bf16's own error: a
    hundredth or two, and up to a quarter where a matrix has small singular values.

The attention of transformers' float32 is PyTorch's fused one where a family has that.  The gradient of a bias of keys
that are not rotated is 0, and AdamW makes what rounding leaves of it as large as any other: more is left where
probabilities are computed again for backward, as here and in the fused one.  Prints two lines for each family; exits
with 1 if one says DIFFERS.
"""
import contextlib
import filecmp
import os
import subprocess
import sys
import tempfile
from unittest import mock

import numpy as np
import torch
from torch.optim import _muon

import families
import lens  # noqa: F401  GPT-2 among the families
from families import SHAPES, TOKENS, saved_twin, softmax_of
from families_grad import FEW, MANY, apart, judge, outside, text

STEPS = 20
RATE, DECAY, CLIP = 1e-3, 0.1, 1.0  # no schedule
CLOSE, FLOOR = 1.01, 1e-4
TWINS = (0, 4, 6, 7)  # no window of 1: where a token sees itself alone, the gradients of q and k are rounding errors
EAGER = ("gemma2",)  # its caps are left out otherwise

FAMILIES = [f for f in families.FAMILIES if f != "gemma3"]  # its text model is gemma3_text


# ---- the parameters, as files have them

def parts(model):
    """(name in files, parameter, its rows) of each."""
    for name, p in model.named_parameters():
        name = name.removeprefix("transformer.")
        if model.config.model_type == "gpt_neox":
            name = name.replace("lm_head", "embed_out")
        for part, rows in apart(name, np.arange(len(p)), model.config).items():
            yield part, p, torch.from_numpy(rows)


def values(model):
    return {name: p.detach()[rows].double().numpy() for name, p, rows in parts(model)}


def matrices(model):
    """(parameter, index) of each matrix that is made orthogonal."""
    for name, p, rows in parts(model):
        if "c_attn.weight" in name:
            for columns in torch.arange(p.shape[1]).chunk(3):
                yield p, (slice(None), columns)
        elif p.ndim == 2 and ("layers." in name or name.startswith("h.")):
            yield p, rows


# ---- PyTorch

def newton_schulz(u, coefficients, rounds, eps):
    """In u's own type."""
    if u.shape[0] > u.shape[1]:
        return newton_schulz(u.T, coefficients, rounds, eps).T
    a, b, c = coefficients
    x = u / u.norm().clamp(min=eps)
    for _ in range(rounds):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


def optimizers(model, copies, updated):
    """Of copies of the matrices, and of the parameters of which none is updated by the first."""
    others = [p for p in model.parameters() if not any(p is q for q in updated)]
    return (torch.optim.Muon(copies, lr=RATE, weight_decay=DECAY, momentum=0.95, nesterov=True,
                             adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW([{"params": [p for p in others if p.ndim == 2], "weight_decay": DECAY},
                               {"params": [p for p in others if p.ndim != 2], "weight_decay": 0}],
                              lr=RATE, betas=(0.9, 0.99), eps=1e-8))


def train(model, ids, steps):
    where = list(matrices(model))
    copies = [p.detach()[index].clone().requires_grad_() for p, index in where]
    muon, adamw = optimizers(model, copies, [p for p, _ in where])
    for _ in range(steps):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits[0], ids[0, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for copy, (p, index) in zip(copies, where):
            copy.grad = p.grad[index]
        muon.step()
        adamw.step()
        with torch.no_grad():
            for copy, (p, index) in zip(copies, where):
                p[index] = copy


def theirs(model, ids, steps, bf16=False):
    """The change of each parameter; the model is afterwards as before."""
    torch.nn.functional.softmax = softmax_of(model)
    state, before = {n: p.detach().clone() for n, p in model.named_parameters()}, values(model)
    with contextlib.nullcontext() if bf16 else mock.patch.object(_muon, "_zeropower_via_newtonschulz", newton_schulz):
        train(model, ids, steps)
    change = {name: w - before[name] for name, w in values(model).items()}
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(state[name])
    return change


# ---- tg-train

def trained(path, ids, V, where, steps, threads=1):
    tokens, out = os.path.join(where, "tokens.npz"), os.path.join(where, f"trained-{threads}.npz")
    np.savez(tokens, **{"kind": np.bytes_("tokens"), "version": np.int64(1), "tokenizer/kind": np.bytes_("ids"),
                        "tokenizer/vocab_size": np.int64(V),
                        "tokens/00000000": ids[0].numpy().astype("<u2" if V > 256 else "u1")})
    subprocess.run([os.path.join(sys.argv[1], "tg-train"), "-q", "-m", path, "-o", out, "--force",
                    "--steps", str(steps), "--optimizer", "muon", "--batch", "1", "--context", str(TOKENS),
                    "--lr", str(RATE), "--min-lr", str(RATE), "--warmup", "0", "--weight-decay", str(DECAY),
                    "--clip", str(CLIP), "--val-fraction", "0", "--precision", "float32", "--threads", str(threads),
                    tokens], check=True, stderr=subprocess.PIPE)
    return out


def ours(path, ids, V, where, model, steps=STEPS):
    with np.load(trained(path, ids, V, where, steps)) as z:
        return {name: z[name].astype(np.float64) - w for name, w in values(model).items()}


# ---- comparisons

def distances(got, want):
    """Of each parameter: the norm of the difference, divided by the norm."""
    assert got.keys() == want.keys() and all(got[n].shape == want[n].shape for n in want), got.keys() ^ want.keys()
    return [np.linalg.norm(got[n] - w) / np.linalg.norm(w) for n, w in want.items()]


@contextlib.contextmanager
def twin(family, i, shape):
    """A directory, the twin in it, and both of transformers' models."""
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "twin")
        model, double = saved_twin(path, family, i, shape)
        for m in (model, double):
            m.eval()
            m.get_input_embeddings().padding_idx = None  # whose row PyTorch gives no gradient
        if family not in EAGER:
            model.set_attn_implementation("sdpa")
        yield where, path, model, double


def compare(family, i, shape):
    """Names, and the differences of tg and of PyTorch's float32, [texts, parameters]."""
    mine, peer = [], []
    with twin(family, i, shape) as (where, path, model, double):
        for t in range(MANY):
            ids = text(i, t, shape[6])
            want = theirs(double, ids, STEPS)
            mine.append(distances(ours(path, ids, shape[6], where, model), want))
            peer.append(distances(theirs(model, ids, STEPS), want))
            if t == 0:
                files = [trained(path, ids, shape[6], where, STEPS, threads) for threads in (1, 2)]
                assert filecmp.cmp(*files, shallow=False), (family, i, "threads change bytes")
            if t + 1 == FEW and not outside(np.array(mine), np.array(peer)).any():
                break
    return list(want), np.array(mine), np.array(peer)


def judge_bf16(family):
    """One step by torch.optim.Muon as it is."""
    off = []
    for i in TWINS:
        with twin(family, i, SHAPES[i]) as (where, path, model, double):
            ids = text(i, 0, SHAPES[i][6])
            want = theirs(model, ids, 1, bf16=True)
            mine, exact = ours(path, ids, SHAPES[i][6], where, model, 1), theirs(double, ids, 1)
            for name in {name for name, p, _ in parts(model) for q, _ in matrices(model) if p is q}:
                off.append([np.linalg.norm(x[name] - want[name]) / np.linalg.norm(want[name]) for x in (mine, exact)])
    off = np.array(off)
    bad = off[:, 0] > CLOSE * off[:, 1] + FLOOR
    (most, its), (median, their) = off.max(axis=0), np.median(off, axis=0)
    print(f"{family}: {len(off)} updates of matrices, at most {most:.2f} away from PyTorch's in bf16, "
          f"median {median:.1e} (PyTorch in double precision {its:.2f}, {their:.1e}): "
          f"{'DIFFERS' if bad.any() else 'ok'}", flush=True)
    return bad.any()


if __name__ == "__main__":
    sys.exit(any([judge(f, compare, TWINS, "changes") + judge_bf16(f) for f in sys.argv[2:] or FAMILIES]))
