"""A model of the family llama as llama2.c's export.py writes it; needs neither PyTorch nor NumPy.

make_llama2c.py MODEL.npz FILE [VERSION]    VERSION: 0, without a magic number (default), 1, or 2, of integers
"""
import array
import math
import struct
import sys

import make_torch

IN_LAYERS = {"norm1": "input_layernorm", "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
             "o": "self_attn.o_proj", "norm2": "post_attention_layernorm", "w1": "mlp.gate_proj", "w2": "mlp.down_proj",
             "w3": "mlp.up_proj"}
OTHERS = {"tokens": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}
ORDERS = ["tokens norm1 q k v o norm2 w1 w2 w3 norm angles head".split(),
          "norm1 norm2 norm tokens q k v o w1 w2 w3 head".split()]


def neighbours(shape, x, D):
    """Rows that are rotated together, j and j + D/2 of a head, follow each other."""
    rows, columns = shape
    order = [row - row % D + row % D // 2 + row % 2 * (D // 2) for row in range(rows)]
    return array.array("f", (y for row in order for y in x[row * columns:(row + 1) * columns]))


def angles(T, D):
    all_of = [t / 10000 ** (2 * j / D) for t in range(T) for j in range(D // 2)]
    return array.array("f", map(math.cos, all_of)) + array.array("f", map(math.sin, all_of))


GROUP = 4


def integers(x):
    """Of 8 bits, and then a scale for each group."""
    groups = [x[i:i + GROUP] for i in range(0, len(x), GROUP)]
    scales = [max(map(abs, g)) / 127 or 1.0 for g in groups]
    return array.array("b", (round(v / s) for g, s in zip(groups, scales) for v in g)).tobytes() + array.array("f", scales).tobytes()


def main(model, out, version="0"):
    version = int(version)
    arrays, scalars = make_torch.read(model)
    c = {name.split("/")[1]: value for name, value in scalars.items() if name.startswith("config/")}
    D, tied = c["head_dim"], "lm_head.weight" not in arrays
    numbers = [c["n_embd"], c["n_inner"], c["n_layer"], c["n_head"], c["n_kv_head"], c["vocab_size"], c["n_ctx"]]
    with open(out, "wb") as f:
        if version == 0:
            numbers[5] *= 1 if tied else -1
            f.write(struct.pack("<7i", *numbers))
        else:
            group = struct.pack("<i", GROUP) if version == 2 else b""
            f.write((struct.pack("<Ii7iB", 0x616B3432, version, *numbers, tied) + group).ljust(256, b"\0"))
        for kind in ORDERS[version > 0]:
            layers = [f"model.layers.{l}.{IN_LAYERS[kind]}" for l in range(c["n_layer"])] if kind in IN_LAYERS else [OTHERS.get(kind)]
            for name in layers:
                if kind == "angles":
                    f.write(angles(c["n_ctx"], D).tobytes())
                elif kind != "head" or not tied:
                    shape, x = arrays[name + ".weight"]
                    x = neighbours(shape, x, D) if kind in ("q", "k") else x
                    f.write(integers(x) if version == 2 and len(shape) == 2 else x.tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
