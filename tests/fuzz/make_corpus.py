"""The first inputs of the fuzzers that other programs make, in OUT/TARGET/:

    python3 tests/fuzz/make_corpus.py BIN OUT

BIN has the tools.  It needs NumPy, and safetensors and gguf for their files.  `make fuzz-corpus` runs it, lets
the fuzzers add to it, and keeps the fewest inputs that reach the same edges.
"""
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


def archives():
    x = np.arange(4, dtype="<f4").reshape(2, 2)
    arrays = {"kind": np.array(b"seed"), "x": x, "empty": np.zeros((0, 3), "<i2")}
    kinds("archive", arrays)
    dict_of = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
    heads = {
        "version2": npy(x, version=(2, 0)),
        "fortran": npy(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
        "fortran-row": npy(np.zeros((1, 3), order="F")),
        "long-header": npy(x, header=(dict_of % ("<f4", "False", "(2, 2)")).encode().ljust(9999) + b"\n"),
        "too-long-header": npy(x, header=(dict_of % ("<f4", "False", "(2, 2)")).encode().ljust(10299) + b"\n"),
        "8-dimensions": npy(np.zeros((1,) * 8, "u1")),
        "9-dimensions": npy(np.zeros((1,) * 9, "u1")),
        "order-of-keys": npy(x, header=b"{'shape': (2, 2), 'fortran_order': False, 'descr': '<f4'}\n"),
        "big-endian": npy(x.astype(">f4")),
        "objects": npy(np.zeros(1), header=(dict_of % ("|O", "False", "(1,)")).encode() + b"\n"),
        "huge": npy(np.zeros(0), header=(dict_of % ("<f4", "False", "(4611686018427387904, 4)")).encode() + b"\n"),
        "structured": npy(np.zeros(1, [("a", "<i4")])),
        "no-numpy": b"not an array",
    }
    for name, data in heads.items():
        put("archive", name + ".npz", archive({"x": data}, method=zipfile.ZIP_DEFLATED))
        if len(data) < 300:
            put("archive", name + "-stored.npz", archive({"x": data}))
    put("archive", "zeros.npz", archive({"x": np.zeros(130000, "u1")}, method=zipfile.ZIP_DEFLATED))
    put("archive", "two.npz", archive({"x": x}) + archive({"y": x}, stream=True))
    put("archive", "names.npz", archive({"../x": x}))
    put("archive", "duplicate.npz", archive({"x": x})[:-22] + archive({"x": x}))
    put("archive", "gzip", b"\x1f\x8b\x08\x00" + bytes(20))
    whole = archive({"x": x})
    for n in 20, 60, len(whole) - 30, len(whole) - 5:
        put("archive", "cut-%d.npz" % n, whole[:n])
    wrong = bytearray(whole)
    wrong[150] ^= 1
    put("archive", "wrong-crc.npz", bytes(wrong))


def run(*command, cwd, data=None):
    return subprocess.run([str(BIN / command[0]), *command[1:]], cwd=cwd, input=data, check=True, capture_output=True).stdout


def repack(target, path, prefix=""):
    """A tool's archive, and the same arrays as others pack them."""
    raw = pathlib.Path(path).read_bytes()
    put(target, prefix + "own.npz", raw)
    with zipfile.ZipFile(io.BytesIO(raw)) as z:
        kinds(target, {name[:-4]: z.read(name) for name in z.namelist()}, prefix, few=True)


def tools():
    with tempfile.TemporaryDirectory() as d:
        text = b"To be, or not to be: abcab abc\n" * 20
        sizes = ["--n-layer", "1", "--n-head", "2", "--n-embd", "2", "--n-ctx", "4"]
        run("tg-bpe", "-o", "bpe.npz", "--vocab-size", "264", cwd=d, data=text)
        run("tg-init", "-o", "bytes.npz", *sizes, cwd=d)
        (pathlib.Path(d) / "tokens.npz").write_bytes(run("tg-tokenize", cwd=d, data=b"abc \xff\0z"))
        (pathlib.Path(d) / "tokens16.npz").write_bytes(run("tg-tokenize", "--tokenizer", "bpe.npz", cwd=d, data=text[:62]))
        run("tg-attn-dump", "-m", "bytes.npz", "-p", "abc", "-o", "dump.npz", cwd=d)
        repack("vocab", d + "/bpe.npz")
        repack("vocab", d + "/tokens16.npz", "tokens-")
        repack("token_file", d + "/tokens.npz")
        repack("token_file", d + "/tokens16.npz", "bpe-")
        repack("prompt", d + "/tokens.npz")
        repack("dump", d + "/dump.npz")
        put("prompt", "text", text[:300])
        put("prompt", "long", b"abc ab abcab\n" * 90)
        for target in ["model_file"]:
            repack(target, d + "/bytes.npz")
            # weights that make attention differ from a mean
            with zipfile.ZipFile(d + "/bytes.npz") as z:
                arrays = {name[:-4]: np.load(io.BytesIO(z.read(name))) for name in z.namelist()}
            loud = {name: a * np.float32(30) if a.dtype == "f4" and a.ndim == 2 else a for name, a in arrays.items()}
            put(target, "loud.npz", archive(loud, stream=True, method=zipfile.ZIP_DEFLATED))
            for to, name in ("gguf", "m.gguf"), ("llmc", "m.bin"), ("hf", "hf"):
                run("tg-convert", "--to", to, "-o", name, "bytes.npz", cwd=d)
                path = pathlib.Path(d) / name
                put(target, name if path.is_file() else "model.safetensors", (path if path.is_file() else path / "model.safetensors").read_bytes())
                if path.is_dir():
                    put("hf", "config.json", (path / "config.json").read_bytes())
                    put("safetensors", "model.safetensors", (path / "model.safetensors").read_bytes()[:8000])
                subprocess.run(["rm", "-rf", str(path)], check=True)


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


def tokenizers():
    digits = {"type": "Digits", "individual_digits": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    put("tokenizer_json", "plain.json", tokenizer())
    put("tokenizer_json", "no-merges-needed.json", tokenizer(ignore_merges=True))
    put("tokenizer_json", "nfc.json", tokenizer(normalizer={"type": "NFC"}))
    put("tokenizer_json", "pairs.json", tokenizer(merges=[["a", "b"], ["ab", "ab"]]))
    put("tokenizer_json", "digits.json", tokenizer(pre_tokenizer={"type": "Sequence", "pretokenizers": [digits, level]}))


def others():
    try:
        from safetensors.numpy import save
        put("safetensors", "library.safetensors", save({"a": np.arange(3, dtype="f2"), "b": np.zeros((2, 2), "i8")}, {"format": "np"}))
        put("safetensors", "empty.safetensors", save({}))
    except ImportError:
        print("no safetensors", file=sys.stderr)
    try:
        import gguf
        with tempfile.TemporaryDirectory() as d:
            w = gguf.GGUFWriter(d + "/x.gguf", "gpt2")
            w.add_context_length(4)
            w.add_array("tokenizer.ggml.tokens", ["a", "b"])
            w.add_tensor("a", np.arange(32, dtype="f4"))
            w.add_tensor("b", gguf.quants.quantize(np.ones((2, 32), "f4"), gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            w.write_header_to_file()
            w.write_kv_data_to_file()
            w.write_tensors_to_file()
            w.close()
            put("gguf", "library.gguf", pathlib.Path(d, "x.gguf").read_bytes())
    except ImportError:
        print("no gguf", file=sys.stderr)
    import pickle
    for protocol in 2, 3, 4, 5:
        put("pickle", "protocol-%d" % protocol, pickle.dumps({"itos": {0: "a", 1: "\u00e9"}, "l": [1, 2.5, None, True, -70000, (1, 2, 3, 4)], "n": 1 << 40}, protocol))
        put("plain_vocab", "meta-%d.pkl" % protocol, pickle.dumps({"itos": {0: "a", 1: "b"}, "stoi": {"a": 0, "b": 1}, "vocab_size": 2}, protocol))
    put("pickle", "long", b"\x80\x04\x8d" + struct.pack("<Q", 3) + b"abc.")
    put("json", "deep", b"[" * 60 + b"]" * 60)
    put("json", "deeper", b"[" * 200 + b"]" * 200)
    put("json", "text", b'{"a": [1, -2.5e+3, {}, [], null, true, false], "b": "x\\u0041\\uD83D\\uDE00\\n\\"\xc3\xa9"}')
    put("hf", "index.json", b'{"metadata": {"total_size": 8}, "weight_map": {"a": "a.safetensors", "b": "sub/b.safetensors"}}')
    put("gguf_vocab", "special", b"\x06\x18a\nb\nab\nc\n\na b\n")
    put("gguf_vocab", "specials", b"\x06\x20a\nb\nab\n<e>\nx\n<|s|>\nd\n\na b\n")
    put("options", "all", b"-q\n--slow\n-ofile\n--add\nx\n-n\n1.5M\n--seed=18446744073709551615\n-r.5\n--color\nyes\n-ftsv\n--tied=off\n--\n-a")
    put("options", "wrong", b"--nosuch\n--c=1\n-n0\n--seed=-1\n--rate=inf\n--color=blue\n-o\n--quick=1\n-\n-")
    put("options", "two-dashes", b"-\n-")


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


def torch_models():
    """Checkpoints of one file: (name, bytes)."""
    w = turned(weights())
    yield "args", torch_file({"model": w, "model_args": ARGS})
    yield "state", torch_file({"state_dict": weights()})
    yield "bare", torch_file({"transformer." + k: a for k, a in w.items()})
    views = {k: np.asfortranarray(a) if "c_" in k and a.ndim == 2 else a for k, a in w.items()}
    yield "views", torch_file({"model": views, "model_args": ARGS})
    yield "some-views", torch_file({"model": turned(split(weights())) | {"h.0.attn.q_proj.weight": np.asfortranarray(w["wte.weight"][:2])}})
    yield "no-dict", torch_file({"model": 1, "model_args": 2})
    for name, value in ("n_layer", 0), ("n_layer", "1"), ("n_embd", 1 << 40), ("what", 1), (7, 1), ("vocab_size", 4):
        yield "args-%s-%s" % (name, value), torch_file({"model": {}, "model_args": {name: value}})
    yield "slice", torch_file({"wte.weight": np.zeros((4, 4), "f4")[::2, ::2]})
    yield "types", torch_file({"wte.weight": np.ones((3, 2), "f8"), "n": np.arange(3), "wpe.weight": np.ones((2, 2), "u2"), "h": np.ones(3, "f2"),
                               "one": 1.5, "empty": np.zeros((0, 3), "f4"), "scalar": np.array(2, "f4")})
    yield "nested", torch_file({"a": [{"b": w["wpe.weight"]}, (w["wte.weight"],)], 5: {"c": w["wpe.weight"]}})
    yield "list", torch_file([w["wpe.weight"], (w["wte.weight"],)])
    yield "long", torch_file({"x" * 100: {"y" * 100: {"z" * 100: w["wpe.weight"]}}})
    yield "missing", torch_file({"wte.weight": w["wte.weight"]}, **{"data/0": None})
    yield "short", torch_file({"wte.weight": w["wte.weight"]}, **{"data/0": b"abc"})
    yield "big-endian", torch_file({}, byteorder=b"big")
    yield "no-version", torch_file({}, version=None)
    yield "script", torch_file({}, **{"constants.pkl": b"x"})
    yield "two-pickles", torch_file({}, **{"x/data.pkl": b"x"})
    yield "no-pickle", torch_file({}, **{"data.pkl": None})
    yield "long-prefix", torch_file({}, **{"data.pkl": None, "p" * 140 + "/data.pkl": b"x"})
    one = {"w": w["wpe.weight"]}
    ordered = __import__("collections").OrderedDict
    for i, id in enumerate([lambda t: t[:4], lambda t: t + (1,), lambda t: ("x", *t[1:]), lambda t: (1, *t[1:]), lambda t: (t[0], "x", *t[2:]), lambda t: (t[0], ordered, *t[2:]), lambda t: (*t[:2], 1, *t[3:]),
                            lambda t: (*t[:3], 1, t[4]), lambda t: (*t[:4], "x"), lambda t: (*t[:4], -1), lambda t: (*t[:4], 3), lambda t: list(t), lambda t: (*t[:2], "k" * 300, *t[3:])]):
        yield "id-%d" % i, torch_file(one, edit_id=id)
    for i, args in enumerate([lambda t: t[:5], lambda t: t + (None,), lambda t: t + ({"a": 1},), lambda t: t + (None, 1), lambda t: (1, *t[1:]), lambda t: (t[0], "x", *t[2:]), lambda t: (t[0], -1, *t[2:]), lambda t: (t[0], 1, *t[2:]),
                              lambda t: (*t[:2], 1, *t[3:]), lambda t: (*t[:2], ("x",), *t[3:]), lambda t: (*t[:2], (1,) * 9, *t[3:]), lambda t: (*t[:3], (1,), *t[4:]), lambda t: (*t[:3], (0, 0), *t[4:]), lambda t: (*t[:3], (1, 3), *t[4:]),
                              lambda t: (*t[:4], 1, t[5]), lambda t: (*t[:5], None), lambda t: (*t[:5], {"a": 1}), lambda t: (*t[:2], (1 << 40, 1 << 40), (1, 1), *t[4:]), lambda t: (*t[:2], (1, 2), (7, 1), *t[4:]), lambda t: (*t[:2], (2, 1), (1, 2), *t[4:])]):
        yield "tensor-%d" % i, torch_file(one, edit_args=args)
    for i, more in enumerate([(True, ordered()), (True, {"a": 1}), (True,), (True, None)]):
        yield "parameter-%d" % i, torch_file(one, parameter=more)
    yield "order-size", torch_file(one, byteorder=b"big-endian")
    yield "no-order", torch_file(one, byteorder=None)
    whole = torch_file(one)
    yield "two-directories", whole[:-22] + whole
    yield "old", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


# names of the files in an input of the fuzzer `checkpoint`, by their numbers
NAMES = ["config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "tokenizer.json", "vocab.json",
         "pytorch_model.bin.index.json", "encoder.json", "merges.txt", "vocab.bpe", "a.safetensors", "b.bin", "ckpt.pt", "names.txt",
         "tokens.tiktoken", "x"]
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


def checkpoints():
    w = weights()
    plain = safetensors(w)
    head = np.ones((3, 2), "f4")
    for i, to in enumerate(["npz", "safetensors", "gguf", "llmc", "hf"]):
        for type in "f32", "f16", "bf16", "q8_0":
            bundle("to-%s-%s" % (to, type), {"config.json": CONFIG, "model.safetensors": plain}, way=way(to, type))
    split_file = {"config.json": CONFIG, "model.safetensors": safetensors(split(w))}
    for to in "npz", "safetensors", "gguf", "llmc", "hf":
        bundle("split-to-" + to, split_file, FUSE, way(to, split=True))
    bundle("split", split_file)
    exact = CONFIG | {"activation_function": "gelu", "tie_word_embeddings": False, "layer_norm_epsilon": 1e-6}
    untied = {"config.json": exact, "model.safetensors": safetensors(w | {"lm_head.weight": head})}
    biased = {"model.safetensors": safetensors(w | {"lm_head.weight": head, "lm_head.bias": np.ones(3, "f4")})}
    for to in "npz", "safetensors", "gguf", "llmc", "hf":
        for lossy in False, True:
            bundle("gelu-to-%s-%d" % (to, lossy), untied, way=way(to, lossy=lossy))
            bundle("bias-to-%s-%d" % (to, lossy), biased, HEADS | FIRST, way(to, lossy=lossy))
    bundle("bias-zero", {"model.safetensors": safetensors(w | {"lm_head.weight": head, "lm_head.bias": np.zeros(3, "f4")})}, HEADS, way("llmc", lossy=True))
    for to in "safetensors", "gguf", "llmc":
        large = safetensors(w | {"wte.weight": np.full((3, 2), 3.4e38, "f4")})
        for type in "f16", "bf16":
            bundle("large-%s-%s" % (to, type), {"config.json": CONFIG, "model.safetensors": large}, way=way(to, type))

    # what the tensors tell, and what contradicts them
    def alone(name, tensors, ask=HEADS, config=None, **types):
        bundle("tensors-" + name, ({"config.json": config} if config else {}) | {"model.safetensors": safetensors(tensors)}, ask)

    alone("alone", w, HEADS)
    alone("no-heads", w, 0)
    alone("odd-heads", w, 3 * HEADS)
    alone("other-heads", w, 2 * HEADS, CONFIG)
    alone("same-heads", w, HEADS | GELU_NEW, CONFIG)
    alone("no-such-heads", w, 0, CONFIG | {"n_head": 3})
    alone("other-gelu", w, GELU, CONFIG)
    alone("gelu", w, HEADS | GELU)
    alone("gelu-new", w, HEADS | GELU_NEW)
    alone("out-in", turned(w))
    alone("out-in-split", turned(split(w)), HEADS | FUSE)
    alone("biases", weights(bias=True))
    alone("some-biases", weights(bias=True, **{"h.0.ln_1.bias": None, "h.0.mlp.c_fc.bias": None}))
    alone("gains", weights(gain=True))
    alone("some-gains", weights(gain=True, **{"h.0.ln_1.weight": None}), HEADS, CONFIG)
    alone("no-wte", weights(**{"wte.weight": None}))
    alone("no-wpe", weights(**{"wpe.weight": None}))
    alone("no-fc", weights(**{"h.0.mlp.c_fc.weight": None}))
    alone("no-qkv", weights(**{"h.0.attn.c_attn.weight": None}))
    alone("more", w | {"what": head})
    alone("more-lossy", w | {"what": head}, HEADS | LOSSY)
    alone("masks", w | {"h.0.attn.bias": np.zeros((1, 1, 2, 2), "f4"), "h.0.attn.masked_bias": np.zeros((), "f4")})
    alone("integers", weights(**{"wpe.weight": np.zeros((2, 2), "i4")}))
    alone("shape", weights(**{"h.0.mlp.c_fc.weight": np.zeros((2, 7), "f4")}))
    alone("dimensions", weights(**{"wte.weight": np.zeros(6, "f4")}))
    alone("vector", weights(gain=True, **{"h.0.ln_1.weight": np.zeros((1, 2), "f4")}))
    alone("layers", w | {"h.5000.ln_1.weight": np.zeros(2, "f4")})
    alone("layer", w | {"h.1.ln_1.weight": np.zeros(2, "f4")}, 0, CONFIG)
    alone("two-layers", weights(L=2), 0, CONFIG | {"n_layer": 2})
    alone("layer-missing", w, 0, CONFIG | {"n_layer": 2})
    alone("twice", w | {"transformer.wte.weight": head})
    alone("prefixes", {"_orig_mod.module.model." + k: a for k, a in w.items()})
    alone("tied-head", w | {"lm_head.weight": w["wte.weight"]})
    alone("tied-head-told", w | {"lm_head.weight": head}, 0, CONFIG | {"tie_word_embeddings": True})
    alone("head-type", w | {"lm_head.weight": w["wte.weight"].astype("f8")})
    alone("head-other-type", w | {"lm_head.weight": head.astype("f8")})
    alone("head-integers", w | {"lm_head.weight": head.astype("i4")})
    alone("head-shape", w | {"lm_head.weight": np.zeros((4, 2), "f4")})
    alone("untied-no-head", w, 0, CONFIG | {"tie_word_embeddings": False})
    alone("bf16", {k: (a.view("u4") >> 16).astype("u2") for k, a in w.items()})
    alone("f8", {k: a.astype("f8") for k, a in w.items()})
    alone("f8-large", {k: a.astype("f8") * 1e300 for k, a in w.items()})
    alone("not-finite", weights(bias=True, **{"ln_f.bias": np.array([1, np.inf], "f4")}))
    q = split(w)
    alone("no-v", {k: a for k, a in q.items() if "v_proj" not in k}, HEADS | FUSE)
    alone("both", q | w, HEADS | FUSE)
    alone("q-shape", q | {"h.0.attn.q_proj.weight": np.zeros((2, 3), "f4")}, HEADS | FUSE)

    # names of the user's
    names = b"emb wte.weight\npos wpe.weight\nN.q h.N.attn.q_proj.weight%s\nN.k h.N.attn.k_proj.weight%s\nN.v h.N.attn.v_proj.weight%s\n" \
        b"N.o h.N.attn.c_proj.weight transposed\nN.up h.N.mlp.c_fc.weight\nN.down h.N.mlp.c_proj.weight\nN.mask -\n"
    rename = {"wte.weight": "emb", "wpe.weight": "pos", "h.0.attn.q_proj.weight": "0.q", "h.0.attn.k_proj.weight": "0.k", "h.0.attn.v_proj.weight": "0.v",
              "h.0.attn.c_proj.weight": "0.o", "h.0.mlp.c_fc.weight": "0.up", "h.0.mlp.c_proj.weight": "0.down"}
    named = {rename[k]: a for k, a in q.items() if k in rename} | {"0.mask": head}
    for i, t in enumerate([(b"",) * 3, (b" transposed",) * 3, (b" transposed", b"", b"")]):
        bundle("map-%d" % i, {"model.safetensors": safetensors(named), "names.txt": names % t}, MAP | FUSE | HEADS | FIRST)
    bundle("map-missing", {"model.safetensors": plain}, MAP | HEADS)
    bundle("map-wrong", {"model.safetensors": plain, "names.txt": b"a b c d"}, MAP | HEADS)
    bundle("map-stranger", {"model.safetensors": plain, "names.txt": b"emb wte.weight"}, MAP | HEADS)

    # several files
    half = list(w)[:8]
    map_of = {"weight_map": {k: "a.safetensors" if k in half else "b.bin" for k in w}}
    shards = {"a.safetensors": safetensors({k: w[k] for k in half}), "b.bin": torch_file({k: a for k, a in w.items() if k not in half})}
    bundle("index", {"config.json": CONFIG, "model.safetensors.index.json": map_of} | shards)
    bundle("index-bin", {"config.json": CONFIG, "pytorch_model.bin.index.json": map_of} | shards)
    bundle("index-wrong", {"model.safetensors.index.json": {"weight_map": 1}})
    bundle("index-lacks", {"model.safetensors.index.json": {"weight_map": {"a": "a.safetensors", "b": "b.bin"}}, "a.safetensors": safetensors({"a": head}),
                           "b.bin": torch_file({"c": head})})
    bundle("index-missing", {"model.safetensors.index.json": {"weight_map": {"a": "a.safetensors"}}})
    bundle("index-damaged", {"model.safetensors.index.json": {"weight_map": {"a": "b.bin"}}, "b.bin": b"no tensors at all"})
    bundle("index-directory", {"model.safetensors.index.json": {"weight_map": {"a": "b.bin"}}, "b.bin": DIRECTORY})
    bundle("index-device", {"model.safetensors.index.json": DEVICE})
    bundle("zip", {"model.safetensors": archive({"x": head})})
    bundle("short", {"model.safetensors": b"abc"})
    bundle("first", {"model.safetensors": plain, "config.json": CONFIG}, FIRST)
    for kind in DIRECTORY, DEVICE:
        for name in "config.json", "model.safetensors", "tokenizer.json", "vocab.json":
            bundle("%s-%d" % (name, kind), {"model.safetensors": plain, "config.json": CONFIG} | {name: kind})
    bundle("config-only", {"config.json": CONFIG})
    bundle("config-wrong", {"model.safetensors": plain, "config.json": b"{"})

    # one file of PyTorch, with others beside it
    bundle("bin", {"config.json": CONFIG, "pytorch_model.bin": torch_file(w)})
    args = {"ckpt.pt": torch_file({"model": turned(w), "model_args": ARGS})}
    for to in "npz", "gguf", "hf":
        bundle("pt-args-" + to, args, FIRST, way(to, lossy=True))
    pt = {"ckpt.pt": torch_file(turned(w))}
    bundle("pt-mingpt", pt | {"config.json": MINGPT}, FIRST)
    bundle("pt-mingpt-some", pt | {"config.json": {"model": {"n_head": 1}}}, FIRST)
    bundle("pt-mingpt-wrong", pt | {"config.json": {"model": {"n_head": "1"}}}, FIRST)
    for key in MINGPT["model"]:
        bundle("pt-mingpt-" + key, {"ckpt.pt": torch_file({}), "config.json": {"model": MINGPT["model"] | {key: "x"}}}, FIRST)
    bundle("pt-mingpt-list", pt | {"config.json": b'{"model": []}'}, FIRST)
    bundle("pt-other-config", pt | {"config.json": {"x": 1}}, FIRST | HEADS)
    bundle("pt-no-config", pt | {"config.json": b"[]"}, FIRST | HEADS)
    bundle("pt-config-device", pt | {"config.json": DEVICE}, FIRST | HEADS)
    bundle("pt-config-directory", pt | {"config.json": DIRECTORY}, FIRST | HEADS)
    bundle("pt-config", {"ckpt.pt": torch_file(w), "config.json": CONFIG}, FIRST)
    bundle("pt-shape", pt, FIRST | HEADS)
    q = turned(split(weights()))
    name = "h.0.attn.q_proj.weight"
    bundle("pt-q-transposed", {"ckpt.pt": torch_file({"model": q | {name: np.asfortranarray(q[name] + 1)}})}, FIRST | HEADS | FUSE)
    for name, data in torch_models():
        put("torch_file", name + ".pt", data)
        if re.match("id-|tensor-|parameter-|[a-z]+-p|long|s[hl]|miss|big|n[eo]-[opv]|script|types", name):
            continue
        if name in ("args", "bare", "views", "old"):
            put("model_file", name + ".pt", data)
        bundle("pt-" + name, {"ckpt.pt": data}, FIRST | HEADS | FUSE | LOSSY)
        if name.startswith("args-"):
            bundle("pt-strict-" + name, {"ckpt.pt": data}, FIRST | HEADS)
    arrays = io.BytesIO()
    np.savez(arrays, **w)
    bundle("npz-arrays", {"x": arrays.getvalue()}, FIRST | HEADS)
    put("model_file", "arrays.npz", arrays.getvalue())
    put("model_file", "arrays-packed.npz", archive(w, stream=True, method=zipfile.ZIP_DEFLATED))

    # tokenizers, alone and beside a model
    vocab, merges = {"a": 0, "b": 1, "ab": 2}, b"#version: 0.2\na b\n"
    for i, (files, how) in enumerate([
            ({"vocab.json": vocab, "merges.txt": merges}, 0), ({"encoder.json": vocab, "vocab.bpe": merges}, 64), ({"merges.txt": merges}, 0),
            ({"vocab.json": vocab}, 0), ({"merges.txt": merges, "vocab.json": vocab}, 128), ({"merges.txt": merges, "encoder.json": DIRECTORY}, 0),
            ({"vocab.json": vocab, "merges.txt": DEVICE}, 0), ({"vocab.json": vocab, "merges.txt": merges}, 3), ({"merges.txt": merges}, 5),
            ({"tokens.tiktoken": b"IQ== 0\nIg== 1\n"}, 0), ({"tokens.tiktoken": b"IQ== 0\nIg== 1\n"}, 1), ({"tokens.tiktoken": b"IQ== 0\nIg== 1\n"}, 3),
            ({"x": b""}, 0), ({"x": b"\x7fELF"}, 0), ({"x": b"GGUF\3\0\0\0"}, 0), ({"x": b"\x80\4}."}, 3), ({"x": b" \t\r\n{}"}, 0), ({"x": b" \0{"}, 0)]):
        for ask in 0, FIRST:
            bundle("vocab-%d-%d" % (i, ask), files, ask, 0, how)
    config = CONFIG | {"vocab_size": 6}
    six = safetensors(weights(V=6))
    for to in "npz", "gguf", "hf", "llmc":
        bundle("tokenizer-json-" + to, {"config.json": config, "model.safetensors": six, "tokenizer.json": tokenizer()}, way=way(to))
        bundle("tokenizer-nfc-" + to, {"config.json": config, "model.safetensors": six, "tokenizer.json": tokenizer(normalizer={"type": "NFC"})}, way=way(to, lossy=to == "gguf"))
    llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    digits = {"type": "Digits", "individual_digits": True}
    sequences = {"none": level, "digits": {"type": "Sequence", "pretokenizers": [digits, level | {"use_regex": True}]},
                 "llama3": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": llama3}, "behavior": "Isolated"}, level]}}
    for rule, pre in sequences.items():
        for whole in False, True:
            small = {"pre_tokenizer": pre, "model": {"ignore_merges": whole, "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3}, "merges": ["a b"]}}
            for lossy in False, True:
                bundle("rule-%s-%d-%d" % (rule, whole, lossy), {"config.json": config, "model.safetensors": six, "tokenizer.json": small}, way=way("gguf", lossy=lossy))
    small = {"pre_tokenizer": level | {"use_regex": True}, "model": {"ignore_merges": True, "vocab": {"a": 0, "ax": 1}, "merges": []}}
    bundle("rule-unmade", {"config.json": config, "model.safetensors": six, "tokenizer.json": small}, way=way("gguf", lossy=True))
    bundle("tokenizer-pair", {"config.json": config, "model.safetensors": six, "vocab.json": vocab, "merges.txt": merges})
    bundle("tokenizer-wrong", {"config.json": config, "model.safetensors": six, "tokenizer.json": b"{}"})
    bundle("tokenizer-left-out", {"config.json": config, "model.safetensors": six, "tokenizer.json": b"{}"}, LOSSY)
    bundle("tokenizer-large", {"config.json": CONFIG, "model.safetensors": plain, "tokenizer.json": tokenizer()})
    for how in 0, 64, 128, 192:
        bundle("vocab-json-to-%d" % how, {"tokenizer.json": tokenizer()}, 0, 0, how)
    with tempfile.TemporaryDirectory() as d:
        text = b"ab\xc3\xa9\xff"
        chars = run("tg-tokenize", "--tokenizer", "char", "-", cwd=d, data=text)
        plain_bytes = run("tg-tokenize", cwd=d, data=text)
        (pathlib.Path(d) / "chars.npz").write_bytes(chars)
        (pathlib.Path(d) / "m.npz").write_bytes(b"")
        for name, data in ("chars", chars), ("bytes", plain_bytes):
            put("token_file", name + ".npz", data)
            put("vocab", name + ".npz", data)
            for how in 0, 64, 128, 192, 1:
                bundle("%s-to-%d" % (name, how), {"x": data}, FIRST, 0, how)
        only = run("tg-tokenize", "--tokenizer", "chars.npz", "--to", "npz", cwd=d)
        put("vocab", "chars-only.npz", only)
        with zipfile.ZipFile(io.BytesIO(only)) as z:
            members = {n[:-4]: z.read(n) for n in z.namelist()}
        for name, codes in {"order": [98, 97], "surrogate": [0xD800], "byte": [97, 0x110041], "beyond": [0x110100], "last": [0x1100FF], "none": []}.items():
            put("vocab", "chars-%s.npz" % name, archive(members | {"tokenizer/vocab_size": np.int64(len(codes)), "tokenizer/chars": np.array(codes, "<u4")}))
        put("vocab", "chars-type.npz", archive(members | {"tokenizer/chars": np.arange(3, dtype="<u2")}))
        put("vocab", "chars-size.npz", archive(members | {"tokenizer/vocab_size": np.int64(9)}))
        put("vocab", "chars-missing.npz", archive({k: v for k, v in members.items() if not k.endswith("chars")}))
        put("vocab", "more.npz", archive(members | {"x": np.int64(9)}))
        put("vocab", "twice.npz", archive(members) + archive(members))
        put("vocab", "kind-only.npz", archive({"kind": members["kind"]}))
        put("vocab", "other-kind.npz", archive(members | {"kind": np.array(b"else")}))
        put("vocab", "no-kind.npz", archive({"x": np.arange(2)}))


# ---- archives that are wrong in one place


def bare(value):
    """An .npy file with a short header."""
    a = np.asarray(value)
    shape = "(%s)" % "".join("%d," % n for n in a.shape)
    return npy(a, header=("{'descr':'%s','fortran_order':False,'shape':%s}\n" % (a.dtype.str, shape)).encode())


def members(arrays, complete=False):
    """Arrays in short members; complete: with a directory."""
    raw = archive({k: v if isinstance(v, bytes) else bare(v) for k, v in arrays.items()})
    return raw if complete else raw[: raw.index(b"PK\1\2")]


def dumps():
    x = np.arange(1, 13, dtype="f4").reshape(1, 3, 2, 2) / 16
    head = {"kind": np.array(b"attention"), "version": 1, "dump/layout": np.array(b"bthd"), "dump/n_layer": 2, "dump/n_head": 2, "dump/n_embd": 4, "dump/mask": np.array(b"min")}
    square = x.reshape(-1)[:9].reshape(1, 1, 3, 3) * np.ones((1, 2, 1, 1), "f4")
    whole = {
        "scores": {"h.1.scores": square}, "probs": {"h.0.probs": square / 16}, "qk": {"h.0.q": x, "h.0.k": x}, "qk-heads-first": {"dump/layout": np.array(b"bhtd"), "h.1.q": x.reshape(1, 2, 3, 2), "h.1.k": x.reshape(1, 2, 3, 2)},
        "ids": {"dump/ids": np.arange(3), "dump/text": np.array([b"a", b"bc", b""]), "h.0.x": x.reshape(1, 3, 4)}, "order": {"h.1.q": x, "h.0.q": x, "h.1.v": x, "h.0.k": x},
        "others": {"h.x.q": x, "h.0q": x, "h.0.what": x, "what": x}, "none": {}, "not-finite": {"h.0.scores": np.where(np.tri(3) > 0, square, np.float32(np.inf))},
        "many-channels": {"dump/n_embd": 1 << 56, "h.0.scores": square},
        "minus-inf": {"dump/mask": np.array(b"-inf"), "h.0.scores": np.where(np.tri(3) > 0, square, np.float32(-np.inf))},
    }
    for name, more in whole.items():
        put("dump", name + ".npz", members(head | more, True))
    put("dump", "two.npz", members(head, True) + members(head, True))
    wrong = {
        "kind": {"kind": np.array(b"tokens")}, "version": {"version": 9}, "layout": {"dump/layout": np.array(b"what")}, "no-layers": {"dump/n_layer": 0}, "no-heads": {"dump/n_head": 0}, "heads": {"dump/n_head": 3},
        "no-channels": {"dump/n_embd": 0}, "channels": {"dump/n_embd": 1 << 61}, "many": {"dump/n_embd": 1 << 59, "h.0.x": np.zeros((1, 3, 4), "f4")}, "mask": {"dump/mask": np.array(b"x")}, "layer": {"h.2.q": x}, "far-layer": {"h.99999999999999999999999.q": x},
        "type": {"h.0.q": x.astype("f8")}, "integers": {"h.0.q": x.astype("i4")}, "dimensions": {"h.0.q": x[0, 0]}, "five": {"h.0.q": x[None]}, "empty": {"h.0.q": x[:0]}, "shape": {"h.0.q": x[..., :1]}, "three": {"h.0.q": x[0]},
        "other-shape": {"h.0.q": x, "h.0.k": x[:, :2]}, "twice": {"h.0.q": x, "h.00.q": x}, "infinite": {"h.0.v": x * np.float32(np.inf)}, "infinite-score": {"h.0.scores": square * np.float32(np.inf)},
        "above": {"h.0.probs": square + 1}, "below": {"h.0.probs": square - 1}, "nan": {"h.0.probs": square * np.float32(np.nan)}, "ids-type": {"dump/ids": np.arange(3, dtype="i4")}, "ids-kind": {"dump/ids": np.ones(3)}, "ids-shape": {"dump/ids": np.ones((1, 3), "i8")},
        "ids-empty": {"dump/ids": np.zeros(0, "i8")}, "text-type": {"dump/text": np.arange(3)}, "text-length": {"dump/ids": np.arange(3), "dump/text": np.array([b"a"])}, "ids-length": {"h.0.q": x, "dump/ids": np.arange(2)}, "size-type": {"dump/n_head": 2.0},
        "choice-type": {"dump/mask": 1},
    }
    for name, more in wrong.items():
        put("dump", "wrong-%s.npz" % name, members(head | more))
    first = {"kind": head["kind"], "version": 1}
    put("dump", "third.npz", members(first | {"dump/n_head": 2}))
    put("dump", "before.npz", members(first | {"dump/layout": head["dump/layout"], "h.0.q": x}))
    put("dump", "no-embd.npz", members({k: v for k, v in head.items() if "embd" not in k}, True))
    put("dump", "no-mask.npz", members({k: v for k, v in head.items() if "mask" not in k}, True))
    put("dump", "cut.npz", members(head | {"h.0.q": x})[:-20])
    put("dump", "ids-cut.npz", members(head | {"dump/ids": np.arange(3)})[:-9])


def token_files():
    head = {"kind": np.array(b"tokens"), "version": 1, "tokenizer/kind": np.array(b"ids"), "tokenizer/vocab_size": 300}
    first = "tokens/00000000"
    ids = np.array([1, 2, 299], "u2")
    last = list(head)[-1]
    for name, more in {
            "plain": {first: ids}, "narrow": {first: ids.astype("u1")}, "wide": {first: ids.astype("u4")}, "two": {first: ids, "tokens/00000001": ids}, "goes-on-last": {first: ids, "tokens/goes_on": 1}, "none": {},
            "empty": {first: ids[:0]}, "bytes": {"tokenizer/kind": np.array(b"bytes"), last: 256, first: ids.astype("u1")}, "wide-vocab": {last: 70000, first: ids.astype("u4")}, "wide-id": {last: 70000, first: np.array([65536], "u4")},
            "narrow-vocab": {last: 256, first: ids.astype("u1")}}.items():
        data = members(head | more, True)
        for pad in range(3):  # what is asked for depends on the size
            put("token_file", "%s-%d.npz" % (name, pad), data[:-2] + struct.pack("<H", 12 * pad) + b"." * 12 * pad)
    for name, more in {
            "order": {"tokens/00000001": ids}, "signed": {first: ids.astype("i2")}, "long": {first: ids.astype("u8")}, "square": {first: ids[None]}, "beyond": {first: ids + np.uint16(1)}, "goes-on": {"tokens/goes_on": 1}, "goes-on-2": {first: ids, "tokens/goes_on": 2},
            "goes-on-more": {first: ids, "tokens/goes_on": 1, "x": 1}, "goes-on-type": {first: ids, "tokens/goes_on": 1.5}, "after": {first: ids, "x": 1}, "before": {"x": 1}, "kind": {"kind": np.array(b"model")}, "version": {"version": 2},
            "tokenizer": {"tokenizer/kind": np.array(b"what")}, "tokenizer-type": {"tokenizer/kind": 1}, "size-type": {last: 1.5}, "size-0": {last: 0}, "size-large": {last: 1 << 40}, "late": {first: ids, "tokenizer/vocab_size": 1},
            "chars": {"tokenizer/chars": ids}}.items():
        put("token_file", "wrong-%s.npz" % name, members(head | more))
    put("token_file", "no-kind.npz", members({"version": 1, first: ids}))
    put("token_file", "no-tokenizer.npz", members({"kind": head["kind"], "version": 1, first: ids}))
    put("token_file", "size-first.npz", members({"kind": head["kind"], "version": 1, last: 300, first: ids}))
    put("token_file", "no-size.npz", members({k: v for k, v in head.items() if k != last} | {first: ids}))
    whole = members(head | {first: ids, "tokens/goes_on": 1}, True)
    put("token_file", "goes-on.npz", whole + members(head | {first: ids}, True))
    put("token_file", "goes-on-other.npz", whole + members(head | {last: 301, first: ids}, True))
    put("token_file", "goes-on-cut.npz", whole)
    put("token_file", "concatenated.npz", members(head | {first: ids}, True) * 2)
    put("token_file", "concatenated-other.npz", members(head | {first: ids}, True) + members(head | {last: 301, first: ids}, True))
    put("token_file", "archive-empty.npz", archive({}))
    put("token_file", "cut.npz", members(head | {first: ids})[:-3])
    header = lambda n, version=1: struct.pack("<III", 20240520, version, n) + bytes(1012)
    for pad in range(12):
        put("token_file", "llmc-%d.bin" % pad, header(3 + pad) + struct.pack("<%dH" % (3 + pad), *range(3 + pad)))
        put("token_file", "bare-%d.bin" % pad, struct.pack("<%dH" % (3 + pad), *range(3 + pad)))
        put("token_file", "bare-odd-%d.bin" % pad, struct.pack("<%dH" % (3 + pad), *range(3 + pad)) + b"x")
    put("token_file", "llmc-cut.bin", header(3) + b"ab")
    put("token_file", "llmc-more.bin", header(1) + b"abcd")
    put("token_file", "llmc-version.bin", header(1, 9) + b"ab")
    put("token_file", "llmc-header.bin", header(1)[:500])
    put("token_file", "text", b"no tokens at all: this is a text")


def encoders():
    text = b"ab<|e|>\n abc<|e ab<|ab <|e|\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80 \xe2\x82\xff"
    for kind in 0, 1, 2, 3, 4, 129:  # bytes, char, char of half the text, ids, bpe, and with special tokens
        for pieces in 0, 1, 77:
            put("encoder", "%d-%d" % (kind, pieces), bytes([kind, pieces]) + text)


def runs():
    with tempfile.TemporaryDirectory() as d:
        run("tg-init", "-o", "m.npz", "--tokenizer", "ids", "--vocab-size", "3", "--n-layer", "1", "--n-head", "1", "--n-embd", "2", "--n-ctx", "2", "--layer-norm-weight", "no", "--layer-norm-bias", "no", "--linear-bias", "no", cwd=d)
        ids = struct.pack("<64H", *[i * i % 3 for i in range(64)])
        (pathlib.Path(d) / "t.npz").write_bytes(run("tg-convert", "-", "--from", "uint16", "--vocab-size", "3", cwd=d, data=ids))
        run("tg-train", "-m", "m.npz", "--steps", "2", "--batch", "1", "t.npz", cwd=d)
        with zipfile.ZipFile(d + "/m.npz") as z:
            trained = {n[:-4]: np.load(io.BytesIO(z.read(n))) for n in z.namelist()}
    few = ["train/" + n for n in ("steps", "batch", "accumulate", "warmup", "lr", "min_lr", "beta1", "beta2", "weight_decay", "clip", "val_fraction", "context", "text_crc")]
    put("trained", "own.npz", members({n: a for n, a in trained.items() if n not in few}, True))
    # models with tokenizers that few formats can hold
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "t.npz").write_bytes(run("tg-tokenize", "--tokenizer", "char", cwd=d, data="a\u00e9\u4f60".encode()))
        for tokenizer in "t.npz", "bytes", "ids":
            sizes = ["--n-layer", "1", "--n-head", "1", "--n-embd", "1", "--n-ctx", "1", "--layer-norm-weight", "no", "--layer-norm-bias", "no", "--linear-bias", "no"]
            run("tg-init", "-f", "-o", "m.npz", "--tokenizer", tokenizer, "--vocab-size", "3" if tokenizer != "bytes" else "256", *sizes, cwd=d)
            with zipfile.ZipFile(d + "/m.npz") as z:
                data = archive({n[:-4]: bare(np.load(io.BytesIO(z.read(n)))) for n in z.namelist()}, method=zipfile.ZIP_DEFLATED)
            for to in "npz", "gguf", "hf", "llmc":
                for lossy in (False, True) if to == "hf" else (False,):
                    bundle("own-%s-%s-%d" % (tokenizer[:3], to, lossy), {"x": data}, FIRST, way(to, lossy=lossy))
    only_ids = members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"ids"), "tokenizer/vocab_size": 3}, True)
    for to in "npz", "gguf", "hf", "llmc":
        bundle("ids-beside-" + to, {"config.json": CONFIG, "model.safetensors": safetensors(weights()), "tokenizer.json": only_ids}, 0, way(to), 192)
    for name, more in {"zero": {"tokenizer/vocab_size": 0}, "large": {"tokenizer/vocab_size": 1 << 23}, "kind": {"tokenizer/kind": np.array(b"what")}, "bytes": {"tokenizer/kind": np.array(b"bytes")}, "more": {"tokenizer/chars": np.ones(1, "<u4")}}.items():
        put("vocab", "ids-%s.npz" % name, members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"ids"), "tokenizer/vocab_size": 3} | more, True))
    put("vocab", "size-first.npz", members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/vocab_size": 3}, True))
    put("vocab", "chars-signed.npz", members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"char"), "tokenizer/vocab_size": 3, "tokenizer/chars": np.arange(3, dtype="i4")}, True))
    put("vocab", "chars-square.npz", members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"char"), "tokenizer/vocab_size": 1, "tokenizer/chars": np.ones((1, 1), "u4")}, True))
    many = weights() | {"x%d" % i: np.zeros(0, "f4") for i in range(70)}
    bundle("notes", {"config.json": CONFIG, "model.safetensors": safetensors(many)}, LOSSY)
    names = list(trained)
    weights_at = next(i for i, n in enumerate(names) if n.endswith("wte.weight") and not n.startswith("opt"))
    head = {n: trained[n] for n in names[:weights_at] if not n.startswith("train/")}
    for name, value in {
            "seed": 1, "seed-array": np.zeros(2, "<u8"), "seed-size": np.uint32(1), "steps": 0, "batch": -1, "lr": np.nan, "lr-type": 1, "beta1": 1.0, "clip": np.array([1.0]), "precision": np.array(b"f8"), "precision-type": 1, "step": 1 << 62,
            "warmup": 1 << 50}.items():
        put("trained", "wrong-%s.npz" % name, members(head | {"train/" + name.split("-")[0]: value}))
    for name, value in {"linear_bias": 2, "tied": -1, "n_layer": 0, "n_head": 3, "layer_norm_epsilon": 0.0, "activation": np.array(b"relu"), "vocab_size": 1 << 40}.items():
        put("trained", "config-%s.npz" % name, members(head | {"config/" + name: value}))
    moments = {n: a for n, a in trained.items() if n.startswith("opt/")}
    v = next(n for n in moments if n.startswith("opt/v/"))
    for name, value in {"negative": -np.ones_like(trained[v]), "infinite": trained[v] * np.float32(np.inf), "shape": np.ones(1, "f4"), "type": trained[v].astype("f8")}.items():
        put("trained", "moment-%s.npz" % name, members(head | {v: value}))
    plain = {n: a for n, a in trained.items() if n in head or (n not in moments and not n.startswith("train/"))}

    def pack(name, arrays):
        put("trained", name + ".npz", members(arrays, True))

    pack("untrained", plain)
    pack("no-moments", plain | {"train/step": 1})
    pack("half", plain | {v: moments[v]})
    pack("context", plain | {"train/context": 9})
    pack("product", plain | {"train/steps": 10**12, "train/batch": 65536, "train/accumulate": 65536})
    pack("range", plain | {"train/dropout": 1.5})
    pack("stranger", plain | {"opt/m/what": 1, "train/what": 1})


def fields_changed():
    """Archives with one field of a header changed: two bytes at a time."""
    x = {"x": bare(np.int64(1))}
    for name, whole in {"plain": members(x, True), "stream": archive(x, stream=True), "zip64": archive(x, stream=True, zip64=True), "end64": with_zip64_end(x)}.items():
        begin = whole.index(b"PK\1\2")
        first = [*range(0, 30, 2), 31] + [whole.index(b"PK\7\10") + i for i in range(0, 24, 2) if b"PK\7\10" in whole]
        for at in first + [i for i in range(begin, len(whole) - 1, 2)]:
            put("archive", "%s-%d.npz" % (name, at), whole[:at] + bytes([whole[at] ^ 1, whole[at + 1] ^ 0x40]) + whole[at + 2:])
    whole = torch_file({"w": np.ones((1, 2), "f4")})
    begin = whole.index(b"PK\1\2")
    last = whole.rindex(b"PK\3\4")
    for at in [*range(last, last + 40, 2), *range(begin, begin + 46, 2), *range(len(whole) - 22, len(whole), 2)]:
        for low, high in (1, 0), (0, 0x40):
            put("torch_file", "field-%d-%d.pt" % (at, low), whole[:at] + bytes([whole[at] ^ low, (whole[at + 1] ^ high) if at + 1 < len(whole) else 0])[: len(whole) - at] + whole[at + 2:])


def vocabularies():
    """BPE vocabularies of tg that are wrong in one place."""
    head = {"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"bpe"), "tokenizer/vocab_size": 5}
    good = {"tokenizer/split": np.array(b"gpt2"), "tokenizer/normalizer": np.array(b"none"), "tokenizer/whole_pieces": 0, "tokenizer/ends": np.array([1, 2, 4, 7, 9], "<u4"),
            "tokenizer/tokens": np.frombuffer(b"ababaab<>", "u1"), "tokenizer/merges": np.array([[0, 1], [0, 2]], "<u4"), "tokenizer/special": np.array([4], "<u4")}
    u4 = lambda *v: np.array(v, "<u4")
    put("vocab", "bpe.npz", members(head | good, True))
    changes = [{"split": np.array(b"x")}, {"split": 1}, {"normalizer": np.array(b"x")}, {"whole_pieces": 2}, {"whole_pieces": 1.5}, {"whole_pieces": 1}, {"normalizer": np.array(b"nfc")}, {"ends": u4(1, 2, 4, 7, 8)}, {"ends": u4(1, 2, 4, 3, 9)},
               {"ends": u4(1, 2, 4, 7, 10)}, {"ends": u4(1, 2, 4, 7, 7), "tokens": np.frombuffer(b"ababaab", "u1")}, {"ends": u4(1, 2, 4, 7)}, {"ends": u4()}, {"ends": u4(1, 2)[None]}, {"ends": np.array([1, 2], "<u2")}, {"tokens": np.arange(9)},
               {"merges": u4(0, 1)}, {"merges": u4(0, 1, 2)[None]}, {"merges": u4(0, 9)[None]}, {"merges": u4(9, 0)[None]}, {"merges": u4(1, 0)[None]}, {"merges": u4(0, 4)[None]}, {"merges": u4(0, 1, 0, 1).reshape(2, 2)}, {"merges": np.zeros((0, 2), "<u4")},
               {"special": u4(5)}, {"special": u4(4, 4)}, {"special": u4(4, 3)}, {"special": u4(0)}, {"special": u4()}, {"tokens": np.frombuffer(b"abababb<>", "u1")}, {"tokens": np.frombuffer(b"aaabaab<>", "u1")}, {"vocab_size": 6}, {"what": 1},
               {"special": u4(2, 4)}, {"special": u4(3, 4), "tokens": np.frombuffer(b"abab<>><>", "u1"), "merges": u4(0, 1)[None]}, {"ends": u4(1, 2, 4, 7, 300), "tokens": np.frombuffer(b"ababaab" + b"s" * 293, "u1")},
               {"ends": u4(1, 2, 4, 7, 7007), "tokens": np.frombuffer(b"ababaab" + b"t" * 7000, "u1")}, {"ends": u4(1, 2, 4, 4, 4), "tokens": np.frombuffer(b"abab", "u1"), "special": u4(3, 4), "merges": u4(0, 1)[None]},
               {"ends": u4(1, 2, 4, 7, 9), "special": u4(3, 4), "tokens": np.frombuffer(b"ababaxyax", "u1"), "merges": u4(0, 1)[None]}]
    tokens = {"kind": np.array(b"tokens")}  # the vocabulary ends where something else begins
    for i, change in enumerate(changes):
        change = {"tokenizer/" + k: v for k, v in change.items()}
        put("vocab", "bpe-%d.npz" % i, members(head | tokens | good | change | {"x": 1}))
        put("vocab", "bpe-first-%d.npz" % i, members(head | change))
    for name in good:
        put("vocab", "bpe-no-%s.npz" % name[10:], members(head | tokens | {k: v for k, v in good.items() if k != name} | {"x": 1}))
    for split in "none", "gpt2-digits", "cl100k", "llama3", "qwen2", "o200k":
        put("vocab", "bpe-%s.npz" % split, members(head | good | {"tokenizer/split": np.array(split.encode()), "tokenizer/whole_pieces": 1}, True))


def texts():
    """Small JSON and other texts, each wrong, or odd, in one place."""
    odd = [("model_type", None), ("model_type", ""), ("model_type", "llama"), ("model_type", 1), ("model_type", "a\u00e9\n"), ("architectures", ["GPT2Model"]), ("architectures", ["GPT2ForSequenceClassification", "GPT2LMHeadModel"]),
           ("architectures", ["x" * 70]), ("architectures", "x"), ("architectures", [1]), ("pruned_heads", {}), ("pruned_heads", {"0": [1]}), ("pruned_heads", []), ("quantization_config", {}), ("n_inner", 8), ("n_inner", 9), ("n_inner", 12),
           ("activation_function", "gelu"), ("activation_function", "gelu_pytorch_tanh"), ("activation_function", "relu"), ("activation_function", 1), ("layer_norm_epsilon", 0.5), ("layer_norm_epsilon", "x"), ("n_ctx", 2), ("n_ctx", "x")]
    odd += [(name, value) for name in ("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention", "tie_word_embeddings") for value in (False, True, 1)]
    odd += [(name, "x") for name in ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size", "n_inner")]
    for i, (name, value) in enumerate(odd):
        put("hf", "config-%d.json" % i, json.dumps(CONFIG | {name: value}).encode())
    put("hf", "aliases.json", json.dumps({"model_type": "gpt2", "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 2, "max_position_embeddings": 2, "vocab_size": 3}).encode())
    put("hf", "defaults.json", b'{"model_type": "gpt2"}')
    put("hf", "more.json", b'{"model_type": "gpt2"} x')
    for i, index in enumerate([{"weight_map": {}}, {"weight_map": {"a": ""}}, {"weight_map": {"a": "../x"}}, {"weight_map": {"a": "x" * 300}}, {"weight_map": {"a": "x\0"}}, {"weight_map": {"a\0b": "x"}}, {"weight_map": {"": "x"}},
                               {"weight_map": {"x" * 300: "x"}}, {"weight_map": {"a": 1}}, {"weight_map": []}, {}, {"weight_map": {"b": "y", "a": "x", "c": "y"}}]):
        put("safetensors", "index-%d.json" % i, json.dumps(index).encode())
    put("safetensors", "index-twice.json", b'{"weight_map": {"a": "x", "a": "y"}}')
    put("safetensors", "index-damaged.json", b'{"weight_map": {"a": "x" 1')
    put("safetensors", "index-more.json", b'{"weight_map": {"a": "x"}} 1')

    x8 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    for i, head in enumerate([{"a": x8, "__metadata__": {"b": "1", "a": "2"}}, {"a": x8, "__metadata__": {"a": 1}}, {"a": x8, "__metadata__": []}, {"a": x8 | {"dtype": "F4"}}, {"a": x8 | {"dtype": 1}}, {"a": x8 | {"shape": [1 << 62, 4]}},
                              {"a": x8 | {"shape": [1] * 9}}, {"a": x8 | {"shape": 1}}, {"a": x8 | {"shape": [-1]}}, {"a": x8 | {"data_offsets": [0]}}, {"a": x8 | {"data_offsets": [0, 8, 9]}}, {"a": x8 | {"data_offsets": [8, 0]}},
                              {"a": x8 | {"data_offsets": [0, 9]}}, {"a": x8 | {"data_offsets": [0, 1 << 40]}}, {"a": x8, "b": x8}, {"a\0": x8}, {"a" * 300: x8}, {"": x8}, {"a": x8 | {"x": 1}}, {"a": {"dtype": "F32"}}, {"a": 1}, {}, {"a b\n": x8},
                              {"a": x8, "__metadata__": {"x\0": "1"}}, {"a": x8 | {"shape": []}}, {"a": x8 | {"data_offsets": "x"}}] +
                             [{"a": {"dtype": t, "shape": [8 // n], "data_offsets": [0, 8]}} for t, n in {"F64": 8, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "U16": 2, "U32": 4, "U64": 8}.items()]):
        text = json.dumps(head).encode()
        put("safetensors", "head-%d" % i, struct.pack("<Q", len(text)) + text + bytes(8))
    for i, text in enumerate([b'{"a":%s,"a":%s}' % ((json.dumps(x8).encode(),) * 2), b'{"__metadata__":{"a":"1","a":"2"}}', b'{"__metadata__":{},"__metadata__":{}}', b"{} x", b" {}", b"[]"]):
        put("safetensors", "text-%d" % i, struct.pack("<Q", len(text)) + text + bytes(8))
    put("safetensors", "length", struct.pack("<Q", 1 << 40) + b"{}")
    put("safetensors", "length-0", bytes(8))

    level = {"type": "ByteLevel", "add_prefix_space": False}
    no_regex = level | {"use_regex": False}
    small = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    gpt2 = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
    llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    qwen2 = llama3.replace("{1,3}", "")

    def tj(name, pre=level, model=small, **more):
        put("tokenizer_json", name + ".json", json.dumps({"pre_tokenizer": pre, "model": model} | more, separators=(",", ":")).encode())

    def sequence(*parts):
        return {"type": "Sequence", "pretokenizers": list(parts)}

    def split_by(pattern, behavior="Isolated", **more):
        return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior} | more

    digits = {"type": "Digits", "individual_digits": True}
    for i, pre in enumerate([level, no_regex, None, 1, {}, {"type": 1}, {"type": "Metaspace"}, level | {"add_prefix_space": True}, {"type": "ByteLevel"}, level | {"add_prefix_space": 1}, level | {"use_regex": 1}, {"type": "Sequence"},
                             {"type": "Sequence", "pretokenizers": 1}, sequence(), sequence(level, level), sequence(digits, level), sequence(digits, digits, level), sequence(level, digits), sequence({"type": "Digits"}, level), digits,
                             sequence(digits | {"individual_digits": 1}, level), sequence(digits, no_regex), sequence(split_by(gpt2), no_regex), sequence(split_by(gpt2), level), sequence(digits, split_by(gpt2), no_regex),
                             sequence(split_by(gpt2), split_by(gpt2), no_regex), sequence(split_by(llama3), no_regex), sequence(split_by(qwen2, "Removed", invert=True), no_regex), sequence(split_by(gpt2, "Removed"), no_regex),
                             sequence(split_by(gpt2, "Removed", invert=False), no_regex), sequence(split_by(gpt2, "Merged", invert=True), no_regex), sequence(split_by(gpt2, 1), no_regex), sequence(split_by(gpt2, invert=1), no_regex), sequence(split_by("x"), no_regex),
                             sequence(split_by(1), no_regex), sequence(split_by(llama3), digits, no_regex), sequence(digits, split_by(llama3), no_regex), sequence({"type": "Split", "behavior": "Isolated"}, no_regex),
                             sequence({"type": "Split", "behavior": "Isolated", "pattern": {"String": " "}}, no_regex), sequence({"type": "Split", "behavior": "Isolated", "pattern": 1}, no_regex), sequence({"type": "Split", "pattern": {}}, no_regex),
                             sequence(1), sequence(level, {"type": "Split", "behavior": "Isolated"})]):
        tj("pre-%d" % i, pre)
    for i, more in enumerate([{"normalizer": {"type": "NFC"}}, {"normalizer": {"type": "NFD"}}, {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}}, {"normalizer": {"type": "Sequence", "normalizers": []}}, {"normalizer": {"type": "Sequence"}},
                              {"normalizer": 1}, {"decoder": level}, {"decoder": {"type": "WordPiece"}}, {"decoder": {"type": "Sequence", "decoders": [level]}}, {"decoder": 1}, {"added_tokens": 1}, {"added_tokens": []}, {"added_tokens": [1]}, {"added_tokens": [{}]},
                              {"added_tokens": [{"id": 3}]}, {"added_tokens": [{"id": "x", "content": "<e>"}]}, {"added_tokens": [{"id": 3, "content": 1}]}] +
                             [{"added_tokens": [{"id": 3, "content": "<e>"} | change]} for change in ({}, {"id": 2, "content": "ab"}, {"id": 4, "content": "ab"}, {"id": 5}, {"id": 1}, {"content": ""}, {"lstrip": True}, {"rstrip": 1}, {"single_word": True}, {"content": "a\u00e9"}, {"content": "x" * 600})] +
                             [{"added_tokens": [{"id": 3, "content": "<e>"}, {"id": 4, "content": "<e>"}]}, {"added_tokens": [{"id": 4, "content": "<f>"}, {"id": 3, "content": "<e>"}]}]):
        tj("file-%d" % i, **more)
    for i, change in enumerate([{"type": "BPE"}, {"type": "WordPiece"}, {"type": 1}, {"vocab": None}, {"merges": None}, {"vocab": []}, {"vocab": {"a": "x"}}, {"vocab": {"a": 0, "b": 0}}, {"vocab": {"a": 0, "c": 2}}, {"vocab": {"": 0}}, {"vocab": {"a b": 0}}, {"vocab": {"\u4e00": 0}},
                                {"vocab": {"a" * 3000: 0}}, {"merges": {}}, {"merges": [1]}, {"merges": ["ab"]}, {"merges": ["a b c"]}, {"merges": ["a c"]}, {"merges": ["a b", "a b"]}, {"merges": ["b a"]}, {"merges": [["a", "b"]]}, {"merges": [["a"]]}, {"merges": [[]]},
                                {"merges": [["a", "b", "c"]]}, {"merges": [["a", 1]]}, {"merges": [[1, "a"]]}, {"merges": [["a" * 9000, "b"]]}, {"merges": [["", "b"]]}, {"ignore_merges": True}, {"ignore_merges": 1}, {"unk_token": "a"}, {"dropout": 0.5}, {"dropout": False},
                                {"byte_fallback": True}, {"byte_fallback": False}, {"continuing_subword_prefix": "##"}, {"continuing_subword_prefix": ""}, {"end_of_word_suffix": "</w>"}, {"merges": []}, {"vocab": {}, "merges": []}]):
        tj("model-%d" % i, model={k: v for k, v in (small | change).items() if v is not None})
    mapped = [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255 else None for b in range(256)]
    spare = iter(range(256, 512))
    mapped = [m or chr(next(spare)) for m in mapped]
    every = {m: i for i, m in enumerate(mapped)}
    tj("bytes", model={"vocab": every, "merges": [], "unk_token": "a"})
    tj("bytes-special", model={"vocab": every, "merges": []}, added_tokens=[{"id": 256, "content": "<|endoftext|>", "special": True}])
    tj("order", pre=no_regex, model={"vocab": {"b": 0, "a": 1, "ba": 2}, "merges": ["b a"]})
    tj("special-text", added_tokens=[{"id": 3, "content": "\u0120x"}, {"id": 4, "content": "\x01\"\\"}])
    for i, text in enumerate([b"{}", b"", b"{", b'{"model": 1}', b'{"model": {}} x', b'{"model": {}, "model": {}}', b'{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}']):
        put("tokenizer_json", "text-%d.json" % i, text)

    line = lambda token, rank: base64.b64encode(token) + b" %d\n" % rank
    for i, text in enumerate([line(b"a", 0) + line(b"b", 1) + line(b"ab", 2), line(b"a", 0) + line(b"a", 1), line(b"a", 1), line(b"a", 0) + line(b"b", 0), b"YQ==\n", b"YQ== x\n", b"YQ== 99999999999999999999999\n", b"YQ== 0 1\n", b"Y! 0\n", b"= 0\n",
                              b" 0\n", line(b"a" * 900, 0), line(b"a" * 4000, 0), line(b"a", 0)[:-1], line(b"a", 0).replace(b"\n", b"\r\n"), line(b"a", 0) + b"\n", b"\n" + line(b"a", 0), line(b"a", 0) + line(b"ab", 1), b"".join(line(bytes([b]), b) for b in range(256)),
                              b"".join(line(bytes([b]), b) for b in range(256)) + line(b"ab", 256) + line(b"abc", 257) + line(b"xyz", 258)]):
        put("tiktoken", "line-%d" % i, text)

    def mapped_text(text):
        return "".join(mapped[b] for b in text.encode()).encode()

    chars = ["a", "\u00e9", "\u00ea", "\u4f60", "\u4f61", "\U0001F600"]
    merges = sorted({(mapped_text(c)[:0] + "".join(mapped[b] for b in c.encode()[:i]).encode(), mapped[c.encode()[i]].encode()) for c in chars for i in range(1, len(c.encode()))})
    tail = b"".join(a + b" " + b + b"\n" for a, b in merges)
    tokens = b"".join(mapped_text(c) + b"\n" for c in chars)
    put("gguf_vocab", "chars", b"\xf1\0" + tokens + b"\n" + tail)
    put("gguf_vocab", "chars-typed", b"\xf1\1" + tokens + b"[PAD6]\n[PAD7]\n\n" + tail)
    put("gguf_vocab", "chars-pad-order", b"\xf1\1" + tokens + b"[PAD7]\n\n" + tail)
    put("gguf_vocab", "chars-no-merges", b"\xf1\0" + tokens + b"\n")
    put("gguf_vocab", "chars-order", b"\xf1\0b\na\n\n")
    put("gguf_vocab", "bytes", b"\xf2\0" + b"".join(m.encode() + b"\n" for m in mapped) + b"\n")
    put("gguf_vocab", "bytes-few", b"\xf2\0a\nb\n\n")
    for rule in range(6):
        put("gguf_vocab", "rule-%d" % rule, bytes([rule, 0]) + b"a\nb\nab\nabc\nc\n\na b\n")
        put("gguf_vocab", "types-%d" % rule, bytes([rule, 1 << rule]) + b"a\nb\nab\nabc\nc\n\na b\n")
    put("gguf_vocab", "alike", b"\0\x18a\nb\nab\na\na\n\na b\n")
    put("merges", "rules", b"#version: 0.2\na b\nab c\n\0" + b'{"a":0,"b":1,"ab":2,"c":3,"abc":4,"<|endoftext|>":5}')


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


def ggufs():
    rng = np.random.default_rng(3)
    random = lambda n: rng.integers(0, 256, n, "u1").tobytes()
    blocks = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 12: (256, 144), 13: (256, 176), 14: (256, 210), 9: (32, 36)}
    for type, (n, size) in blocks.items():
        put("gguf", "blocks-%d.gguf" % type, gguf_file([], [("a", (n,), type, random(size)), ("b", (2 * n, 2), type, random(4 * size))]))
    put("gguf", "plain.gguf", gguf_file([], [("f2", (3, 2), 1, random(12)), ("f8", (2,), 28, random(16)), ("bf16", (2, 1), 30, random(4)),
                                             ("i1", (3,), 24, random(3)), ("i2", (3,), 25, random(6)), ("i4", (3,), 26, random(12)), ("i8", (1,), 27, random(8))]))
    put("gguf", "part-of-a-block.gguf", gguf_file([], [("a", (33,), 8, random(68))]))
    put("gguf", "values.gguf", gguf_file([("v%d" % t, t, random(n)) for t, n in {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 10: 8, 11: 8, 12: 8}.items()] + [("b", 7, b"\1")]))
    put("gguf", "arrays.gguf", gguf_file([("a%d" % t, 9, struct.pack("<IQ", t, 2) + random(2 * n)) for t, n in {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 10: 8, 11: 8, 12: 8}.items()]))
    text = lambda t: struct.pack("<Q", len(t)) + t
    texts = lambda *ts: struct.pack("<IQ", 8, len(ts)) + b"".join(map(text, ts))
    ints = lambda type, f, *v: struct.pack("<IQ", type, len(v)) + struct.pack("<%d%s" % (len(v), f), *v)
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
    inner = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}

    def model(values=(), without=(), whole=True, bias=False, **more):
        w = turned(weights(bias=bias)) if whole else {}
        tensors = []
        for name, a in w.items():
            stem, end = name.rsplit(".", 1)
            stem = "blk.0." + inner[stem[4:]] if stem.startswith("h.0.") else names[stem]
            tensors.append((stem + "." + end, a.shape[::-1], 0, a.tobytes()))
        tensors += [(k, v.shape[::-1], 0, v.tobytes()) for k, v in more.items()]
        u32 = lambda n: struct.pack("<I", n)
        kv = {"general.architecture": (8, text(b"gpt2")), "gpt2.block_count": (4, u32(1)), "gpt2.context_length": (4, u32(2)), "gpt2.embedding_length": (4, u32(2)),
              "gpt2.feed_forward_length": (4, u32(8)), "gpt2.attention.head_count": (4, u32(1)), "gpt2.attention.layer_norm_epsilon": (6, struct.pack("<f", 1e-5))}
        kv |= dict(values)
        return gguf_file([(k, t, d) for k, (t, d) in kv.items() if k not in without], tensors)

    u32 = lambda n: struct.pack("<I", n)
    put("model_file", "gguf", model())
    put("model_file", "biases.gguf", model(bias=True))
    changes = {
        "architecture": {"general.architecture": (8, text(b"llama"))}, "split": {"split.count": (2, b"\2\0")}, "split-1": {"split.count": (2, b"\1\0")},
        "head-kv": {"gpt2.attention.head_count_kv": (4, u32(2))}, "forward": {"gpt2.feed_forward_length": (4, u32(7))}, "epsilon": {"gpt2.attention.layer_norm_epsilon": (6, u32(0x7FC00000))},
        "vocab-size": {"gpt2.vocab_size": (4, u32(3))}, "vocab-size-2": {"gpt2.vocab_size": (4, u32(2))}, "type": {"gpt2.block_count": (6, u32(1))}, "zero": {"gpt2.block_count": (4, u32(0))},
        "negative": {"gpt2.block_count": (5, u32(0xFFFFFFFF))},
    }
    vocab = {"tokenizer.ggml.model": (8, text(b"gpt2")), "tokenizer.ggml.pre": (8, text(b"gpt-2")), "tokenizer.ggml.tokens": (9, texts(b"a", b"b", b"ab")), "tokenizer.ggml.merges": (9, texts(b"a b"))}
    types = "tokenizer.ggml.token_type"
    changes |= {
        "vocab": vocab, "vocab-model": vocab | {"tokenizer.ggml.model": (8, text(b"llama"))}, "vocab-no": {"tokenizer.ggml.model": (8, text(b"no_vocab"))},
        "vocab-model-type": vocab | {"tokenizer.ggml.model": (4, u32(1))}, "vocab-pre": vocab | {"tokenizer.ggml.pre": (8, text(b"what"))}, "vocab-pre-type": vocab | {"tokenizer.ggml.pre": (4, u32(1))},
        "vocab-no-pre": {k: v for k, v in vocab.items() if "pre" not in k}, "vocab-no-tokens": {k: v for k, v in vocab.items() if "tokens" not in k}, "vocab-no-merges": {k: v for k, v in vocab.items() if "merges" not in k},
        "vocab-types": vocab | {types: (9, ints(5, "i", 1, 3, 5))}, "vocab-types-few": vocab | {types: (9, ints(5, "i", 1, 1))}, "vocab-types-wrong": vocab | {types: (9, ints(5, "i", 1, 9, 1))},
        "vocab-types-text": vocab | {types: (9, texts(b"a"))}, "vocab-types-user": vocab | {types: (9, ints(5, "i", 2, 4, 6))},
        "vocab-ends": vocab | {"tokenizer.ggml.bos_token_id": (4, u32(1)), "tokenizer.ggml.eos_token_id": (4, u32(2))}, "vocab-end-type": vocab | {"tokenizer.ggml.eos_token_id": (8, text(b"a"))},
        "vocab-end-beyond": vocab | {"tokenizer.ggml.eos_token_id": (4, u32(7))},
        "vocab-merge": vocab | {"tokenizer.ggml.merges": (9, texts(b"ab"))}, "vocab-merge-unknown": vocab | {"tokenizer.ggml.merges": (9, texts(b"a c"))}, "vocab-merge-three": vocab | {"tokenizer.ggml.merges": (9, texts(b"a b c"))},
        "vocab-long": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b", b"ab", b"c"))}, "vocab-twice": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"a", b"ab"))},
        "vocab-not-mapped": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b ", b"ab"))}, "vocab-pad": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b", b"[PAD2]")), types: (9, ints(5, "i", 1, 1, 5))},
        "vocab-empty": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b", b""))},
        "kind-char": vocab | {"tg.tokenizer.kind": (8, text(b"char"))}, "kind-bytes": vocab | {"tg.tokenizer.kind": (8, text(b"bytes"))}, "kind-other": vocab | {"tg.tokenizer.kind": (8, text(b"x"))}, "kind-type": vocab | {"tg.tokenizer.kind": (4, u32(1))},
    }
    for name, change in changes.items():
        data = model(change, whole=name in ("vocab", "vocab-ends", "kind-bytes", "vocab-size"))
        put("model_file", name + ".gguf", data)
        put("gguf", name + ".gguf", data)
    # rows of whole blocks, 4 bits of each value
    quarter = lambda name, *shape: (name, shape, 2, (b"\x00\x2c" + bytes(range(16))) * (int(np.prod(shape)) // 32))
    tensors = [quarter("token_embd.weight", 32, 1), ("position_embd.weight", (32, 1), 0, bytes(128))]
    tensors += [quarter("blk.0.attn_qkv.weight", 32, 96), quarter("blk.0.attn_output.weight", 32, 32), quarter("blk.0.ffn_up.weight", 32, 128), quarter("blk.0.ffn_down.weight", 128, 32)]
    numbers = {"block_count": 1, "context_length": 1, "embedding_length": 32, "feed_forward_length": 128, "attention.head_count": 1}
    values = [("general.architecture", 8, text(b"gpt2"))] + [("gpt2." + k, 4, u32(v)) for k, v in numbers.items()] + [("gpt2.attention.layer_norm_epsilon", 6, struct.pack("<f", 1e-5))]
    bundle("blocks", {"x": gguf_file(values, tensors)}, FIRST, way("gguf", "q8_0"))
    for name in "gpt2.block_count", "gpt2.attention.head_count", "gpt2.attention.layer_norm_epsilon", "general.architecture":
        put("model_file", "no-%s.gguf" % name, model(without=[name], whole=False))
    w = weights()
    put("model_file", "head.gguf", model(**{"output.weight": w["wte.weight"]}))
    put("model_file", "other-head.gguf", model(**{"output.weight": w["wte.weight"] + 1}))
    put("model_file", "head-shape.gguf", model(**{"output.weight": w["wpe.weight"]}))
    put("model_file", "more.gguf", model(**{"what": w["wte.weight"]}))


archives()
tools()
tokenizers()
others()
checkpoints()
ggufs()
dumps()
token_files()
encoders()
runs()
texts()
vocabularies()
fields_changed()
