#!/usr/bin/env python3
"""Random models in llama2.c's files must have the numbers that llama2.c gives them.

    llama2c.py BIN [RUN_C]    BIN: the directory of the tools; RUN_C: llama2.c's run.c, which is then asked too

Each model is written here, as llama2.c's export.py lays versions 0, 1 and 2 out; of version 2, whose matrices are
integers, the values that these stand for are what is compared.  The logits of tg-eval are compared
with those of the few lines below, which compute run.c's formulas in double precision, and of version 0 with run.c
itself: relative to the largest logit, at most LIMIT: many roundings of float32, where rows of
q or k in another order are 0.1 off.  The model must also have its
numbers after tg-convert has made an archive, GGUF or Hugging Face's files of it.  Prints a line for each model; exits
with 1 if one says DIFFERS.
"""
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

LIMIT = 2e-5
TOKENS = 40

# dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len, tied
SHAPES = [
    (8, 12, 1, 1, 1, 50, 40, True),
    (16, 24, 2, 2, 1, 70, 64, False),
    (48, 40, 2, 6, 2, 300, 64, False),
    (60, 40, 3, 6, 6, 130, 41, True),
    (64, 172, 5, 8, 4, 512, 512, True),
    (24, 33, 2, 12, 3, 67, 128, False),
    (288, 768, 6, 6, 6, 3200, 256, True),
]
IN_LAYERS = ["attention_norm", "wq", "wk", "wv", "wo", "ffn_norm", "w1", "w2", "w3"]
ORDERS = [["tok", *IN_LAYERS, "norm", "cos", "sin", "out"],
          ["attention_norm", "ffn_norm", "norm", "tok", "wq", "wk", "wv", "wo", "w1", "w2", "w3", "out"]]


def make(shape, rng):
    """The tensors, those in layers with a dimension more."""
    dim, hidden, L, H, KV, V, T, tied = shape
    D = dim // H
    def some(*size): return (rng.standard_normal(size) / np.sqrt(size[-1])).astype("f4")
    def gains(*size): return rng.uniform(0.5, 1.5, size).astype("f4")
    angles = np.outer(np.arange(T), 10000.0 ** (-np.arange(0, D, 2) / D))
    w = {"tok": some(V, dim) * 3, "attention_norm": gains(L, dim), "wq": some(L, dim, dim) * 2, "wk": some(L, KV * D, dim) * 2,
         "wv": some(L, KV * D, dim), "wo": some(L, dim, dim), "ffn_norm": gains(L, dim), "w1": some(L, hidden, dim),
         "w2": some(L, dim, hidden), "w3": some(L, hidden, dim), "norm": gains(dim), "cos": np.cos(angles).astype("f4"),
         "sin": np.sin(angles).astype("f4")}
    return w if tied else w | {"out": some(V, dim)}


def write(path, shape, w, version):
    dim, hidden, L, H, KV, V, T, tied = shape
    if version == 0:
        header = struct.pack("<7i", dim, hidden, L, H, KV, V if tied else -V, T)
    else:
        group = struct.pack("<i", group_of(shape)) if version == 2 else b""
        header = (struct.pack("<Ii7iB", 0x616B3432, version, dim, hidden, L, H, KV, V, T, tied) + group).ljust(256, b"\0")
    with open(path, "wb") as f:
        f.write(header)
        for name in ORDERS[version > 0]:
            if name not in w:
                continue
            layers = w[name] if name in IN_LAYERS else [w[name]]
            for x in layers:
                if version == 2 and x.ndim == 2:
                    integers, scales = quantized(x, group_of(shape))
                    f.write(integers.astype("i1").tobytes() + scales.astype("<f4").tobytes())
                else:
                    f.write(x.astype("<f4").tobytes())


def group_of(shape):
    """As export.py halves 64 until it divides the width, and here each matrix."""
    dim, hidden, L, H, KV, V, *_ = shape
    group = 64
    while any(n % group for n in (dim, dim * hidden, dim * V, dim * (dim // H) * KV)):
        group //= 2
    return group


def quantized(x, group):
    rows = x.reshape(-1, group)
    scales = np.abs(rows).max(1) / np.float32(127)
    return np.round(rows / scales[:, None]), scales


def stood_for(w, shape, version):
    """The values in a file of that version."""
    if version < 2:
        return w
    out = dict(w)
    for name, x in w.items():
        if name in ("cos", "sin") or "norm" in name:
            continue
        integers, scales = quantized(x, group_of(shape))
        out[name] = (integers.astype("f4") * scales[:, None]).reshape(x.shape)
    return out


def norm(x, gains):
    return gains * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def rotate(x):
    """[T,H,D]: neighbours are pairs."""
    T, _, D = x.shape
    angles = np.outer(np.arange(T), 10000.0 ** (-np.arange(0, D, 2) / D))[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1).reshape(x.shape)


def forward(shape, w, ids):
    dim, _, L, H, KV, *_ = shape
    D, T = dim // H, len(ids)
    w = {name: x.astype("f8") for name, x in w.items()}
    x = w["tok"][ids]
    for l in range(L):
        n = norm(x, w["attention_norm"][l])
        q, k, v = ((n @ w[name][l].T).reshape(T, -1, D) for name in ("wq", "wk", "wv"))
        q, k = rotate(q), rotate(k)
        k, v = (np.repeat(a, H // KV, 1) for a in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(D)
        scores[:, np.triu(np.ones((T, T), bool), 1)] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        x = x + np.einsum("hij,jhd->ihd", p / p.sum(-1, keepdims=True), v).reshape(T, dim) @ w["wo"][l].T
        n = norm(x, w["ffn_norm"][l])
        a = n @ w["w1"][l].T
        x = x + (a / (1 + np.exp(-a)) * (n @ w["w3"][l].T)) @ w["w2"][l].T
    return norm(x, w["norm"]) @ w.get("out", w["tok"]).T


# After each token, run.c's logits.
MAIN = """
#define TESTING
#include RUN_C
int main(int argc, char **argv)
{
    Transformer t;
    build_transformer(&t, argv[1]);
    for (int i = 2; i < argc; i++)
        fwrite(forward(&t, atoi(argv[i]), i - 2), sizeof(float), t.config.vocab_size, stdout);
    return 0;
}
"""


def build(directory, run_c):
    source, program = os.path.join(directory, "main.c"), os.path.join(directory, "run")
    with open(source, "w") as f:
        f.write(MAIN)
    subprocess.run(["cc", "-O2", "-w", f'-DRUN_C="{os.path.abspath(run_c)}"', "-o", program, source, "-lm"], check=True)
    return program


def of_tg(tools, model, ids):
    path = os.path.join(os.path.dirname(model), "logits.npz")
    subprocess.run([os.path.join(tools, "tg-eval"), "-q", "-m", model, "--ids", " ".join(map(str, ids)), "--logits", "-o", path, "--force"],
                   check=True)
    with np.load(path) as a:
        return np.concatenate([a[name] for name in sorted(a.files) if name.startswith("logits/")])


def main():
    tools, run_c = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    rng = np.random.default_rng(7)
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        program = build(directory, run_c) if run_c else None
        for shape in SHAPES:
            w = make(shape, rng)
            ids = rng.integers(0, shape[5], TOKENS)
            for version in 0, 1, 2:
                want = forward(shape, stood_for(w, shape, version), ids)
                model = os.path.join(directory, "model.bin")
                write(model, shape, w, version)
                got = {"read": of_tg(tools, model, ids)}
                if program and version == 0:
                    out = subprocess.run([program, model, *map(str, ids)], check=True, capture_output=True).stdout
                    got["run.c"] = np.frombuffer(out, "<f4").reshape(len(ids), -1)
                for to in "npz", "gguf", "hf":
                    other = os.path.join(directory, "other." + to)
                    subprocess.run(["rm", "-rf", other], check=True)
                    subprocess.run([os.path.join(tools, "tg-convert"), "-q", model, "--to", to, "-o", other], check=True)
                    got[to] = of_tg(tools, other, ids)
                far = {name: np.abs(x - want).max() / np.abs(want).max() for name, x in got.items()}
                bad = max(far.values()) > LIMIT or any((got[to] != got["read"]).any() for to in ("npz", "gguf", "hf"))
                failed |= bad
                print(shape, f"version {version}:", " ".join(f"{name} {x:.1e}" for name, x in far.items()), "DIFFERS" if bad else "")
    return failed


if __name__ == "__main__":
    sys.exit(main())
