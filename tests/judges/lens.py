#!/usr/bin/env python3
"""What tg-lens says of random twins of each family must be what transformers computes in double precision.

    lens.py BIN [FAMILY]...    BIN: the directory of the tools

The twins are those of families.py, and of GPT-2 besides.  Nothing is folded into their weights.  For each twin, on one
text:

  - after each layer: the model's own last norm and output head, applied to the residual stream, which hooks keep:
    logits and probabilities of the target and of the most probable tokens, rank, entropy, and divergence from the last
    layer's prediction;
  - at a random position, of a token's logit and of the difference of two: what the embedding, the position, each head,
    each of its keys, each MLP, each of its units and each bias add, the norms' scales being those of this run; and that
    the residue is small.

Logits and parts are as far away as their largest difference, divided by the largest of them; the others by 1 or by
their largest.  Prints a line for each family; exits with 1 if one says DIFFERS, which a distance above LIMIT is, or a
rank or an order of tokens that no error of that size explains.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import torch
import transformers

import families
from families import SHAPES, TOKENS, saved_twin, softmax_of

LIMIT = 1e-5
TOP = 4


def gpt2(i, s):
    L, H, D = s["num_hidden_layers"], s["num_attention_heads"], s["head_dim"]
    return transformers.GPT2Config(n_layer=L, n_head=H, n_embd=H * D, vocab_size=s["vocab_size"],
                                   n_positions=128, layer_norm_epsilon=[1e-5, 1e-3][i % 2],
                                   tie_word_embeddings=s["tie_word_embeddings"], bos_token_id=0, eos_token_id=0,
                                   activation_function=["gelu_new", "gelu"][i % 2])


families.FAMILIES["gpt2"] = gpt2


# ---- where a class has what

def parts_of(model):
    """The modules of a model by what they are: its blocks, each with what writes to the stream."""
    if hasattr(model, "transformer"):
        body = model.transformer
        blocks = [SimpleNamespace(block=b, out=b.attn.c_proj, down=b.mlp.c_proj, value=b.attn.c_attn,
                                  after=(None, None)) for b in body.h]
        return SimpleNamespace(blocks=blocks, norm=body.ln_f, embedding=body.wte, position=body.wpe)
    if hasattr(model, "gpt_neox"):
        body = model.gpt_neox
        blocks = [SimpleNamespace(block=b, out=b.attention.dense, down=b.mlp.dense_4h_to_h,
                                  value=b.attention.query_key_value, after=(None, None)) for b in body.layers]
        return SimpleNamespace(blocks=blocks, norm=body.final_layer_norm, embedding=body.embed_in, position=None)
    body = getattr(model.model, "language_model", model.model)
    normed = model.config.model_type in ("gemma2", "gemma3", "gemma3_text", "olmo2")
    blocks = [SimpleNamespace(
        block=b, out=b.self_attn.o_proj, down=b.mlp.fc2 if hasattr(b.mlp, "fc2") else b.mlp.down_proj,
        value=b.self_attn.qkv_proj if hasattr(b.self_attn, "qkv_proj") else b.self_attn.v_proj,
        after=(b.post_attention_layernorm, b.post_feedforward_layernorm) if normed else (None, None))
        for b in body.layers]
    return SimpleNamespace(blocks=blocks, norm=body.norm, embedding=body.embed_tokens, position=None)


def values_of(model, projected, KV, D):
    """[T,KV,D] of what makes them, which may make queries and keys too."""
    kind = model.config.model_type
    if kind == "gpt_neox":
        return projected.reshape(len(projected), KV, 3, D)[:, :, 2]
    if kind in ("gpt2", "phi3"):
        projected = projected[:, -KV * D:]
    return projected.reshape(len(projected), KV, D)


def weight_of(module):
    """[to,from]"""
    return module.weight.T if type(module).__name__ == "Conv1D" else module.weight


def frozen(module, x):
    """Of a norm that was applied to x: its scale there, its gain and bias [C], and whether it subtracts the mean."""
    if isinstance(module, torch.nn.LayerNorm):
        scale = 1 / (x.var(correction=0) + module.eps).sqrt()
        return scale, module.weight, module.bias if module.bias is not None else torch.zeros_like(x), True
    gain = getattr(module, "weight", torch.ones_like(x)) + (1 if type(module).__name__.startswith("Gemma") else 0)
    eps = module.eps if hasattr(module, "eps") else module.variance_epsilon
    return 1 / (x.square().mean() + eps).sqrt(), gain, torch.zeros_like(x), False


# ---- transformers' numbers

def traced(model, ids):
    """A run, and what its hooks have kept: inputs and outputs by module, of the first text."""
    at = parts_of(model)
    kept, hooks = {}, []

    def keep(module, args, out):
        out = out[0] if isinstance(out, tuple) else out
        kept[module] = (args[0][0] if args else None, out[0] if out.ndim == 3 else out)

    for b in at.blocks:
        for m in (b.block, b.out, b.down, b.value, *b.after):
            if m is not None:
                hooks.append(m.register_forward_hook(keep))
    head = model.get_output_embeddings()
    hooks += [m.register_forward_hook(keep) for m in (at.norm, head, at.position) if m is not None]
    torch.nn.functional.softmax = softmax_of(model)
    with torch.no_grad():
        out = model(ids, output_attentions=True, output_hidden_states=True)
    for h in hooks:
        h.remove()
    return at, kept, out


def lens(model, at, kept, out):
    """[L+1,T,V] logits.  The last of transformers' hidden states has been normed; that of the last block has not."""
    stream = [h[0] for h in out.hidden_states[:-1]] + [kept[at.norm][0]]
    assert len(stream) == len(at.blocks) + 1
    for x, b in zip(stream, at.blocks):
        assert torch.equal(x, kept[b.block][0])
    with torch.no_grad():
        logits = torch.stack([model.get_output_embeddings()(at.norm(x)) for x in stream])
        cap = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
        logits = cap * torch.tanh(logits / cap) if cap else logits
    assert torch.allclose(logits[-1], out.logits[0], rtol=1e-12, atol=1e-12)
    return logits.numpy()


def attribution(model, at, kept, out, t, a, b):
    """The parts of logit a less logit b (None: of a) at position t, by name and place."""
    config = model.config.get_text_config()
    H = config.num_attention_heads
    head = model.get_output_embeddings()
    scale, gain, shift, centred = frozen(at.norm, kept[at.norm][0][t])
    row = head.weight[a] - (head.weight[b] if b is not None else 0)
    u = row * gain
    u = scale * (u - u.mean() if centred else u)
    parts = {}
    start = kept[at.blocks[0].block][0][t]
    if at.position is not None:
        position = at.position.weight[t]
        parts["position", None, None, None, None] = position @ u
        start = start - position
    parts["embedding", None, None, None, None] = start @ u
    for l, block in enumerate(at.blocks):
        through = [u if m is None else u * math.prod(frozen(m, kept[m][0][t])[:2]) for m in block.after]
        inputs = kept[block.out][0][t].reshape(H, -1)
        D = inputs.shape[1]
        weights = (through[0] @ weight_of(block.out)).reshape(H, D)
        KV = H if config.model_type in ("gpt2", "gpt_neox") else config.num_key_value_heads
        v = values_of(model, kept[block.value][1], KV, D).repeat_interleave(H // KV, dim=1)
        keys = out.attentions[l][0, :, t, :t + 1] * torch.einsum("jhd,hd->hj", v[:t + 1], weights)
        heads = (inputs * weights).sum(1)
        assert torch.allclose(keys.sum(1), heads, rtol=1e-9, atol=1e-9), (config.model_type, l)
        for h in range(H):
            parts["head", l, h, None, None] = heads[h]
            parts.update({("key", l, h, j, None): keys[h, j] for j in range(t + 1)})
        units = kept[block.down][0][t] * (through[1] @ weight_of(block.down))
        parts["mlp", l, None, None, None] = units.sum()
        parts.update({("unit", l, None, None, n): x for n, x in enumerate(units)})
        for name, m, uu in (("att_bias", block.out, through[0]), ("mlp_bias", block.down, through[1])):
            if m.bias is not None:
                parts[name, l, None, None, None] = m.bias @ uu
    if centred and at.norm.bias is not None:
        parts["norm_bias", None, None, None, None] = shift @ row
    total = sum(x for name, x in parts.items() if name[0] not in ("key", "unit"))
    before = kept[head][1][t]  # a cap
    logit = before[a] - (before[b] if b is not None else 0)
    assert abs(total - logit) < 1e-9 * max(1, abs(logit)), (config.model_type, total, logit)
    return {name: float(x) for name, x in parts.items()}, float(logit)


# ---- ours

def lines(path, ids, *options):
    spelled = " ".join(str(int(i)) for i in ids[0])
    tool = os.path.join(sys.argv[1], "tg-lens")
    done = subprocess.run([tool, "-q", "-m", path, "--ids", spelled, "-f", "jsonl", *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare_lens(path, ids, logits):
    """The distances by name, and how many ranks and orders are wrong."""
    L1, T, V = logits.shape
    got = lines(path, ids, "--top", str(TOP))
    assert [(r["t"], r["layer"]) for r in got] == [(t, l) for t in range(T) for l in range(L1)]
    log_p = logits - logits.max(-1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
    p = np.exp(log_p)
    entropy, kl = -(p * log_p).sum(-1), (p[-1] * (log_p[-1] - log_p)).sum(-1)
    scale = np.abs(logits).max()
    off, wrong = dict.fromkeys(("logits", "probabilities", "entropies", "divergences"), 0), 0
    for r in got:
        t, l = r["t"], r["layer"]
        x, near = logits[l, t], 2 * LIMIT * scale
        tokens = [(r["id_%d" % k], r["prob_%d" % k], r["logit_%d" % k]) for k in range(1, TOP + 1)]
        wrong += any(abs(x[i] - best) > near for (i, _, _), best in zip(tokens, -np.sort(-x)))
        if t + 1 < T:
            target = int(ids[0, t + 1])
            assert r["target_id"] == target
            wrong += not (x > x[target] + near).sum() <= r["rank"] <= (x >= x[target] - near).sum() - 1
            tokens.append((target, r["prob"], r["logit"]))
        else:
            assert r["target_id"] is None and r["logit"] is None
        for name, distance in (("logits", max(abs(z - x[i]) / scale for i, _, z in tokens)),
                               ("probabilities", max(abs(q - p[l, t, i]) for i, q, _ in tokens)),
                               ("entropies", abs(r["entropy"] - entropy[l, t]) / max(1, entropy.max())),
                               ("divergences", abs(r["kl"] - kl[l, t]) / max(1, kl.max()))):
            off[name] = max(off[name], distance)
    return off, wrong


def compare_attribution(path, ids, t, a, b, want, logit):
    units = sum(name[0] == "unit" and name[1] == 0 for name in want)
    got = lines(path, ids, "--position", str(t), "--attribute-ids", str(a) if b is None else "%d-%d" % (a, b), "--keys",
                "--neurons", str(units))
    parts = {(r["part"], r["layer"], r["head"], r["key"], r["unit"]): r["value"] for r in got}
    assert len(parts) == len(got)
    ends = {name: parts.pop((name, None, None, None, None)) for name in ("sum", "residue", "logit")}
    assert parts.keys() == want.keys(), parts.keys() ^ want.keys()
    scale = max(abs(x) for x in want.values())
    return {"parts": max(abs(parts[n] - x) for n, x in want.items()) / scale,
            "sums": max(abs(ends["sum"] - logit), abs(ends["logit"] - logit)) / scale,
            "residues": abs(ends["residue"]) / scale}


def compare(family, i, shape):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "twin")
        model = saved_twin(path, family, i, shape)[1].eval()
        V = shape[6]
        ids = families.texts(i, V)[0]
        at, kept, out = traced(model, ids)
        off, wrong = compare_lens(path, ids, lens(model, at, kept, out))
        chance = np.random.default_rng(1000 + i)
        t, a = int(chance.integers(TOKENS)), int(chance.integers(V))
        b = (a + 1 + int(chance.integers(V - 1))) % V
        for minus in (None, b):
            with torch.no_grad():
                want, logit = attribution(model, at, kept, out, t, a, minus)
            for name, x in compare_attribution(path, ids, t, a, minus, want, logit).items():
                off[name] = max(off.get(name, 0), x)
    return off, wrong


def judge(family):
    worst, bad = {}, 0
    for i, shape in enumerate(SHAPES):
        off, wrong = compare(family, i, shape)
        far = [name for name, x in off.items() if not x <= LIMIT]
        if far or wrong:
            bad += 1
            print(f"{family} {i} {shape}: {wrong} ranks or orders are wrong; " +
                  ", ".join(f"{name} are {off[name]:.2e} off" for name in far))
        for name, x in off.items():
            worst[name] = max(worst.get(name, 0), x)
    print(f"{family}: {len(SHAPES)} twins, at most off: " + ", ".join(f"{n} {x:.1e}" for n, x in worst.items()) +
          f": {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or families.FAMILIES]))
