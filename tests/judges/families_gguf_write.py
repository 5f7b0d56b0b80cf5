#!/usr/bin/env python3
"""What tg-convert --to gguf writes of other families must be what llama.cpp's converter writes.

    families_gguf_write.py BIN [FAMILY]...    BIN: the directory of the tools

Each twin of tests/judges/families_gguf.py is written there as llama.cpp's converter does.  tg-convert makes a GGUF file
of that one, and of the twin's Hugging Face directory where tg reads it.  The package gguf must read the same tensors,
bit for bit, and each of the values that both files have must be the same; what only ours has is printed.  Matrices of
q, k and v in one tensor come back apart.  A twin that llama.cpp cannot compute must be refused; so must a Gemma in bf16,
whose scale of the embedding is rounded.  Prints a line for each
family; exits with 1 if one says DIFFERS.
"""
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import torch

import families
import families_gguf
from families import SHAPES, sizes, twin

BIN = sys.argv[1]
OURS = ("general.file_type", "tokenizer.ggml.model")


def convert(source, to, refused):
    got = subprocess.run([os.path.join(BIN, "tg-convert"), "-q", "--force", source, "--to", "gguf", "-o", to],
                         capture_output=True, text=True)
    assert got.returncode == (2 if refused else 0) and (refused or "") in got.stderr, got.stderr
    return None if refused else gguf.GGUFReader(to)


def refusal(model, family):
    """What llama.cpp's files cannot say of the twin, or None."""
    c = model.config
    if family in ("qwen2", "qwen3") and c.rope_parameters["rope_type"] == "llama3":
        return "config/rope_scaling is llama3"
    if family == "qwen2" and getattr(c, "head_dim", None) and c.head_dim * c.num_attention_heads != c.hidden_size:
        return "config/head_dim is"
    return None


def values(reader):
    return {n: f.contents() for n, f in reader.fields.items() if not n.startswith("GGUF.") and n not in OURS}


def arrays(reader):
    return {t.name: np.array(t.data) for t in reader.tensors}


def differences(got, want):
    """Llama 3's divisors are rounded from double precision here, there computed in float32.  llama.cpp wants OLMo's
    head also where it is the embedding; the layers of OLMo 3 that have the window are those that it assumes.  The length of Phi-3's
    texts before matters to a scaling that it does not have here."""
    a, b = arrays(got), arrays(want)
    if "olmo2.block_count" in want.fields:
        b.setdefault("output.weight", b["token_embd.weight"])
    for name in sorted(a.keys() | b.keys()):
        if name not in a or name not in b or a[name].dtype != b[name].dtype or a[name].shape != b[name].shape:
            yield f"{name}: in one file only, or of another shape"
        elif name == "rope_freqs.weight" and np.allclose(a[name], b[name], rtol=1e-6, atol=0):
            pass
        elif not np.array_equal(a[name], b[name]):
            yield f"{name}: other values"
    a, b = values(got), values(want)
    b.pop("olmo2.attention.sliding_window_pattern", None)
    b.pop("phi3.rope.scaling.original_context_length", None)
    for name in sorted(b):
        if a.get(name) != b[name]:
            yield f"{name}: {a.get(name)} instead of {b[name]}"


def check_scale(model, where):
    """In bf16, sqrt(C) is rounded, which llama.cpp does not do."""
    scale = torch.tensor(model.config.hidden_size ** 0.5)
    if scale == scale.to(torch.bfloat16):
        return
    model.to(torch.bfloat16).save_pretrained(os.path.join(where, "bf16"))
    convert(os.path.join(where, "bf16"), os.path.join(where, "ours.gguf"), "llama.cpp differs: it multiplies")


def judge(family):
    bad, more, files = 0, set(), 0
    for i, shape in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as where:
            model = twin(families_gguf.FAMILIES[family](i, sizes(shape)), i)
            path = families_gguf.write(os.path.join(where, "twin.gguf"), model, fused=family in ("gpt_neox", "phi3"))
            sources = [path]
            if family in families_gguf.SAME and (family == "phi3" or not getattr(model.config, "sliding_window", None)):
                model.save_pretrained(os.path.join(where, "twin"))
                sources.append(os.path.join(where, "twin"))
            want = gguf.GGUFReader(path)
            for source in sources:
                got = convert(source, os.path.join(where, "ours.gguf"), refusal(model, family))
                if not got:
                    continue
                files += 1
                more |= values(got).keys() - values(want).keys()
                for text in differences(got, want):
                    bad += 1
                    print(f"{family} {i} {shape}: {os.path.basename(source)}: {text}")
            if family.startswith("gemma"):
                check_scale(model, where)
    print(f"{family}: {files} files, with {', '.join(sorted(more)) or 'nothing'} besides: {'DIFFERS' if bad else 'ok'}",
          flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or families_gguf.FAMILIES]))
