#!/usr/bin/env python3
"""The numbers of tg-circuit against transformers' modules, in double precision with NumPy.

    circuit.py BIN [FAMILY]...    BIN: the directory of the tools

Random twins of every family (families.py), and of GPT-2.  No weight is read here, and none is processed: each
matrix is what a module of transformers answers to the unit vectors.  A norm's is linear once its scale is taken
back.  From these come the full matrices OV and QK [C,C] of each head, their eigenvalues, the norms of their
products, and their singular vectors; the tokens at the ends of the strongest of these, and those that OV and QK
join with a token.  Prints a line for each family, with the largest differences; exits with 1 if one exceeds LIMIT
of the scale: 1 for scores, the largest norm for norms, the largest value of all tokens for tokens.
"""
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # twins are small: threads would wait for each other

import families  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

LIMIT = 1e-7
TOP, DIRECTIONS = 4, 3  # of --tokens


def matrix(module, size):
    """The linear part of a module, [in,out]."""
    unit = torch.eye(size, dtype=torch.float64)
    with torch.no_grad():
        return (module(unit) - module(torch.zeros_like(unit))).numpy()


def norm_matrix(module, size):
    """What a norm does besides its scale: LayerNorm's result is 0 for the difference from the mean 0."""
    centred = isinstance(module, torch.nn.LayerNorm)
    unit = torch.eye(size, dtype=torch.float64)
    spread = unit - unit.mean(-1, keepdim=True) if centred else unit
    eps = module.eps if hasattr(module, "eps") else module.variance_epsilon
    scale = (spread.square().mean(-1, keepdim=True) + eps).sqrt()
    with torch.no_grad():
        return ((module(unit) - module(torch.zeros_like(unit))) * scale).numpy()


def split_heads(w, heads):
    return np.stack(np.split(w, heads, axis=-1))


def projections(attn, C, H, KV, D):
    """q, k, v [C, heads * D]."""
    if hasattr(attn, "c_attn"):
        return np.split(matrix(attn.c_attn, C), 3, axis=-1)
    if hasattr(attn, "query_key_value"):
        w = matrix(attn.query_key_value, C).reshape(C, H, 3, D)
        return [w[:, :, i].reshape(C, H * D) for i in range(3)]
    if hasattr(attn, "qkv_proj"):
        return np.split(matrix(attn.qkv_proj, C), [H * D, H * D + KV * D], axis=-1)
    return [matrix(m, C) for m in (attn.q_proj, attn.k_proj, attn.v_proj)]


def first_of(module, *names):
    return next((getattr(module, n) for n in names if hasattr(module, n)), None)


def after_norm(w, norm, D):
    """Columns normed per head, or all at once."""
    if norm is None:
        return w
    width = norm.weight.shape[0] if hasattr(norm, "weight") else D
    n = norm_matrix(norm, width)
    return np.concatenate([part @ n for part in np.split(w, w.shape[-1] // width, axis=-1)], axis=-1)


def heads_of(model, layer, family):
    """OV and QK [H,C,C] of a layer."""
    config = model.config.get_text_config()
    C, H = config.hidden_size, config.num_attention_heads
    attn = first_of(layer, "self_attn", "attn", "attention")
    out = first_of(attn, "o_proj", "c_proj", "dense")
    D = (out.weight.shape[0] if hasattr(out, "nf") else out.weight.shape[1]) // H
    KV = getattr(config, "num_key_value_heads", None) or H
    before = None if family == "olmo2" else first_of(layer, "input_layernorm", "ln_1")
    read = np.eye(C) if before is None else norm_matrix(before, C)
    q, k, v = (read @ w for w in projections(attn, C, H, KV, D))
    q = split_heads(after_norm(q, first_of(attn, "q_norm"), D), H)
    k = split_heads(after_norm(k, first_of(attn, "k_norm"), D), KV)
    v = split_heads(v, KV)
    write = matrix(out, H * D)
    if family in ("gemma2", "gemma3", "gemma3_text", "olmo2"):
        write = write @ norm_matrix(layer.post_attention_layernorm, C)
    o = write.reshape(H, D, C)
    group = np.arange(H) // (H // KV)
    return v[group] @ o, q @ k[group].transpose(0, 2, 1), D


def blocks_of(model):
    body = getattr(model.base_model, "language_model", model.base_model)
    return body, first_of(body, "layers", "h")


def signed_share(a):
    """sum Re l / sum |l|, and the share of those with Re l > 0."""
    l = np.linalg.eigvals(a)
    return l.real.sum() / np.abs(l).sum(), np.abs(l[l.real > 0]).sum() / np.abs(l).sum()


def positions(model, qk, D):
    """The means of p[i,i-1] and p[i,i], if positions are all that a head sees."""
    body, blocks = blocks_of(model)
    x = body.wpe.weight.detach().numpy()
    spread = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((spread ** 2).mean(-1, keepdims=True) + blocks[0].ln_1.eps)
    scores = x @ qk @ x.T / np.sqrt(D)
    scores[np.triu_indices(len(x), 1)] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return np.diag(p, -1).mean(), np.diag(p)[1:].mean()


def ends_of(model, family):
    """E [V,C] and U [C,V]."""
    body, _ = blocks_of(model)
    C = model.config.get_text_config().hidden_size
    with torch.no_grad():
        e = model.get_input_embeddings()(torch.arange(model.get_input_embeddings().weight.shape[0]))
        if family == "nanochat":  # the stream begins with a norm of the embedding
            e = body.norm(e)
    u = norm_matrix(first_of(body, "norm", "ln_f", "final_layer_norm"), C) @ matrix(model.get_output_embeddings(), C)
    return e.numpy(), u


def expected(model, family, heads, e, u):
    """Rows as tg-circuit prints them: of heads, and of pairs."""
    ov, rows, pairs = [], [], {}
    for l, (layer_ov, layer_qk, D) in enumerate(heads):
        for h, (a, b) in enumerate(zip(layer_ov, layer_qk)):
            copying, positive = signed_share(e @ a @ u if h == 0 else a @ u @ e)
            duplicate = signed_share(e @ b @ e.T if h == 0 else b @ e.T @ e)[0]
            seen = positions(model, b, D) if family == "gpt2" else (np.nan, np.nan)
            rows.append([np.linalg.norm(a), np.linalg.norm(b), copying, positive, duplicate, *seen])
            for m, (before, earlier) in enumerate(ov):
                if before < l:
                    for kind, read in ("q", b), ("k", b.T), ("v", a):
                        pairs[kind, before, m % len(layer_ov), l, h] = np.linalg.norm(earlier @ read) / (
                            np.linalg.norm(earlier) * np.linalg.norm(read))
        ov += [(l, a) for a in layer_ov]
    return np.array(rows), pairs


# ---- tokens

def directions(matrix, of_left, of_right):
    """Sizes, and what the ends of the strongest directions have of each token: [n,V] twice."""
    left, size, right = np.linalg.svd(matrix)
    left, right = of_left(left.T), of_right(right)
    flipped = (left.max(-1) < (-left).max(-1))[:, None]
    return size, np.where(flipped, -left, left), np.where(flipped, -right, right)


def expected_tokens(heads, e, u, token):
    """The values of all tokens [V], and the size, by layer, head, circuit, direction and end; token: of this alone."""
    values, sizes = {}, {}
    for l, (ov, qk, _) in enumerate(heads):
        for h, (a, b) in enumerate(zip(ov, qk)):
            for circuit, ends, m, right in (("ov", ("reads", "writes"), a, u), ("qk", ("query", "key"), b, e.T)):
                if token is not None:
                    values[l, h, circuit, 0, ends[0]] = e @ m @ right[:, token]
                    values[l, h, circuit, 0, ends[1]] = e[token] @ m @ right
                    continue
                size, first, second = directions(m, lambda x: x @ e.T, lambda x: x @ right)
                for d in range(min(DIRECTIONS, heads[l][2])):
                    if size[d] < 1e-9 * size[0]:  # its vectors are any
                        continue
                    values[l, h, circuit, d, ends[0]], values[l, h, circuit, d, ends[1]] = first[d], second[d]
                    sizes[l, h, circuit, d] = size[d]
    return values, sizes


def distance_of_tokens(lines, values, sizes):
    """The largest of sizes and values, also where the tokens' order is another one."""
    off, seen = 0.0, {}
    for line in lines:
        name = (line["layer"], line["head"], line["circuit"], line.get("direction") or 0)
        if name + (line["end"],) in values:
            seen.setdefault(name + (line["end"],), []).append((line["id"], line["value"]))
            if name in sizes:
                off = max(off, abs(line["size"] - sizes[name]) / max(sizes.values()))
    assert seen.keys() == values.keys()
    for name, got in seen.items():
        want = values[name]
        best = -np.sort(-want)[:TOP]
        assert len(got) == len(best) == len({i for i, _ in got})
        for (i, value), x in zip(got, best):
            off = max(off, abs(value - want[i]) / np.abs(want).max(), abs(want[i] - x) / np.abs(want).max())
    return off


def printed(path, *options):
    done = subprocess.run([os.path.join(sys.argv[1], "tg-circuit"), "-q", "-m", path, "--json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def distances(path, model, family, token):
    """The largest differences of norms, of scores of heads, of pairs, and of tokens."""
    C = model.config.get_text_config().hidden_size
    heads = [heads_of(model, layer, family) for layer in blocks_of(model)[1]]
    e, u = ends_of(model, family)
    rows, pairs = expected(model, family, heads, e, u)
    names = ("ov_norm", "qk_norm", "copying", "positive", "duplicate", "previous", "diagonal")
    got = np.array([[np.nan if line[n] is None else line[n] for n in names] for line in printed(path)])
    assert got.shape == rows.shape and (np.isnan(got) == np.isnan(rows)).all(), family
    off = np.nan_to_num(np.abs(got - rows))
    of_pairs = 0.0
    if pairs:
        lines = printed(path, "--compose")
        assert len(lines) == len(pairs)
        for line in lines:
            want = pairs[line["type"], line["from_layer"], line["from_head"], line["layer"], line["head"]]
            of_pairs = max(of_pairs, abs(line["score"] - want),
                           abs(line["baseline"] - C ** -0.5), abs(line["excess"] - want + C ** -0.5))
    of_directions = distance_of_tokens(printed(path, "--tokens", "-k", str(TOP), "-n", str(DIRECTIONS)),
                                       *expected_tokens(heads, e, u, None))
    of_token = distance_of_tokens(printed(path, "--tokens", "-k", str(TOP), "--token-id", str(token)),
                                  *expected_tokens(heads, e, u, token))
    return off[:, :2].max() / rows[:, :2].max(), off[:, 2:].max(), of_pairs, of_directions, of_token


def gpt2(i, s):
    H = s["num_attention_heads"]
    return transformers.GPT2Config(
        n_layer=s["num_hidden_layers"], n_head=H, n_embd=H * s["head_dim"], vocab_size=s["vocab_size"], n_positions=40,
        layer_norm_epsilon=[1e-5, 1e-3][i % 2], tie_word_embeddings=s["tie_word_embeddings"], bos_token_id=None,
        eos_token_id=None)


def judge(family):
    worst = np.zeros(5)
    for i, shape in enumerate(families.SHAPES):
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "twin")
            model, double = families.saved_twin(path, family, i, shape)
            worst = np.maximum(worst, distances(path, double, family, (7 * i + 3) % shape[6]))
    ok = worst.max() <= LIMIT
    print(f"{family:12} {len(families.SHAPES)} twins: norms {worst[0]:.1e}, scores {worst[1]:.1e}, "
          f"pairs {worst[2]:.1e}, directions {worst[3]:.1e}, tokens {worst[4]:.1e}  {'ok' if ok else 'DIFFERS'}",
          flush=True)
    return ok


def main():
    families.FAMILIES["gpt2"] = gpt2
    results = [judge(family) for family in sys.argv[2:] or families.FAMILIES]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
