#!/usr/bin/env python3
"""Malformed files of other projects' formats, and what the tools make of them.

    hostile.py BIN FILES [KIND]...     KIND: safetensors hf gguf torch llmc npz

FILES is what interop_files.py has written: the good files that are damaged here.  Of each malformed file a tool
must say one line, without control characters, and exit with 1, within a bound on time and memory.  (By the rule
of all tools, a file that does not exist or cannot be read is 3, and what only an option can tell is 2.)  A
damaged file that a reader may accept (a byte of a name, or a cut between two parts, may leave a good file) must
at least not crash it.  Prints what is wrong, then a line with the counts.
"""
import io
import json
import os
import pickle
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import numpy as np

SECONDS = 5
MEGABYTES = 400  # resident; the largest malformed file has 64 MiB

TOOLS = FILES = WORK = None
counts = {"run": 0, "wrong": 0}
# Each says 1 for a file that is not the model that it should be; tg-info tells of any file what can be told.
READERS = [["convert", "{}", "-o", "out.npz"], ["info", "{}"], ["info", "--check", "--json", "{}"], ["attn-dump", "-m", "{}", "--ids", "0 0 0", "-o", "out.npz"]]


def run(command):
    """(status, stdout, stderr, seconds, megabytes)"""
    before = time.time()
    with open(f"{WORK}/stdout", "w+b") as out, open(f"{WORK}/stderr", "w+b") as err:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=WORK,
                             env={**os.environ, "OMP_NUM_THREADS": "1"},
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
        killer = threading.Timer(2 * SECONDS, p.kill)
        killer.start()
        _, status, used = os.wait4(p.pid, 0)
        killer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return p.returncode, out.read(1000), err.read(100000), time.time() - before, used.ru_maxrss / 1024


def wrong(name, command, what):
    counts["wrong"] += 1
    print(f"{name}: {' '.join(command)}: {what}", flush=True)


def check(name, path, refuse=True, tools=None, contains=None, statuses=(0, 1)):
    for reader in tools or READERS:
        command = [f"{TOOLS}/tg-{reader[0]}"] + [a.replace("{}", path) for a in reader[1:]]
        if not os.path.exists(command[0]):
            continue
        counts["run"] += 1
        status, out, err, seconds, megabytes = run(command)
        short = [reader[0]]
        refuse_now = refuse and reader[0] != "info"
        if status not in statuses or (refuse_now and status == 0):
            wrong(name, short, f"status {status}; stderr {err[:300]!r}")
        if status != 0 and (err.count(b"\n") != 1 or not err.endswith(b"\n")):
            wrong(name, short, f"not one line: {err[:300]!r}")
        if len(err) > 600 and status != 0:
            wrong(name, short, f"a line of {len(err)} bytes: {err[:200]!r}")
        if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", err + out):
            wrong(name, short, f"control characters: {err[:300]!r} {out[:300]!r}")
        if status != 0 and contains and reader[0] != "info" and contains.encode() not in err:
            wrong(name, short, f"does not say {contains!r}: {err[:300]!r}")
        if seconds > SECONDS:
            wrong(name, short, f"{seconds:.1f} s")
        if megabytes > MEGABYTES:
            wrong(name, short, f"{megabytes:.0f} MB")


def put(name, data):
    path = f"{WORK}/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def get(name):
    with open(f"{FILES}/{name}", "rb") as f:
        return f.read()


def cuts(name, data, header, around=check, step=1):
    """The file cut at each byte of its header, and at some later places."""
    suffix = os.path.splitext(name)[1]
    places = [*range(0, header, step), *np.linspace(header, len(data) - 1, 20).astype(int)]
    for n in places:
        around(f"{name} cut at {n}", put("cut" + suffix, data[:n]))


def flips(name, data, header, n, around=check):
    """Random bytes of the header changed: a reader may find the result good."""
    rng = np.random.default_rng(len(data))
    suffix = os.path.splitext(name)[1]
    for i in range(n):
        copy = bytearray(data)
        places = [int(rng.integers(0, header)) for _ in range(rng.integers(1, 4))]
        for at in places:
            copy[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(0, 256)]))
        around(f"{name} bytes {places} changed ({i})", put("flip" + suffix, bytes(copy)), refuse=False)


ABSURD = [0, -1, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 62, 1 << 63, 1 << 64, 10 ** 30, 1.5, 1e300, "1", None, [], {}, True]

# ---- safetensors


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def in_directory(tokens=True):
    """A checker that puts model.safetensors next to the config.json that it needs."""
    def around(name, path, refuse=True, **more):
        shutil.rmtree(f"{WORK}/dir", ignore_errors=True)
        os.makedirs(f"{WORK}/dir")
        shutil.copy(f"{FILES}/hf/tied/config.json", f"{WORK}/dir")
        os.rename(path, f"{WORK}/dir/model.safetensors")
        check(name, f"{WORK}/dir", refuse, **more)
    return around


def bad_safetensors():
    good = get("hf/tied/model.safetensors")
    n = struct.unpack("<Q", good[:8])[0]
    header, data = json.loads(good[8:8 + n]), good[8 + n:]
    around = in_directory()

    def case(name, file, **more):
        around("safetensors: " + name, put("bad.safetensors", file), **more)

    def changed(name, **change):
        copy = {k: dict(v) for k, v in header.items()}
        copy["transformer.wpe.weight"].update(change)
        case(name, safetensors(copy, data))

    cuts("model.safetensors", good, 8 + n, around, step=7)
    flips("model.safetensors", good, 8 + n, 300, around)
    for length in (0, 1, n - 1, n + 1, 100_000_001, len(good), 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 8, (1 << 64) - 1):
        case(f"header of {length} bytes", struct.pack("<Q", length) + good[8:])
    for text in (b"", b"[]", b"null", b"{", b"{}", b"{" + b" " * 1000, b"[" * 100_000, b'{"a":' * 100_000,
                 b'{"__metadata__":' + b"[" * 1_000_000, b'{"' + b"a" * 10_000_000, b'{"a":"' + b"b" * 30_000_000 + b'"}',
                 b'{"a":1' + b"0" * 5_000_000 + b"}", b"\xff\xfe{}", b'{"\xff":1}', b'{"a":{"dtype":"F32"}}'):
        case(f"header {text[:20]!r}", safetensors(text, data))
    many = {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(300_000)}
    case("300,000 tensors", safetensors(many))
    for other in ("wte.weight", "transformer.wpe.weight"):  # the same twice, in two spellings
        text = json.dumps(header)[:-1] + f', "{other}": ' + json.dumps(header["transformer.wpe.weight"]) + "}"
        case(f"{other} twice", safetensors(text.encode(), data))
    begin, end = header["transformer.wpe.weight"]["data_offsets"]
    for a, b in ((begin + 4, end + 4), (begin - 4, end - 4), (end, begin), (begin, end + 4), (0, end), (len(data), len(data)),
                 (len(data) - 4, len(data) + 4), (begin, 1 << 64), (-4, end), (1 << 63, (1 << 63) + end - begin),
                 ((1 << 64) - 4, 0)):
        changed(f"offsets {a}..{b}", data_offsets=[a, b])
    for offsets in (None, [], [0], [0, 1, 2], "0", [0.5, 1], [1e400, 0], ["0", "4"]):
        changed(f"offsets {offsets}", data_offsets=offsets)
    for shape in ([1 << 62, 4], [1 << 32, 1 << 32], [1 << 63], [-64, -32], [64, 33], [0, 32], [64, 32, 1], [32, 64], [],
                  [1] * 9 + [64, 32], [64.0, 32], ["64", 32], None, 64, [[64], 32], [1] * 100_000):
        changed(f"shape {str(shape)[:60]}", shape=shape)
    for dtype in ("F33", "f32", "", "F64\0", "I64", "BOOL", "F8_E4M3", 32, None, ["F32"], "F" * 1_000_000):
        changed(f"dtype {str(dtype)[:20]!r}", dtype=dtype)
    for name in ("", "a" * 10_000, "../../x", "/etc/passwd", "x\0y", "\x1b[31mred\x07", "\u202e", "\ud800", "é", "a b", "h.99999.ln_1.weight",
                 "h.-1.ln_1.weight", "h.18446744073709551616.ln_1.weight", "h.00.ln_1.weight", "h.1.ln_1.weight.x", "h..ln_1.weight"):
        copy = dict(header)
        copy[name] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
        case(f"a tensor {name[:30]!r} besides", safetensors(copy, data + b"\0\0\0\0"), refuse=name != "h.00.ln_1.weight")
        copy = dict(header)
        copy[name] = copy.pop("transformer.wpe.weight")
        case(f"a tensor {name[:30]!r} instead", safetensors(copy, data))
    for bad in (np.nan, np.inf, -np.inf):
        copy = bytearray(data)
        copy[begin + 40:begin + 44] = struct.pack("<f", bad)
        case(f"a weight is {bad}", safetensors(header, bytes(copy)))
    case("4 bytes too many", good + b"\0\0\0\0")
    case("1 byte too many", good + b"\0")
    case("metadata is a list", safetensors({**header, "__metadata__": []}, data))


# ---- Hugging Face's directories


def bad_hf():
    config = json.loads(get("hf/tied/config.json"))
    index = json.loads(get("hf/sharded/model.safetensors.index.json"))

    def directory(name, base, files, refuse=True, links=(), **more):
        shutil.rmtree(f"{WORK}/dir", ignore_errors=True)
        shutil.copytree(f"{FILES}/hf/{base}", f"{WORK}/dir")
        for file, data in files.items():
            if data is None:
                os.remove(f"{WORK}/dir/{file}")
            else:
                put("dir/" + file, data if isinstance(data, bytes) else json.dumps(data).encode())
        for file, make in links:
            if os.path.exists(f"{WORK}/dir/{file}"):
                os.remove(f"{WORK}/dir/{file}")
            make(f"{WORK}/dir/{file}")
        check("hf: " + name, f"{WORK}/dir", refuse, **more)

    text = json.dumps(config, indent=2).encode()
    for n in range(0, len(text), 5):
        directory(f"config.json cut at {n}", "tied", {"config.json": text[:n]})
    for key in ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size", "layer_norm_epsilon", "n_inner", "activation_function",
                "tie_word_embeddings", "model_type", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"):
        for value in [*ABSURD, 3, 31, 10 ** 9, -0.0, "\x1b[2J", "x" * 100_000]:
            may = key in ("n_inner", "n_head", "tie_word_embeddings", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
                          "reorder_and_upcast_attn", "layer_norm_epsilon", "n_positions", "activation_function", "model_type")
            directory(f"{key} = {str(value)[:40]!r}", "tied", {"config.json": {**config, key: value}}, refuse=not may)
        copy = dict(config)
        del copy[key]
        directory(f"no {key}", "tied", {"config.json": copy}, refuse=False)
        directory(f"{key} twice", "tied", {"config.json": text[:-2] + f', "{key}": 7'.encode() + b"}"})
    directory("config.json is deep", "tied", {"config.json": b'{"a":' * 200_000})
    directory("config.json is a list", "tied", {"config.json": b"[]"})
    directory("config.json is empty", "tied", {"config.json": b""})
    directory("config.json has 64 MiB of spaces", "tied", {"config.json": b" " * (64 << 20) + text}, refuse=False)
    directory("config.json has 1,000,000 keys", "tied",
              {"config.json": json.dumps({**config, **{f"k{i}": i for i in range(1_000_000)}}).encode()}, refuse=False)
    directory("no config.json", "tied", {"config.json": None}, statuses=(0, 2), contains="--heads")
    directory("no weights", "tied", {"model.safetensors": None})
    directory("weights are text", "tied", {"model.safetensors": b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})
    directory("config.json is a pipe", "tied", {}, links=[("config.json", os.mkfifo)], refuse=True)
    directory("weights are a pipe", "tied", {}, links=[("model.safetensors", os.mkfifo)], refuse=True)
    directory("weights are a directory", "tied", {}, links=[("model.safetensors", os.mkdir)])
    directory("weights are /dev/zero", "tied", {}, links=[("model.safetensors", lambda p: os.symlink("/dev/zero", p))])
    directory("weights are a link to themselves", "tied", {},
              links=[("model.safetensors", lambda p: os.symlink("model.safetensors", p))])

    text = json.dumps(index).encode()
    for n in range(0, len(text), 97):
        directory(f"index cut at {n}", "sharded", {"model.safetensors.index.json": text[:n]})
    for file in ("../sharded/model-00001-of-00005.safetensors", "/etc/passwd", "/dev/zero", "", ".", "..", "x" * 5000, "a\0b", "\x1b[31m",
                 "config.json", "model.safetensors.index.json", "missing.safetensors", 7, None, [], {"a": 1}):
        map_ = dict(index["weight_map"])
        map_["transformer.wpe.weight"] = file
        directory(f"a shard is {str(file)[:30]!r}", "sharded", {"model.safetensors.index.json": {**index, "weight_map": map_}},
                  statuses=(3,) if file in ("missing.safetensors", "\x1b[31m") else (0, 1))
    for map_ in (None, [], {}, "x", {"transformer.wte.weight": "model-00001-of-00005.safetensors"}):
        directory(f"weight_map {str(map_)[:20]}", "sharded", {"model.safetensors.index.json": {"weight_map": map_}})
    wrong_map = dict(index["weight_map"])
    names = sorted(set(wrong_map.values()))
    wrong_map["transformer.wpe.weight"] = next(f for f in names if f != wrong_map["transformer.wpe.weight"])
    directory("a tensor is in another shard", "sharded", {"model.safetensors.index.json": {"weight_map": wrong_map}}, refuse=False)
    wrong_map = {**index["weight_map"], **{f"t{i}": f"f{i}.safetensors" for i in range(100_000)}}
    directory("100,000 shards", "sharded", {"model.safetensors.index.json": {"weight_map": wrong_map}})
    directory("a shard twice", "sharded", {"model-00005-of-00005.safetensors": get("hf/sharded/model-00004-of-00005.safetensors")})
    directory("a shard is missing", "sharded", {"model-00003-of-00005.safetensors": None}, statuses=(3,))
    directory("a shard is cut", "sharded",
              {"model-00003-of-00005.safetensors": get("hf/sharded/model-00003-of-00005.safetensors")[:-4]})
    for n in (0, 1, 10, 100, 1000, 5000):
        directory(f"tokenizer.json cut at {n}", "tied", {"tokenizer.json": get("hf/tied/tokenizer.json")[:n]})
    directory("vocab.json without merges.txt", "tied-merges", {"merges.txt": None}, refuse=False)
    directory("more tokens than vocab_size", "small-vocab", {"tokenizer.json": get("hf/tied/tokenizer.json")}, refuse=True)
    for base, what in (("inverse-layer", "scale_attn_by_inverse_layer_idx"), ("upcast", "reorder_and_upcast_attn"),
                       ("no-scale", "scale_attn_weights"), ("relu", "relu"), ("llama", "llama"), ("n-head", "3"),
                       ("cross", "add_cross_attention"), ("n-inner", "n_inner")):
        directory(f"other: {base}", "other-" + base, {}, contains=what, refuse=base not in ("inverse-layer", "upcast"))


# ---- GGUF

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)


def text_of(s):
    s = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(s)) + s


def kv(key, kind, value):
    raw = value if isinstance(value, bytes) and kind != STRING else {
        U32: lambda v: struct.pack("<I", v), I32: lambda v: struct.pack("<i", v), F32: lambda v: struct.pack("<f", v),
        U64: lambda v: struct.pack("<Q", v), BOOL: lambda v: bytes([v]), U8: lambda v: bytes([v]), STRING: text_of}[kind](value)
    return text_of(key) + struct.pack("<I", kind) + raw


def array_of(kind, values, n=None):
    return struct.pack("<IQ", kind, len(values) if n is None else n) + b"".join(values)


class Gguf:
    """A good file of one block; its parts may be changed before file()."""

    def __init__(self):
        C, T, V = 32, 64, 300
        self.kv = {k: kv(k, *v) for k, v in {
            "general.architecture": (STRING, "gpt2"), "gpt2.context_length": (U32, T), "gpt2.embedding_length": (U32, C),
            "gpt2.feed_forward_length": (U32, 4 * C), "gpt2.block_count": (U32, 1), "gpt2.attention.head_count": (U32, 2),
            "gpt2.attention.layer_norm_epsilon": (F32, 1e-5), "general.file_type": (U32, 0)}.items()}
        shapes = {"token_embd.weight": (C, V), "position_embd.weight": (C, T), "output_norm.weight": (C,), "output_norm.bias": (C,)}
        for part, ins, outs in (("attn_qkv", C, 3 * C), ("attn_output", C, C), ("ffn_up", C, 4 * C), ("ffn_down", 4 * C, C)):
            shapes[f"blk.0.{part}.weight"] = (ins, outs)
            shapes[f"blk.0.{part}.bias"] = (outs,)
        for part in ("attn_norm", "ffn_norm"):
            shapes[f"blk.0.{part}.weight"] = shapes[f"blk.0.{part}.bias"] = (C,)
        self.tensors, self.size = {}, 0
        for name, dims in shapes.items():
            self.tensors[name] = dict(name=text_of(name), dims=dims, n=None, type=0, offset=self.size)
            self.size += -(-4 * int(np.prod(dims)) // 32) * 32
        self.magic, self.version, self.n_kv, self.n_tensors, self.data = b"GGUF", 3, None, None, None

    def file(self):
        out = self.magic + struct.pack("<IQQ", self.version, len(self.tensors) if self.n_tensors is None else self.n_tensors,
                                       len(self.kv) if self.n_kv is None else self.n_kv)
        out += b"".join(self.kv.values())
        for t in self.tensors.values():
            out += t["name"] + struct.pack("<I", len(t["dims"]) if t["n"] is None else t["n"])
            out += b"".join(struct.pack("<Q", d) for d in t["dims"]) + struct.pack("<IQ", t["type"], t["offset"])
        self.header = len(out)
        out += b"\0" * (-len(out) % 32)
        return out + (np.full(self.size // 4, 0.01, np.float32).tobytes() if self.data is None else self.data)


def bad_gguf():
    def case(name, change, refuse=True):
        g = Gguf()
        change(g)
        check("gguf: " + name, put("bad.gguf", g.file()), refuse)

    def field(name, **change):
        return lambda g: [setattr(g, k, v) for k, v in change.items()]

    def setting(key, raw):
        return lambda g: g.kv.__setitem__(key, raw)

    def tensor(**change):
        return lambda g: g.tensors["position_embd.weight"].update(change)

    g = Gguf()
    good = g.file()
    status = run([f"{TOOLS}/tg-convert", put("good.gguf", good), "-o", "out.npz"])
    if status[0] != 0:
        wrong("gguf: the good file", ["convert"], status[2])
    cuts("one-block.gguf", good, g.header)
    flips("one-block.gguf", good, g.header, 500)
    q = get("gguf/q8_0.gguf")  # ends with padding
    q = q.rstrip(b"\0")
    cuts("q8_0.gguf", q, 12000, step=101)
    flips("q8_0.gguf", q, 12000, 300)
    for v in (0, 1, 4, 0x03000000, 0xFFFFFFFF):
        case(f"version {v}", field("", version=v))
    for n in (0, 1, 1000, 1 << 31, 1 << 32, 1 << 60, 1 << 63, (1 << 64) - 1):
        case(f"{n} tensors", field("", n_tensors=n))
        case(f"{n} settings", field("", n_kv=n))
        case(f"an array of {n} u8", setting("a", kv("a", ARRAY, array_of(U8, [b"\0"], n))), refuse=n > 1)
        case(f"an array of {n} u64", setting("a", kv("a", ARRAY, array_of(U64, [b"\0" * 8], n))), refuse=n > 1)
        case(f"an array of {n} strings", setting("a", kv("a", ARRAY, array_of(STRING, [text_of("x")], n))), refuse=n > 1)
        case(f"an array of {n} arrays", setting("a", kv("a", ARRAY, array_of(ARRAY, [array_of(U8, [])], n))), refuse=n > 1)
        case(f"a string of {n}", setting("a", kv("a", U64, struct.pack("<Q", n) + b"x")[:-9] if n < 0 else
                                         text_of("a") + struct.pack("<IQ", STRING, n) + b"x"), refuse=n > 1)
        case(f"a key of {n}", setting("a", struct.pack("<Q", n) + b"a" + struct.pack("<II", U32, 1)), refuse=n != 1)
        case(f"dims of {n}", tensor(dims=(32, n)))
        case(f"offset {n}", tensor(offset=n), refuse=True)
        case(f"a tensor's name of {n}", tensor(name=struct.pack("<Q", n) + b"x"))
    for n in (13, 99, 0xFFFFFFFF):
        case(f"a setting of type {n}", setting("a", kv("a", n, b"\0" * 8)))
        case(f"an array of type {n}", setting("a", kv("a", ARRAY, array_of(n, [b"\0" * 8]))))
    case("arrays, 1,000,000 deep", setting("a", kv("a", ARRAY, struct.pack("<IQ", ARRAY, 1) * 1_000_000)))
    case("bool 7", setting("a", kv("a", BOOL, b"\7")), refuse=False)
    for n in (0, 1, 3, 24, 1 << 31, 0xFFFFFFFF):
        case(f"alignment {n}", setting("general.alignment", kv("general.alignment", U32, n)))
    case("alignment is a string", setting("general.alignment", kv("general.alignment", STRING, "32")))
    case("controls in a setting", setting("x", kv("general.name", STRING, "\x1b[31m\n\x07\x9b\u202e")), refuse=False)
    case("a setting that is not UTF-8", setting("x", kv("general.name", STRING, b"\xff\xfe")), refuse=False)
    case("a setting twice", setting("again", kv("gpt2.block_count", U32, 2)))
    case("architecture llama", setting("general.architecture", kv("general.architecture", STRING, "llama")))
    case("architecture with controls", setting("general.architecture", kv("general.architecture", STRING, "\x1b[2J\n")))
    case("architecture is a number", setting("general.architecture", kv("general.architecture", U32, 2)))
    for key in Gguf().kv:
        case(f"no {key}", lambda g: g.kv.pop(key), refuse=key not in ("general.file_type", "gpt2.feed_forward_length"))
        if key.startswith("gpt2."):
            for n in (0, 1, 3, 31, 1 << 20, 1 << 31, 0xFFFFFFFF):
                may = n == 1 and key.endswith(("block_count", "head_count"))
                case(f"{key} {n}", setting(key, kv(key, U32, n)), refuse=not may and not key.endswith("epsilon"))
            case(f"{key} is a string", setting(key, kv(key, STRING, "1")))
            case(f"{key} is 64 bits wide", setting(key, kv(key, U64, 1 << 33)))
    for e in (np.nan, np.inf, -1.0, 1e30):
        case(f"epsilon {e}", setting("gpt2.attention.layer_norm_epsilon", kv("gpt2.attention.layer_norm_epsilon", F32, e)))
    for dims in ((), (1 << 32, 1 << 32), (1 << 63, 2), (0, 64), (32, 65), (33, 64), (32, 64, 2), (1,) * 5, (32, 64, 1, 1), (64, 32)):
        case(f"dims {dims}", tensor(dims=dims), refuse=dims != (32, 64, 1, 1))
    case("4,294,967,295 dims", tensor(n=0xFFFFFFFF))
    for kind in (1, 2, 4, 5, 12, 16, 24, 26, 31, 99, 0xFFFFFFFF):
        case(f"type {kind}", tensor(type=kind), refuse=kind not in (1, 2))
    for offset in (1, 16, 32, 4096):
        case(f"offset {offset}", tensor(offset=offset))
    case("a tensor twice", lambda g: g.tensors.__setitem__("x", dict(g.tensors["position_embd.weight"])))
    case("a tensor with a name of 65", tensor(name=text_of("a" * 65)))
    case("a tensor with controls in its name", tensor(name=text_of("\x1b[31m\n")))
    case("no position_embd.weight", lambda g: g.tensors.pop("position_embd.weight"))
    case("blk.1", tensor(name=text_of("blk.1.ffn_up.weight")))
    case("blk.4294967296", tensor(name=text_of("blk.4294967296.ffn_up.weight")))
    case("an unknown tensor besides", lambda g: g.tensors.__setitem__(
        "x", dict(name=text_of("rope_freqs.weight"), dims=(1,), n=None, type=0, offset=0)))
    case("a weight is NaN", lambda g: setattr(g, "data", np.full(g.size // 4, np.nan, np.float32).tobytes()))
    case("data too short", lambda g: setattr(g, "data", b"\0" * (g.size - 1)))
    case("data too long", lambda g: setattr(g, "data", b"\0" * (g.size + 1)), refuse=False)
    case("no data", lambda g: setattr(g, "data", b""))

    tokens = [f"t{i}" for i in range(300)]

    def tokenizer(g, tokens=tokens, types=None, merges=(), model="gpt2", pre="gpt-2", kind=STRING, **more):
        g.kv["m"] = kv("tokenizer.ggml.model", STRING, model)
        g.kv["p"] = kv("tokenizer.ggml.pre", STRING, pre)
        g.kv["t"] = kv("tokenizer.ggml.tokens", ARRAY, array_of(kind, [text_of(t) for t in tokens]))
        if merges is not None:
            g.kv["r"] = kv("tokenizer.ggml.merges", ARRAY, array_of(STRING, [text_of(t) for t in merges]))
        types = [1] * len(tokens) if types is None else types
        g.kv["y"] = kv("tokenizer.ggml.token_type", ARRAY, array_of(I32, [struct.pack("<i", t) for t in types]))
        for key, value in more.items():
            g.kv[key] = kv("tokenizer.ggml." + key, U32, value)

    case("tokens without bytes", tokenizer, refuse=False)
    case("299 tokens", lambda g: tokenizer(g, tokens[:299]), refuse=False)
    case("301 tokens", lambda g: tokenizer(g, [*tokens, "x"]))
    case("no tokens", lambda g: tokenizer(g, []))
    case("1,000,000 tokens", lambda g: tokenizer(g, ["x"] * 1_000_000))
    case("the same tokens", lambda g: tokenizer(g, ["x"] * 300))
    case("tokens with controls", lambda g: tokenizer(g, ["\x1b[31m\n"] + tokens[1:]))
    case("tokens that are not UTF-8", lambda g: tokenizer(g, [b"\xff"] + tokens[1:]))
    case("10 token types", lambda g: tokenizer(g, types=[1] * 10))
    case("token types 99", lambda g: tokenizer(g, types=[99] * 300))
    case("merges without a space", lambda g: tokenizer(g, merges=["ab"]))
    case("merges of unknown tokens", lambda g: tokenizer(g, merges=["Q Z"]))
    case("model llama", lambda g: tokenizer(g, model="llama"), refuse=False)
    case("pre unknown", lambda g: tokenizer(g, pre="\x1b[31m"), refuse=False)
    case("eos 300", lambda g: tokenizer(g, eos_token_id=300))
    case("eos 4294967295", lambda g: tokenizer(g, eos_token_id=0xFFFFFFFF))


# ---- PyTorch


def torch_file(pkl, members=(), prefix="archive", method=zipfile.ZIP_STORED, extra=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        z.writestr(f"{prefix}/data.pkl", pkl)
        z.writestr(f"{prefix}/byteorder", b"little")
        for key, data in members:
            z.writestr(f"{prefix}/data/{key}", data)
        z.writestr(f"{prefix}/version", b"3\n")
        for name, data in extra:
            z.writestr(name, data)
    return out.getvalue()


class Called:
    def __init__(self, function, *arguments):
        self.made = function, arguments

    def __reduce__(self):
        return self.made


def bad_torch():
    def case(name, data, refuse=True, **more):
        check("torch: " + name, put("bad.pt", data), refuse, **more)

    good = get("torch/nanogpt.pt")
    with zipfile.ZipFile(io.BytesIO(good)) as z:
        members = {n: z.read(n) for n in z.namelist()}
    root = next(iter(members)).split("/")[0]
    pkl = members[f"{root}/data.pkl"]
    rest = [(n, d) for n, d in members.items() if not n.endswith("data.pkl")]

    def repack(pkl, rest=rest, method=zipfile.ZIP_STORED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as z:
            z.writestr(f"{root}/data.pkl", pkl)
            for n, d in rest:
                z.writestr(n, d)
        return out.getvalue()

    status = run([f"{TOOLS}/tg-convert", put("good.pt", repack(pkl)), "-o", "out.npz"])
    if status[0] != 0:
        wrong("torch: the good file, packed again", ["convert"], status[2])
    cuts("nanogpt.pt", good, 2000, step=3)
    flips("nanogpt.pt", good, 2000, 200)
    for n in range(0, len(pkl), 11):
        case(f"data.pkl cut at {n}", repack(pkl[:n]))
    rng = np.random.default_rng(1)
    for i in range(600):
        copy = bytearray(pkl)
        for _ in range(rng.integers(1, 4)):
            copy[int(rng.integers(0, len(copy)))] = int(rng.integers(0, 256))
        case(f"data.pkl changed ({i})", repack(bytes(copy)), refuse=False)
    marker = f"{WORK}/called"
    for what, thing in (("os.system", Called(os.system, f"touch {marker}")), ("eval", Called(eval, f"open({marker!r},'w')")),
                        ("open", Called(open, marker, "w")), ("getattr", Called(getattr, [], "append"))):
        for protocol in (0, 1, 2, 4):
            case(f"{what} called, protocol {protocol}", torch_file(pickle.dumps({"model": thing}, protocol)))
    assert not os.path.exists(marker)
    for name, code in {
            "empty": b"", "stop": b".", "none": b"N.", "an int": b"K\1.", "a list": b"].", "an empty dict": b"}.",
            "underflow": b"\x80\x02a.", "a mark too many": b"\x80\x02((.", "no stop": b"\x80\x02}",
            "pop of nothing": b"0" * 1000 + b".", "dup": b"N" + b"2" * 1_000_000 + b".",
            "marks": b"(" * 5_000_000 + b".", "lists in lists": b"]" * 1_000_000 + b"a" * 999_999 + b".",
            "tuples in tuples": b")" + b"\x85" * 5_000_000 + b".", "dicts in dicts": b"}" + b"X\1\0\0\0a}" * 100_000 + b"s" * 100_000 + b".",
            "a list in itself": b"]q\0h\0a.", "a dict in itself": b"}q\0X\1\0\0\0ah\0s.",
            "memo 2**32-1": b"]r\xff\xff\xff\xff.", "memo of nothing": b"h\7.", "memo far": b"j\xff\xff\xff\x7f.", "put text": b"]p99999999999999999999\n.",
            "laughs": b"]q\0" + b"".join(b"](h%ch%ch%ch%ceq%c" % (i, i, i, i, i + 1) for i in range(60)) + b".",
            "a long of 2 GB": b"\x8b\xff\xff\xff\x7f.", "a long below zero": b"\x8b\xff\xff\xff\xff.", "long1": b"\x8a\xff.",
            "a long text": b"X\xff\xff\xff\xffabc.", "a text of 2**63": b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc.", "bytes8": b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.",
            "a frame of 2**64-1": b"\x80\x04\x95" + b"\xff" * 8 + b"}.", "protocol 200": b"\x80\xc8}.", "an int of text": b"I" + b"9" * 1_000_000 + b"\n.",
            "a float of text": b"F" + b"9" * 1_000_000 + b"\n.", "a float nan": b"Fnan\n.", "a global without end": b"cos\nsystem", "ext": b"\x82\1.",
            "persid": b"P1\n.", "binpersid of none": b"NQ.", "binpersid of text": b"X\1\0\0\0aQ.", "inst": b"(ios\nsystem\n.", "obj": b"(N" + b"o.",
            "newobj": b"N)\x81.", "build": b"]]b.", "reduce of a list": b"])R.", "stack_global": b"X\2\0\0\0osX\6\0\0\0system\x93.", "string": b"S'a'\n.",
            "unicode": b"Vabc\\u0000\n.", "binbytes": b"C\1a.", "setitems odd": b"}(Nu.", "setitem of list": b"]NNs.", "append to dict": b"}Na.",
            "a key that is a list": b"}]Ns.", "appends to none": b"N(Ne.", "frozenset": b"(\x91.", "bytearray": b"\x96" + b"\xff" * 8 + b".",
            "next_buffer": b"\x97.", "unknown opcode": b"\xfe.", "controls in a global": b"c\x1b[2J\n\x07\n)R."}.items():
        case(f"pickle: {name}", torch_file(code))
    import torch
    storage = {"ok": (0, (64, 32), (32, 1), 2048), "offset": (1 << 62, (64, 32), (32, 1), 2048), "offset below zero": (-1, (64, 32), (32, 1), 2048),
               "too large": (0, (65, 32), (32, 1), 2048), "overflow": (0, (1 << 32, 1 << 32), (1 << 32, 1), 2048), "strides": (0, (64, 32), (1 << 60, 1), 2048),
               "strides below zero": (2047, (64, 32), (-32, -1), 2048), "strides 0": (0, (64, 32), (0, 0), 2048), "sizes below zero": (0, (-64, -32), (32, 1), 2048),
               "storage too large": (0, (64, 32), (32, 1), 1 << 62), "storage too small": (0, (64, 32), (32, 1), 4), "storage below zero": (0, (64, 32), (32, 1), -1),
               "nine dims": (0, (1,) * 9, (1,) * 9, 2048), "dims and strides": (0, (64, 32), (1,), 2048), "0 of 2**62": (0, (0, 1 << 62), (1, 1), 2048)}

    def tensor_pickle(offset, size, stride, numel, key="0", kind=b"FloatStorage", where="cpu", rebuild=b"ctorch._utils\n_rebuild_tensor_v2\n"):
        def p(x):
            return pickle.dumps(x, 2)[2:-1]
        return (rebuild + b"((" + p("storage") + b"ctorch\n" + kind + b"\n" + p(key) + p(where) + p(numel) + b"tQ" + p(offset) + p(size)
                + p(stride) + b"\x89ccollections\nOrderedDict\n)RtR")

    def with_tensor(raw):
        return b"\x80\x02}X\x11\0\0\0transformer.wpe.X" + raw

    for name, of in storage.items():
        code = b"\x80\x02}(X\x16\0\0\0transformer.wpe.weight" + tensor_pickle(*of) + b"u."
        case(f"a tensor: {name}", torch_file(code, [("0", b"\0" * 8192)]))
    for name, change in {"key ../0": dict(key="../0"), "key missing": dict(key="9"), "key empty": dict(key=""), "key long": dict(key="0" * 100_000),
                         "a key with controls": dict(key="\x1b[31m\n"), "a key that is a number": dict(key=0), "kind": dict(kind=b"QInt8Storage"),
                         "kind unknown": dict(kind=b"EvilStorage"), "device": dict(where="cuda:0"), "rebuild": dict(rebuild=b"ctorch._utils\n_rebuild_sparse_tensor\n"),
                         "parameter": dict(rebuild=b"ctorch._utils\n_rebuild_parameter\n")}.items():
        code = b"\x80\x02}(X\x16\0\0\0transformer.wpe.weight" + tensor_pickle(0, (64, 32), (32, 1), 2048, **change) + b"u."
        case(f"a tensor: {name}", torch_file(code, [("0", b"\0" * 8192)]))
    case("data.pkl of 1 GB, deflated", torch_file(b"N" * (1 << 30), method=zipfile.ZIP_DEFLATED))
    case("deflated", repack(pkl, method=zipfile.ZIP_DEFLATED), refuse=False)
    case("no data.pkl", torch_file(pkl)[:0] + repack(pkl).replace(b"data.pkl", b"date.pkl"))
    case("two data.pkl", torch_file(pkl, extra=[("other/data.pkl", pkl)]))
    case("big-endian", repack(pkl, [(n, b"big" if n.endswith("byteorder") else d) for n, d in rest]))
    case("a storage is cut", repack(pkl, [(n, d[:-4] if n.endswith("data/0") else d) for n, d in rest]))
    case("a storage is missing", repack(pkl, [(n, d) for n, d in rest if not n.endswith("data/0")]))
    case("a weight is NaN", repack(pkl, [(n, struct.pack("<f", np.nan) * (len(d) // 4) if n.endswith("data/0") else d) for n, d in rest]))
    case("100,000 members", torch_file(pkl, [(str(i), b"") for i in range(100_000)]))
    for name in ("legacy", "module", "module-inside", "odd"):
        check(f"torch: {name}.pt", f"{FILES}/torch/{name}.pt", refuse=name != "module-inside")
    # model_args and tensors that disagree
    checkpoint = torch.load(f"{FILES}/torch/nanogpt.pt", weights_only=True)
    for key in ("n_layer", "n_head", "n_embd", "block_size", "vocab_size", "bias"):
        for value in [*ABSURD, 3, "\x1b[31m"]:
            copy = {**checkpoint, "model_args": {**checkpoint["model_args"], key: value}}
            out = io.BytesIO()
            torch.save(copy, out)
            case(f"model_args {key} = {str(value)[:30]!r}", out.getvalue(), refuse=key not in ("bias", "n_head"))
    for name, copy in {"no model_args": {"model": checkpoint["model"]}, "model is a list": {**checkpoint, "model": [1]}, "model is empty": {**checkpoint, "model": {}},
                       "model_args is None": {**checkpoint, "model_args": None}}.items():
        out = io.BytesIO()
        torch.save(copy, out)
        case(name, out.getvalue(), statuses=(0, 1, 2))


# ---- llm.c


def bad_llmc():
    def case(name, data, refuse=True, **more):
        check("llmc: " + name, put("bad.bin", data), refuse, **more)

    for file in ("model-f32.bin", "model-bf16.bin"):
        good = get("llmc/" + file)
        cuts("llmc/" + file, good, 1100, step=3)
        for i, name in enumerate(("magic", "version", "maxT", "V", "L", "NH", "C", "Vp", "unused")):
            for n in (0, 1, -1, 2, 3, 4, 31, 383, 1 << 20, (1 << 31) - 1, -(1 << 31)):
                old = struct.unpack_from("<i", good, 4 * i)[0]
                if n != old:
                    copy = bytearray(good)
                    struct.pack_into("<i", copy, 4 * i, n)
                    case(f"{file}: {name} = {n}", bytes(copy), refuse=name not in ("unused", "NH", "V"))
        case(f"{file}: too long", good + b"\0\0")
        copy = bytearray(good)
        copy[2000:2004] = b"\xff\xff\xff\xff"
        case(f"{file}: NaN", bytes(copy))
    tokenize = [["convert", "{}", "-o", "out.npz"], ["info", "{}"], ["info", "--check", "{}"]]
    for file, fields in (("tokens.bin", ("magic", "version", "n")), ("tokenizer.bin", ("magic", "version", "n", "eot"))):
        good = get("llmc/" + file)
        cuts("llmc/" + file, good, 1100, lambda name, path, refuse=True: check(name, path, False, tokenize), step=3)
        for i, name in enumerate(fields):
            for n in (0, -1, 99, 1 << 30, (1 << 31) - 1, -(1 << 31)):
                copy = bytearray(good)
                struct.pack_into("<i", copy, 4 * i, n)
                case(f"{file}: {name} = {n}", bytes(copy), refuse=not (name == "eot" or name == "magic"), tools=tokenize)
    case("zeros", b"\0" * 4096)


# ---- .npz


def bad_npz():
    good = get("npz/plain.npz")
    reader = [["convert", "--heads", "2", "{}", "-o", "out.npz"]]
    cuts("plain.npz", good, 3000, lambda name, path, refuse=True: check(name, path, refuse, reader), step=11)
    flips("plain.npz", good, 3000, 200, lambda name, path, refuse=True: check(name, path, refuse, reader))
    mapped = get("npz/named.map")
    model = f"{FILES}/npz/named.npz"
    first = mapped.split(b"\n")[0]
    may = ("a name twice", "no such name")
    for name, text in {"empty": b"", "half a line": first.split()[0], "three words": first + b" x", "a name twice": mapped + first + b"\n",
                       "no such name": mapped + b"zzz wte.weight\n", "no such parameter": first.split()[0] + b" zzz.weight\n", "controls": b"\x1b[31m \x07\n",
                       "not UTF-8": b"\xff \xfe\n", "a line of 10 MB": b"a" * 10_000_000, "NULs": b"\0" * 1000, "binary": good[:5000], "1,000,000 lines": b"a b\n" * 1_000_000}.items():
        path = put("bad.map", text)
        check(f"map: {name}", model, name not in may, [["convert", "--heads", "2", "--map", path, "{}", "-o", "out.npz"]])
    check("map: a directory", model, True, [["convert", "--heads", "2", "--map", WORK, "{}", "-o", "out.npz"]], statuses=(3,))


KINDS = {"safetensors": bad_safetensors, "hf": bad_hf, "gguf": bad_gguf, "torch": bad_torch, "llmc": bad_llmc, "npz": bad_npz}


def main():
    global TOOLS, FILES, WORK
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    TOOLS, FILES = map(os.path.abspath, sys.argv[1:3])
    for kind in sys.argv[3:] or KINDS:
        with tempfile.TemporaryDirectory() as WORK:
            KINDS[kind]()
    print(f"{counts['run']} runs, {counts['wrong']} wrong")
    sys.exit(counts["wrong"] > 0)


if __name__ == "__main__":
    main()
