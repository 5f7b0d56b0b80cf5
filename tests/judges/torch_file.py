#!/usr/bin/env python3
"""Files of tensors, written by PyTorch, listed by list_torch: names, types, shapes and bits are the same.

    torch_file.py LIST_TORCH
"""
import collections
import os
import subprocess
import sys
import tempfile
import zlib

import torch

TYPES = {torch.float32: "<f4", torch.float64: "<f8", torch.float16: "<f2", torch.bfloat16: "bf16",
         torch.int64: "<i8", torch.int32: "<i4", torch.int16: "<i2", torch.int8: "|i1", torch.uint8: "|u1",
         torch.bool: "|b1"}


def tensors(value, path=()):
    """(name, tensor) of all tensors in a tree of dicts, lists and tuples."""
    if isinstance(value, torch.Tensor):
        yield ".".join(path), value.detach()
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors(item, path + (str(key),))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors(item, path + (str(i),))


def line(name, x):
    plain = x.is_contiguous()
    data = (x if plain else x.t()).contiguous().view(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""
    return "\t".join([name, TYPES[x.dtype], str(tuple(x.shape)), f"{zlib.crc32(data):08x}",
                      "" if plain else "transposed"])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = torch.nn.Embedding(11, 6)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(6, 18), torch.nn.LayerNorm(6)])
        self.head = torch.nn.Linear(6, 11, bias=False)
        self.head.weight = self.wte.weight
        self.register_buffer("mask", torch.tril(torch.ones(5, 5)).view(1, 1, 5, 5))

    def forward(self, x):
        return self.head(self.blocks[1](self.wte(x))).mean()


def trained(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.arange(7)).backward()
    optimizer.step()
    return optimizer


def trees():
    torch.manual_seed(1)
    model = Model()
    optimizer = trained(model)
    big = torch.randn(8, 10)
    yield "state", model.state_dict()
    yield "checkpoint", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": 300,
                         "model_args": dict(n_layer=2, bias=False, dropout=0.0, name="né\n"),
                         "best_val_loss": torch.tensor(1.5), "config": {"x": None, "y": [1, (2, 3.5)]}}
    yield "plain", {k: v.clone() for k, v in model.state_dict().items()}
    yield "parameters", collections.OrderedDict((k, v) for k, v in model.named_parameters())
    for dtype in TYPES:
        yield str(dtype), {"x": (torch.randn(3, 5) * 50).to(dtype)}
    yield "views", {"a": big[2:5], "b": big[6], "c": big[0].view(2, 5), "t": torch.randn(4, 7).t()}
    yield "shapes", {"scalar": torch.tensor(2.0), "empty": torch.zeros(0, 3), "ones": torch.randn(1, 1, 6, 1),
                     "deep": torch.randn(1, 2, 1, 2, 1, 2, 1, 3), "row": torch.randn(1, 9).t(),
                     "none": torch.zeros(3, 0).t()}
    yield "many", {f"w.{i}": torch.full((i % 5,), float(i)) for i in range(3000)}
    yield "integers", {"i": [0, 255, 256, 65535, 65536, -1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)],
                       "x": torch.ones(2)}
    yield "size", {"s": big.shape, "x": big}
    yield "alone", [torch.ones(2)]


class Call:
    def __reduce__(self):
        return os.system, ("echo called >&2",)


def refused():
    yield "call", {"model": {"w": torch.ones(2)}, "x": Call()}, "system: refused"
    yield "module", Model(), "Model: refused"
    yield "slice", {"w": torch.randn(4, 6)[:, :3]}, "w: its elements are not adjacent"
    yield "expanded", {"w": torch.randn(4, 1).expand(4, 3)}, "w: its elements are not adjacent"
    yield "overlap", {"a": (x := torch.randn(8))[:5], "b": x[3:]}, "overlaps"
    yield "complex", {"w": torch.ones(2, dtype=torch.complex64)}, "ComplexFloatStorage: refused"
    yield "sparse", {"w": torch.eye(3).to_sparse()}, "refused"
    yield "bytes", {"w": b"abc"}, "refused"
    yield "set", {"w": {1, 2}}, "refused"
    yield "long", {"w": 2**64}, "an integer of 9 bytes"


def run(program, files):
    out = subprocess.run([program, *files], check=True, capture_output=True, text=True)
    assert out.stderr == "", out.stderr
    result, lines = [], []
    for text in out.stdout.splitlines():
        if text == "end" or text.startswith("refused\t"):
            result.append(text if text != "end" else lines)
            lines = []
        else:
            lines.append(text)
    assert len(result) == len(files)
    return result


def main(program):
    wrong = checked = 0
    with tempfile.TemporaryDirectory() as directory:
        want, files = [], []
        for protocol in (2, 3, 4, 5):
            for name, tree in trees():
                files.append(f"{directory}/{name}.{protocol}.pt")
                torch.save(tree, files[-1], pickle_protocol=protocol)
                want.append(sorted(line(n, x) for n, x in tensors(tree)))
            for name, tree, why in refused():
                files.append(f"{directory}/{name}.{protocol}.pt")
                torch.save(tree, files[-1], pickle_protocol=protocol)
                want.append(why)
        files.append(f"{directory}/old.pt")
        torch.save({"w": torch.ones(2)}, files[-1], _use_new_zipfile_serialization=False)
        want.append("old format")
        for file, got, expected in zip(files, run(program, files), want):
            good = sorted(got) == expected if isinstance(expected, list) else isinstance(got, str) and expected in got
            checked += 1
            wrong += not good
            if not good:
                print(f"{file}:\n  got {got}\n  expected {expected}")
    print(f"{checked} files of PyTorch {torch.__version__}, {wrong} differ")
    return wrong > 0


sys.exit(main(sys.argv[1]))
