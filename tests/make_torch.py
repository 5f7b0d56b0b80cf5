"""A model as other programs save it with PyTorch; needs neither PyTorch nor NumPy.

make_torch.py MODEL.npz FILE [WHAT]...    the model as a checkpoint

WHAT: nothing (nanoGPT's: model and model_args), state (the state dict alone, as minGPT saves it),
      hf (the same with [in,out] matrices, as pytorch_model.bin), compiled (names begin with _orig_mod.),
      masks, views (matrices lie transposed), extra (an argument that nanoGPT does not have),
      calls (a value whose pickle calls os.system), slice (a tensor that is every other value of its storage)
"""
import array
import ast
import collections
import io
import os
import pickle
import struct
import sys
import types
import zipfile


class FloatStorage:
    def __init__(self, key, count):
        self.key, self.count = key, count


def _rebuild_tensor_v2(*arguments):
    raise NotImplementedError


class Tensor:
    def __init__(self, storage, shape, stride):
        self.arguments = (storage, 0, tuple(shape), tuple(stride), False, collections.OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.arguments


class Calls:
    def __reduce__(self):
        return os.system, ("echo called >&2",)


for thing, module in ((FloatStorage, "torch"), (_rebuild_tensor_v2, "torch._utils")):
    thing.__module__, thing.__qualname__ = module, thing.__name__
    sys.modules.setdefault(module, types.ModuleType(module))
    setattr(sys.modules[module], thing.__name__, thing)


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, FloatStorage):
            return "storage", FloatStorage, value.key, "cpu", value.count
        return None


def read(path):
    """name -> (shape, array of floats) of the float32 arrays, and name -> value of the scalars."""
    arrays, scalars = {}, {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            data = z.read(name)
            length = struct.unpack_from("<H", data, 8)[0]
            header, body = ast.literal_eval(data[10:10 + length].decode()), data[10 + length:]
            if header["descr"] == "<f4":
                arrays[name[:-4]] = header["shape"], array.array("f", body)
            elif header["descr"] == "<i8" and header["shape"] == ():
                scalars[name[:-4]] = struct.unpack("<q", body)[0]
    return arrays, scalars


def transposed(shape, values):
    rows, columns = shape
    return (columns, rows), array.array("f", (values[r * columns + c] for c in range(columns) for r in range(rows)))


def main(source, target, *what):
    arrays, scalars = read(source)
    config = {name.removeprefix("config/"): value for name, value in scalars.items() if name.startswith("config/")}
    storages, state = [], collections.OrderedDict()
    prefix = "_orig_mod." * ("compiled" in what) + "transformer."

    def tensor(shape, values, stride=None):
        storages.append(values.tobytes())
        if stride is None:
            stride = [1] * len(shape)
            for i in range(len(shape) - 1, 0, -1):
                stride[i - 1] = stride[i] * shape[i]
        return Tensor(FloatStorage(str(len(storages) - 1), len(values)), shape, stride)

    for name, (shape, values) in arrays.items():
        linear = len(shape) == 2 and (".attn." in name or ".mlp." in name)
        if linear and "hf" not in what:
            if "views" in what:
                state[prefix + name] = tensor(shape[::-1], values, (1, shape[1]))
                continue
            shape, values = transposed(shape, values)
        elif linear and "views" in what:
            state[prefix + name] = tensor(shape, transposed(shape, values)[1], (1, shape[0]))
            continue
        state[("" if name.startswith("lm_head") else prefix) + name] = tensor(shape, values)
    if "masks" in what:
        for layer in range(config["n_layer"]):
            state[f"{prefix}h.{layer}.attn.bias"] = tensor((1, 1, 2, 2), array.array("f", (1, 0, 1, 1)))
    if "slice" in what:
        state[prefix + "wpe.weight"].arguments = (
            FloatStorage("1", 2 * config["n_ctx"] * config["n_embd"]), 0, (config["n_ctx"], config["n_embd"]),
            (2 * config["n_embd"], 2), False, {})
    if "state" not in what and "hf" not in what:
        state[prefix.removesuffix("transformer.") + "lm_head.weight"] = state[prefix + "wte.weight"]
        args = {"n_layer": config["n_layer"], "n_head": config["n_head"], "n_embd": config["n_embd"],
                "block_size": config["n_ctx"], "bias": True, "vocab_size": config["vocab_size"], "dropout": 0.0}
        if "extra" in what:
            args["rope"] = True
        tree = {"model": state, "optimizer": {"state": {0: {"step": 1.0}}, "param_groups": [{"betas": (0.9, 0.95)}]},
                "model_args": args, "iter_num": 10, "config": {"out_dir": "out"}}
    else:
        tree = state
    if "calls" in what:
        tree["extra"] = Calls()
    out = io.BytesIO()
    Pickler(out, 2).dump(tree)
    with zipfile.ZipFile(target, "w") as z:
        z.writestr("ckpt/data.pkl", out.getvalue())
        z.writestr("ckpt/byteorder", "little")
        for i, storage in enumerate(storages):
            z.writestr(f"ckpt/data/{i}", storage)
        z.writestr("ckpt/version", "3\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
