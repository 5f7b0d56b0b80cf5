#!/usr/bin/env python3
"""GGUF's blocks and files between this project and gguf, the package of llama.cpp.

    gguf_file.py GGUF_FILE    GGUF_FILE: the program that tests/unit/gguf_file.c makes

Blocks of each type, of any bytes and quantised, have the same values, bit for bit.  A file that gguf
writes is copied by GGUF_FILE, once as each type; gguf reads the copies: the same named values, and
tensors that are, bit for bit, what gguf makes of the values.
"""
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

TYPES = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"]
random = np.random.default_rng(12)


def run(*command, given=None):
    return subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE).stdout


def same(name, got, want):
    got, want = (np.frombuffer(x, dtype=np.float32) for x in (got, np.ascontiguousarray(want).tobytes()))
    equal = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    if len(got) != len(want) or not equal.all():
        at = int(np.argmin(equal))
        sys.exit(f"{name}: value {at} of {len(want)} is {got[at]!r}, expected {want[at]!r}")
    print(f"{name}: {len(got)} values")


def blocks(program):
    for name in TYPES:
        kind = Type[name.upper()]
        values, size = GGML_QUANT_SIZES[kind]
        raw = random.integers(0, 256, (4000, size), dtype=np.uint8)
        with np.errstate(all="ignore"):
            want = quants.dequantize(raw, kind)
        same(f"{name}, any bytes", run(program, "decode", name, given=raw.tobytes()), want)
        try:
            raw = quants.quantize(random.standard_normal((500, values), dtype=np.float32), kind)
        except NotImplementedError:
            continue
        same(f"{name}, quantised", run(program, "decode", name, given=raw.tobytes()), quants.dequantize(raw, kind))


def write(path, tensors):
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_name("judge")
    writer.add_context_length(64)
    writer.add_layer_norm_eps(1e-5)
    writer.add_add_bos_token(False)
    writer.add_token_list(["a", "\u0120b", "", "\U0001f600"])
    writer.add_token_types([1, 1, 5, -1])
    for name, value in tensors.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def fields(reader):
    own = ("GGUF.version", "GGUF.tensor_count", "GGUF.kv_count")
    return {name: (field.types, field.contents()) for name, field in reader.fields.items() if name not in own}


def files(program, where):
    edges = np.array([0, -0.0, 65504, 1e-7, 6e-8, 3e-8, 2.0**-24, 2.0**-25, 1 + 2.0**-11, 1 + 3 * 2.0**-11,
                      1 + 2.0**-8, 1 + 3 * 2.0**-8, -1e-40, 1e-45, 127, 0.5] * 4, dtype=np.float32)
    tensors = {
        "matrix": random.standard_normal((7, 96), dtype=np.float32),
        "three": random.standard_normal((2, 3, 32), dtype=np.float32) * np.float32(1e-3),
        "edges": edges,
        "zeros": np.zeros((2, 32), dtype=np.float32),
        "halves": (np.arange(64, dtype=np.float32) - 63.5).reshape(1, 64) * np.float32(2),
        "small": random.standard_normal((3, 64), dtype=np.float32) * np.float32(1e-30),
        "odd": random.standard_normal((5, 3), dtype=np.float32),
    }
    path, copied = os.path.join(where, "in.gguf"), os.path.join(where, "out.gguf")
    write(path, tensors)
    for name in ("f32", "f16", "bf16", "q8_0"):
        with open(copied, "wb") as file:
            file.write(run(program, "copy", name, path))
        want, got = gguf.GGUFReader(path), gguf.GGUFReader(copied)
        if fields(want) != fields(got):
            sys.exit(f"{name}: {fields(got)}, expected {fields(want)}")
        if [t.name for t in got.tensors] != list(tensors):
            sys.exit(f"{name}: tensors {[t.name for t in got.tensors]}")
        for tensor in got.tensors:
            value = tensors[tensor.name]
            kind = Type[name.upper()] if name != "q8_0" or value.shape[-1] % 32 == 0 else Type.F32
            if tensor.tensor_type != kind or list(tensor.shape) != list(value.shape)[::-1]:
                sys.exit(f"{name}: {tensor.name} is {tensor.tensor_type.name} {tensor.shape}")
            expected = np.ascontiguousarray(quants.quantize(value, kind))
            if tensor.data.tobytes() != expected.tobytes():
                sys.exit(f"{name}: {tensor.name} differs from what gguf makes of it")
        print(f"copied as {name}: {len(tensors)} tensors")


def main():
    program = sys.argv[1]
    blocks(program)
    with tempfile.TemporaryDirectory() as where:
        files(program, where)


main()
