"""How the first inputs of the fuzzers are made (make_corpus.py): archives, models, pickles, each byte by byte."""
import base64, io, json, pathlib, re, struct, subprocess, sys, tempfile, zipfile

import numpy as np

BIN, OUT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])


def put(target, name, data):
    folder = OUT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


class Pipe(io.RawIOBase):
    """A stream that cannot seek: zipfile then writes descriptors."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, b):
        self.data += bytes(b)
        return len(b)


def npy(array, version=None, header=None):
    """An .npy file; with a header text of its own."""
    f = io.BytesIO()
    np.lib.format.write_array(f, array, version=version)
    raw = f.getvalue()
    if header is None:
        return raw
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.tobytes()


def archive(arrays, stream=False, method=zipfile.ZIP_STORED, zip64=False, comment=b"", extra=b"", date=(2024, 5, 6, 7, 8, 10)):
    f = Pipe() if stream else io.BytesIO()
    with zipfile.ZipFile(f, "w", method) as z:
        z.comment = comment
        for name, data in arrays.items():
            info = zipfile.ZipInfo(name + ".npy", date)
            info.compress_type = method
            info.extra = extra
            with z.open(info, "w", force_zip64=zip64) as member:
                member.write(data if isinstance(data, bytes) else npy(np.asarray(data)))
    return f.data if stream else f.getvalue()


def with_zip64_end(arrays):
    """An end record of zip64, which few members need."""
    saved = zipfile.ZIP_FILECOUNT_LIMIT
    zipfile.ZIP_FILECOUNT_LIMIT = 0
    try:
        return archive(arrays, zip64=True)
    finally:
        zipfile.ZIP_FILECOUNT_LIMIT = saved


def kinds(target, arrays, prefix="", few=False):
    """The same arrays as other programs pack them; few: in two ways, because they are long."""
    numpy_plain, numpy_packed = io.BytesIO(), io.BytesIO()
    loaded = {k: v if not isinstance(v, bytes) else np.load(io.BytesIO(v)) for k, v in arrays.items()}
    np.savez(numpy_plain, **loaded)
    np.savez_compressed(numpy_packed, **loaded)
    put(target, prefix + "numpy-compressed.npz", numpy_packed.getvalue())
    put(target, prefix + "stream-deflated.npz", archive(arrays, stream=True, method=zipfile.ZIP_DEFLATED))
    if few:
        return
    put(target, prefix + "numpy.npz", numpy_plain.getvalue())
    put(target, prefix + "stream.npz", archive(arrays, stream=True))
    put(target, prefix + "stream-zip64.npz", archive(arrays, stream=True, zip64=True))
    put(target, prefix + "zip64-end.npz", with_zip64_end(arrays))
    # Info-ZIP's times and ids, and a comment
    times = struct.pack("<HHBI", 0x5455, 5, 1, 1700000000) + struct.pack("<HHBBIBI", 0x7875, 11, 1, 4, 0, 4, 0)
    put(target, prefix + "infozip.npz", archive(arrays, extra=times, comment=b"a comment"))
    # 7-Zip's times, in 100 nanoseconds
    ntfs = struct.pack("<HHIHHQQQ", 0x000A, 32, 0, 1, 24, 1 << 57, 1 << 57, 1 << 57)
    put(target, prefix + "7zip.npz", archive(arrays, extra=ntfs, method=zipfile.ZIP_DEFLATED))


def run(*command, cwd, data=None):
    return subprocess.run([str(BIN / command[0]), *command[1:]], cwd=cwd, input=data, check=True, capture_output=True).stdout


def repack(target, path, prefix=""):
    """A tool's archive, and the same arrays as others pack them."""
    raw = pathlib.Path(path).read_bytes()
    put(target, prefix + "own.npz", raw)
    with zipfile.ZipFile(io.BytesIO(raw)) as z:
        kinds(target, {name[:-4]: z.read(name) for name in z.namelist()}, prefix, few=True)


def tokenizer(**changes):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3, "\u0120": 4}, "merges": ["a b", "ab ab"]}
    added = {"id": 5, "content": "<e>", "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}
    t = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [added], "normalizer": None,
         "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level, "model": model}
    for key, value in changes.items():
        (model if key in model else t)[key] = value
    return json.dumps(t).encode()


def bare(value):
    """An .npy file with a short header."""
    a = np.asarray(value)
    shape = "(%s)" % "".join("%d," % n for n in a.shape)
    return npy(a, header=("{'descr':'%s','fortran_order':False,'shape':%s}\n" % (a.dtype.str, shape)).encode())


def members(arrays, complete=False):
    """Arrays in short members; complete: with a directory."""
    raw = archive({k: v if isinstance(v, bytes) else bare(v) for k, v in arrays.items()})
    return raw if complete else raw[: raw.index(b"PK\1\2")]


# ---- models of a few numbers, in the files of other programs


def weights(C=2, V=3, T=2, L=1, bias=False, gain=None, **more):
    """GPT-2's tensors, by the names and in the layout of transformers."""
    rng = np.random.default_rng(7)
    shapes = {"wte.weight": (V, C), "wpe.weight": (T, C)}
    for l in range(L):
        h = "h.%d." % l
        shapes |= {h + "attn.c_attn.weight": (C, 3 * C), h + "attn.c_proj.weight": (C, C), h + "mlp.c_fc.weight": (C, 4 * C), h + "mlp.c_proj.weight": (4 * C, C)}
        if bias if gain is None else gain:
            shapes |= {h + "ln_1.weight": (C,), h + "ln_2.weight": (C,)}
        if bias:
            shapes |= {h + "ln_1.bias": (C,), h + "attn.c_attn.bias": (3 * C,), h + "attn.c_proj.bias": (C,),
                       h + "ln_2.bias": (C,), h + "mlp.c_fc.bias": (4 * C,), h + "mlp.c_proj.bias": (C,)}
    if bias if gain is None else gain:
        shapes["ln_f.weight"] = (C,)
    if bias:
        shapes["ln_f.bias"] = (C,)
    w = {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}
    for name, value in more.items():
        if value is None:
            del w[name]
        else:
            w[name] = np.asarray(value)
    return w


def turned(w):
    """The same as nanoGPT has it: the linear layers' matrices are [out,in]."""
    return {k: np.ascontiguousarray(a.T) if "c_" in k and a.ndim == 2 else a for k, a in w.items()}


def split(w):
    """Q, k and v as tensors of their own."""
    parts = {}
    for name, a in w.items():
        for i, part in enumerate("qkv" if ".c_attn." in name else "="):
            parts[name.replace("c_attn", part + "_proj")] = a if part == "=" else np.split(a, 3, axis=-1)[i]
    return parts


def safetensors(w, **types):
    """A file; with types other than NumPy's, for arrays of their bits."""
    names = {"f4": "F32", "f2": "F16", "f8": "F64", "i4": "I32", "u2": "BF16"}
    head, data = {}, b""
    for name, a in w.items():
        a = np.asarray(a)
        head[name] = {"dtype": names[a.dtype.str[1:]], "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(head, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def torch_file(root, edit_id=None, edit_args=None, parameter=None, **members):
    """What torch.save() writes of arrays in dicts; edit_id and edit_args change what tells of a tensor's storage,
    and of a tensor; parameter is what follows each tensor that becomes a parameter."""
    import collections, pickle, types
    storages = []

    class Storage:
        def __init__(self, array):
            self.array, self.key = array, str(len(storages))
            storages.append(self)

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __reduce__(self):
            a = self.array
            whole = a if a.flags.c_contiguous else a.T
            strides = tuple(s // a.itemsize for s in a.strides)
            args = (Storage(np.ascontiguousarray(whole)), 0, a.shape, strides, False, collections.OrderedDict())
            return rebuild, edit_args(args) if edit_args else args

    class Parameter:
        def __init__(self, array):
            self.tensor = Tensor(array)

        def __reduce__(self):
            return rebuild_parameter, (self.tensor, *parameter)

    class Pickler(pickle._Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            kinds = {"f4": "FloatStorage", "f2": "HalfStorage", "u2": "BFloat16Storage", "f8": "DoubleStorage", "i8": "LongStorage"}
            kind = getattr(torch, kinds[value.array.dtype.str[1:]])
            id = ("storage", kind, value.key, "cpu", value.array.size)
            return edit_id(id) if edit_id else id

    def rebuild():
        pass

    def rebuild_parameter():
        pass

    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild
    rebuild_parameter.__module__, rebuild_parameter.__qualname__ = "torch._utils", "_rebuild_parameter"
    utils._rebuild_parameter = rebuild_parameter
    for kind in "Float", "Half", "BFloat16", "Double", "Long":
        setattr(torch, kind + "Storage", type(kind + "Storage", (), {"__module__": "torch", "__qualname__": kind + "Storage"}))
    before = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules.update({"torch": torch, "torch._utils": utils})

    def wrap(value):
        if isinstance(value, dict):
            return {k: wrap(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(wrap(v) for v in value)
        return (Parameter if parameter else Tensor)(value) if isinstance(value, np.ndarray) else value

    f, out = io.BytesIO(), io.BytesIO()
    try:
        Pickler(f, 2).dump(wrap(root))
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module:
                sys.modules[name] = module
    files = {"data.pkl": f.getvalue(), "byteorder": b"little", "version": b"3\n"}
    files |= {"data/" + s.key: s.array.tobytes() for s in storages} | members
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            if data is not None:
                z.writestr(zipfile.ZipInfo("c/" + name), data)
    return out.getvalue()


ARGS = {"n_layer": 1, "n_head": 1, "n_embd": 2, "block_size": 2, "vocab_size": 3, "bias": True, "dropout": 0.0}
CONFIG = {"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 2, "n_positions": 2, "vocab_size": 3}
MINGPT = {"model": {"n_layer": 1, "n_head": 1, "n_embd": 2, "block_size": 2, "vocab_size": 3}}


# names of the files in an input of the fuzzer `checkpoint`, by their numbers
NAMES = ["config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "tokenizer.json", "vocab.json",
         "pytorch_model.bin.index.json", "encoder.json", "merges.txt", "vocab.bpe", "a.safetensors", "b.bin", "ckpt.pt", "names.txt",
         "tokens.tiktoken", "x", "tokenizer.model", "tokenizer.bin", "tokenizer_config.json"]
LOSSY, FUSE, HEADS, GELU_NEW, GELU, MAP, FIRST = 1, 2, 4, 32, 48, 64, 128
DIRECTORY, DEVICE = 32, 48


def bundle(name, files, ask=0, way=0, vocab=0):
    out = bytes([ask, way, vocab])
    for file, data in files.items():
        kind = 0
        if data in (DIRECTORY, DEVICE):
            kind, data = data, b""
        data = json.dumps(data).encode() if isinstance(data, dict) else data
        out += bytes([NAMES.index(file) | kind]) + struct.pack("<H", len(data)) + data
    put("checkpoint", name, out)


def way(format, type="f32", lossy=False, split=False):
    """How an accepted model is written (tests/fuzz/check_model.c)."""
    return (["npz", "safetensors", "gguf", "llmc", "hf"].index(format) + 5 * ["f32", "f16", "bf16", "q8_0"].index(type) + 20 * lossy + 40 * split)


def gguf_file(values=(), tensors=(), align=32):
    """Values: (key, type, bytes); tensors: (name, shape with the columns first, type, bytes)."""
    text = lambda t: struct.pack("<Q", len(t)) + t
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, type, data in values:
        out += text(key.encode()) + struct.pack("<I", type) + data
    at, all = 0, b""
    for name, shape, type, data in tensors:
        all += bytes(-len(all) % align)
        out += text(name.encode()) + struct.pack("<I%dQ" % len(shape), len(shape), *shape) + struct.pack("<IQ", type, len(all))
        all += data
    return out + bytes(-len(out) % align) + all + bytes(-len(all) % align)
