#!/usr/bin/env python3
"""The gradients of families.py's twins must be transformers'.

    families_grad.py BIN [FAMILY]...    BIN: the directory of the tools

For each twin: every parameter's gradient of the mean loss of the next tokens, here and by transformers in float32, each
compared with transformers in double precision.  Here it is AdamW's first moment after a step of tg-train, whose decay
rate is 0.  A gradient is as far away as its largest difference, divided by its largest value.

For a single text that distance is chance to a factor of several, most of all where heads of two channels are normed.
So geometric means over texts are compared: over FEW, and over MANY if tg is then further away than LIMIT times
transformers' float32 plus FLOOR.  On no text it may be further than ONCE times the furthest of transformers' float32.
A gradient that is 0, as that of q where each token sees itself alone, is divided by the model's largest instead.
Prints a line for each family; exits with 1 if one says DIFFERS.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

import families
from families import FLOOR, LIMIT, SHAPES, TOKENS, saved_twin, softmax_of

FEW, MANY = 8, 64
ONCE = 30
TINY = 1e-12  # so that each difference has a logarithm

FAMILIES = [f for f in families.FAMILIES if f != "gemma3"]  # its text model is gemma3_text


def text(i, t, V):
    return torch.randint(0, V, (1, TOKENS + 1), generator=torch.Generator().manual_seed(100 * i + t))


def apart(name, x, config):
    """The parameters that transformers has in one tensor: of GPT-NeoX head by head.  nanochat's q and k have the halves
    of each head exchanged."""
    H = config.num_attention_heads
    if "query_key_value" in name:
        parts = x.reshape(H, 3, -1, *x.shape[1:]).swapaxes(0, 1)
        return {name.replace("query_key_value", part): p.reshape(-1, *x.shape[1:])
                for part, p in zip(("query", "key", "value"), parts)}
    if "qkv_proj" in name:
        Q, KV = H * config.head_dim, config.num_key_value_heads * config.head_dim
        return {name.replace("qkv", part): p for part, p in zip("qkv", np.split(x, (Q, Q + KV)))}
    if config.model_type == "nanochat" and ("q_proj" in name or "k_proj" in name):
        return {name: np.roll(x.reshape(-1, 2, config.head_dim // 2, *x.shape[1:]), 1, axis=1).reshape(x.shape)}
    if "gate_up_proj" in name:
        return {name.replace("gate_up", part): p for part, p in zip(("gate", "up"), np.split(x, 2))}
    return {name: x}


def gradients(model):
    """Of each parameter, under its name in files."""
    out = {}
    for name, p in model.named_parameters():
        if model.config.model_type == "gpt_neox":
            name = name.replace("lm_head", "embed_out")
        out.update(apart(name, p.grad.double().numpy(), model.config))
    return out


def theirs(model, ids):
    torch.nn.functional.softmax = softmax_of(model)
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits[0], ids[0, 1:]).backward()
    return gradients(model)


def ours(path, ids, V, where, arrays={}, options=("--batch", "1"), beta1=0):
    """Also with other arrays in the archive of tokens."""
    tokens, trained = os.path.join(where, "tokens.npz"), os.path.join(where, "trained.npz")
    np.savez(tokens, **{"kind": np.bytes_("tokens"), "version": np.int64(1), "tokenizer/kind": np.bytes_("ids"),
                        "tokenizer/vocab_size": np.int64(V), **arrays,
                        "tokens/00000000": ids[0].numpy().astype("<u2" if V > 256 else "u1")})
    subprocess.run([os.path.join(sys.argv[1], "tg-train"), "-q", "-m", path, "-o", trained, "--force", "--steps", "1",
                    *options, "--context", str(TOKENS), "--beta1", str(beta1), "--clip", "0", "--val-fraction", "0",
                    "--precision", "float32", "--threads", "1", tokens], check=True, stderr=subprocess.PIPE)
    with np.load(trained) as z:
        return {n.removeprefix("opt/m/"): z[n].astype(np.float64) for n in z.files if n.startswith("opt/m/")}


def differences(got, want):
    """Of each parameter."""
    assert got.keys() == want.keys() and all(got[n].shape == want[n].shape for n in want), got.keys() ^ want.keys()
    most = max(np.abs(w).max() for w in want.values())
    return [np.abs(got[n] - w).max() / (np.abs(w).max() or most) for n, w in want.items()]


def typical(off):
    return np.exp(np.log(off + TINY).mean(axis=0))


def outside(mine, peer):
    """Which parameters are too far away."""
    return ~((typical(mine) <= LIMIT * typical(peer) + FLOOR) & (mine.max(axis=0) <= ONCE * peer.max(axis=0) + FLOOR))


def compare(family, i, shape):
    """Names, and the differences of tg and of transformers' float32, [texts, parameters]."""
    mine, peer = [], []
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "twin")
        model, double = saved_twin(path, family, i, shape)
        for m in (model, double):
            m.get_input_embeddings().padding_idx = None  # whose row PyTorch gives no gradient
        for t in range(MANY):
            ids = text(i, t, shape[6])
            want = theirs(double, ids)
            mine.append(differences(ours(path, ids, shape[6], where), want))
            peer.append(differences(theirs(model, ids), want))
            if t + 1 == FEW and not outside(np.array(mine), np.array(peer)).any():
                break
    return list(want), np.array(mine), np.array(peer)


def judge(family, compare=compare, twins=range(len(SHAPES)), what="gradients"):
    """compare() as above, of so many things of a twin."""
    found, bad, again = [], 0, 0
    for i in twins:
        names, mine, peer = compare(family, i, SHAPES[i])
        again += len(mine) > FEW
        for name, far, m, p in zip(names, outside(mine, peer), typical(mine), typical(peer)):
            if far:
                bad += 1
                print(f"{family} {i} {SHAPES[i]}: {name} is {m:.2e} off, transformers' float32 {p:.2e}")
            found.append((m / p if p > 2 * TINY else 0, m, p))
    worst, mine, peer = max(found)
    print(f"{family}: {len(found)} {what} of {len(twins)} twins, of {again} on {MANY} texts, "
          f"at most {worst:.2f} x transformers' float32 ({mine:.1e} against {peer:.1e}), "
          f"median {np.median([f[0] for f in found if f[0]]):.2f}: {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or FAMILIES]))
