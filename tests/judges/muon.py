#!/usr/bin/env python3
"""Training with --optimizer muon must change a model as PyTorch's Muon and AdamW do.

    muon.py BIN [FAMILY]...    BIN: the directory of the tools

The twins are some of families.py's, and of GPT-2 besides.  A text is one window of tokens, so that all steps have the
same batch.  torch.optim.Muon updates the matrices of the blocks, q, k, v, gate and up each apart, torch.optim.AdamW all
other parameters.  Two comparisons for each twin:

  - STEPS steps, here and by PyTorch in float32, each compared with PyTorch in double precision: the changes of the
    parameters, by the norm of the difference, with the limits and the means over texts of families_grad.py.
    torch.optim.Muon makes matrices orthogonal in bf16, whatever type they have, and by another polynomial: orthogonal()
    replaces that function of PyTorch.  1 and 2 threads of tg-train must give the same bytes.
  - one step: the update of a matrix has the singular vectors of its gradient in double precision, to ONCE times what
    PyTorch's float32 is away plus FLOOR, and singular values that are within NEAR of 1, where the gradient's are not
    small.

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
ONCE, FLOOR, NEAR = 30, 1e-3, 0.28
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

def polynomials(n):
    """Of each round (c0, c1, c2), n being the lesser dimension: those that are nearest to 1 on the singular values that
    the round before leaves of an interval up to 1."""
    if n <= 256:  # from 0.01 on
        return ((8.09337, -23.62043, 17.44615), (3.63659, -2.72193, 0.53655), (2.66130, -1.97715, 0.45262))
    return ((8.47033, -25.10808, 18.62928), (4.18283, -3.10870, 0.58061), (3.96186, -2.95406, 0.56298),
            (3.28659, -2.46472, 0.50736), (2.27375, -1.64466, 0.41619))  # from 0.001 on


def orthogonal(u, coefficients, rounds, eps):
    """In u's own type; PyTorch's coefficients and number of rounds are not used."""
    if u.shape[0] > u.shape[1]:
        return orthogonal(u.T, coefficients, rounds, eps).T
    x = u / u.norm().clamp(min=eps)
    for a, b, c in polynomials(len(u)):
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


def theirs(model, ids, steps):
    """The change of each parameter; the model is afterwards as before."""
    torch.nn.functional.softmax = softmax_of(model)
    state, before = {n: p.detach().clone() for n, p in model.named_parameters()}, values(model)
    with mock.patch.object(_muon, "_zeropower_via_newtonschulz", orthogonal):
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


def frame(model, ids):
    """(name, rows or columns, P, s, Q) of each matrix: its gradient is P diag(s) Q^T."""
    model.zero_grad()
    torch.nn.functional.softmax = softmax_of(model)
    torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits[0], ids[0, 1:]).backward()
    names = {id(p): [] for p in model.parameters()}
    for name, p, rows in parts(model):
        names[id(p)].append((name, rows))
    for p, index in matrices(model):
        name, rows = next((n, r) for n, r in names[id(p)] if isinstance(index, tuple) or torch.equal(r, index))
        P, s, Q = np.linalg.svd(p.grad[index].numpy(), full_matrices=False)
        yield name, index if isinstance(index, tuple) else slice(None), p.detach()[rows].numpy(), P, s, Q


def within(change, columns, w, P, Q):
    """P^T o Q, for the o that a change of w by one step is of."""
    w, change = w[columns], change[columns]
    return P.T @ (-(change / RATE + DECAY * w) / (0.2 * np.sqrt(max(w.shape)))) @ Q.T


def judge_orthogonal(family):
    """One step: it has the singular vectors of the gradient, and values near 1."""
    off, bad = [], 0
    for i in TWINS:
        with twin(family, i, SHAPES[i]) as (where, path, model, double):
            ids = text(i, 0, SHAPES[i][6])
            mine, peer = ours(path, ids, SHAPES[i][6], where, model, 1), theirs(model, ids, 1)
            for name, columns, w, P, s, Q in frame(double, ids):
                m, p = (within(x[name], columns, w, P, Q) for x in (mine, peer))
                values, strong = np.diag(m), s > 0.01 * np.linalg.norm(s)
                apart_m, apart_p = (np.abs(x - np.diag(np.diag(x))).max() for x in (m, p))
                far = apart_m > ONCE * apart_p + FLOOR or (np.abs(values[strong] - 1) > NEAR).any() or values.min() < -NEAR
                if far:
                    print(f"{family} {i}: {name}: singular values {values.min():.2f} to {values.max():.2f}, "
                          f"{apart_m:.1e} apart, PyTorch's float32 {apart_p:.1e}")
                bad += far
                off.append((apart_m, apart_p))
    (m, p) = np.median(off, axis=0)
    print(f"{family}: {len(off)} updates have their gradient's singular vectors, {m:.1e} apart in the median "
          f"(PyTorch's float32 {p:.1e}), and values near 1: {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(any([judge(f, compare, TWINS, "changes") + judge_orthogonal(f) for f in sys.argv[2:] or FAMILIES]))
