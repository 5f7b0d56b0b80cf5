"""Files that are wrong in one way each, of every format that a tool reads.

bad_files.py DIRECTORY    writes them there, and a table, DIRECTORY/list: path, reader, words of the message

The reader says what the file is given as: model, tokenizer, pattern (a tokenizer whose rule must be given), tokens,
dump, qkv, arrays, run, log, history.  A path that ends with / is a directory.  Words of "ok" mark the good files that the others differ from: they
must be accepted, so that it is the defect that is refused.  Needs nothing besides Python.
"""
import base64
import json
import os
import pickle
import struct
import sys
import zipfile
import zlib

ROOT = None
TABLE = []
U32, U64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def bad(path, reader, words, *contents, **files):
    """A file; or, as name=contents, the files of a directory, with _ instead of a dot."""
    where = f"{ROOT}/{path}"
    os.makedirs(where if files else os.path.dirname(where), exist_ok=True)
    for name, data in [("", contents[0])] if contents else files.items():
        with open(where + name.replace("__", ".").replace("_JSON", ".json"), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
    TABLE.append(f"{path}\t{reader}\t{words}\n")


# ---- zip and npy


def npy(shape="(1, 2, 4)", descr="'<f4'", data=struct.pack("<8f", *range(8)), order="False", version=1, text=None,
        length=None, end=b"\n"):
    text = text or f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    text = text.encode() + b" " * (-(11 + len(text)) % 64) + end
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def member(name, data, offset, *, crc=None, size=None, packed=None, method=0, flags=0, extra=b"", local_name=None,
           local_crc=None, local_extra=None, body=None):
    """A local header with its data, and an entry of the directory."""
    body = data if body is None else body
    crc = zlib.crc32(data) if crc is None else crc
    size, packed = len(data) if size is None else size, len(body) if packed is None else packed
    local_name = local_name or name
    local_extra = extra if local_extra is None else local_extra
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, method, 0, 33, crc if local_crc is None else local_crc,
                        packed, size, len(local_name), len(local_extra)) + local_name + local_extra + body
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, flags, method, 0, 33, crc, packed, size, len(name),
                        len(extra), 0, 0, 0, 0, offset) + name + extra
    return local, entry


def archive(members, *, count=None, offset=None, size=None, end=b"", order=None, prefix=b"", comment=0, disk=0):
    """An archive of (name, data, changes...)."""
    locals_, entries = prefix, []
    for name, data, *change in members:
        change = change[0] if change else {}
        at = change.pop("at", len(locals_) - len(prefix))
        local, entry = member(name, data, at, **change)
        locals_ += local
        entries.append(entry)
    directory = b"".join(entries[i] for i in order) if order else b"".join(entries)
    count = len(entries) if count is None else count
    return locals_ + directory + struct.pack(
        "<4s4H2IH", b"PK\5\6", disk, disk, count & 0xFFFF, count & 0xFFFF, len(directory) if size is None else size,
        len(locals_) - len(prefix) if offset is None else offset, comment) + end


def qkv(**change):
    """Three arrays; the changes are those of the second member."""
    a = npy()
    return archive([(b"q.npy", a), (b"k.npy", a, change), (b"v.npy", a)])


def arrays(k):
    return archive([(b"q.npy", npy()), (b"k.npy", k), (b"v.npy", npy())])


def deflated(data):
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    return z.compress(data) + z.flush()


def make_zip():
    a = npy()
    three = [(b"q.npy", a), (b"k.npy", a), (b"v.npy", a)]
    wide = struct.pack("<2HQQ", 1, 16, len(a), len(a))

    def case(name, words, data):
        bad(f"zip/{name}.npz", "qkv", words, data)

    case("good", "ok", archive(three))
    case("good-deflated", "ok", qkv(method=8, body=deflated(a)))
    case("empty", "the input is empty", b"")
    case("only-an-end-record", "without members", archive([]))
    case("no-directory", "truncated", archive(three)[:-120 - 22])
    case("data-after-the-end", "trailing data after the archive", archive(three, end=b"\0"))
    case("comment-longer-than-the-file", "truncated", archive(three, comment=9))
    case("data-before-the-beginning", "not an .npz archive", archive(three, prefix=b"#!/bin/sh\n"))
    case("another-archive", "data follows the archive", archive(three) * 2)
    case("crc-of-other-data", "the CRC-32 of its", qkv(crc=1))
    case("crc-differs-in-the-directory", "CRC-32", qkv(local_crc=1))
    case("name-differs-in-the-directory", "different name", qkv(local_name=b"x.npy"))
    case("name-shorter-in-the-directory", "the central directory has a name of", qkv(local_name=b"kk.npy"))
    case("name-twice", "duplicate member \"q.npy\"", archive([(b"q.npy", a), (b"q.npy", a), (b"v.npy", a)]))
    case("name-outside", "\"..\" part", archive([(b"../q.npy", a)]))
    case("name-absolute", "absolute path", archive([(b"/etc/passwd.npy", a)]))
    case("name-empty", "is empty", archive([(b"", a)]))
    case("name-with-a-nul", "has bytes other than", archive([(b"q\0.npy", a)]))
    case("name-with-an-escape", "has bytes other than", archive([(b"q\x1b[2J.npy", a)]))
    case("name-of-60000-bytes", "expected at most 131", archive([(b"q" * 60000 + b".npy", a)]))
    case("not-an-array", "member \"readme.txt\"", archive([(b"readme.txt", b"hello")]))
    case("5000-members", "more than 4096 members", archive([(b"%d.npy" % i, npy("(0,)", data=b"")) for i in range(5000)]))
    case("member-missing-in-the-directory", "of the central directory", archive(three, count=2, order=[0, 1]))
    case("member-only-in-the-directory", "does not end after 3 members", archive(three, count=4, order=[0, 1, 2, 2]))
    case("directory-in-another-order", "different name", archive(three, order=[1, 0, 2]))
    case("directory-says-65535", "expected 3", archive(three, count=65535))
    case("directory-elsewhere", "directory", archive(three, offset=0))
    case("directory-size-4-GiB", "directory", archive(three, size=U32 - 1))
    case("second-disk", "disk", archive(three, disk=1))
    case("offset-of-another-member", "says offset 0", qkv(at=0))
    case("offset-beyond-the-end", "says offset", qkv(at=0x7FFFFFFF))
    case("size-larger", "bytes in", qkv(size=len(a) + 1))
    case("size-of-the-next-member-too", "its array header says",
         archive([(b"q.npy", a), (b"k.npy", a, {"size": 2 * len(a), "packed": 2 * len(a)}), (b"v.npy", a)]))
    case("size-4-GiB", "truncated: expected 4294967294 bytes", qkv(size=U32 - 1, packed=U32 - 1))
    case("zip64-size-missing", "zip64 size is missing", qkv(size=U32, packed=U32))
    case("zip64-sizes-of-2-63", "truncated", qkv(size=U32, packed=U32, extra=struct.pack("<2HQQ", 1, 16, 1 << 63, 1 << 63)))
    case("zip64-sizes-of-2-64-1", "truncated", qkv(size=U32, packed=U32, extra=struct.pack("<2HQQ", 1, 16, U64, U64)))
    case("zip64-sizes-that-differ", "zip64 sizes differ", qkv(local_extra=struct.pack("<2HQQ", 1, 16, 5, 5)))
    case("zip64-twice", "two zip64 extra fields", qkv(extra=wide + wide))
    case("extra-field-longer-than-the-header", "an extra field is longer", qkv(extra=struct.pack("<2H", 2, 100)))
    case("encrypted", "encrypted", qkv(flags=1))
    case("unknown-flags", "unknown flags 0x2000", qkv(flags=0x2000))
    case("method-12", "compression method 12", qkv(method=12))
    case("descriptor-missing", "no data descriptor", qkv(flags=8, crc=0, size=0, packed=0))
    case("deflate-bomb", "cannot hold", qkv(method=8, size=1 << 30, body=deflated(a)))
    case("deflate-more-than-said", "more than", qkv(method=8, body=deflated(a + b"\0" * 9), size=len(a)))
    case("deflate-less-than-said", "its deflate data", qkv(method=8, body=deflated(a)[:40], packed=40))
    case("deflate-two-streams", "its deflate data ends after", qkv(method=8, body=deflated(a) + deflated(b"")))
    case("deflate-damaged", "its deflate data", qkv(method=8, body=b"\xff" * 40))
    case("deflate-empty-blocks", "without an end mark", qkv(method=8, body=b"\0\0\0\xff\xff" * 20000))


def make_npy():
    def case(name, words, data):
        bad(f"npy/{name}.npz", "qkv", words, arrays(data))

    case("good", "ok", npy())
    case("good-version-2", "ok", npy(version=2))
    case("good-keys-in-another-order", "ok", npy(text="{'shape':(1,2,4),'fortran_order':False,'descr':'<f4'}"))
    case("magic", "not an .npy array", b"\x93NUMPX" + npy()[6:])
    case("empty-member", "it holds only 0 bytes, expected 12", b"")
    case("version-9", ".npy version 9.0", npy(version=9))
    case("version-3", ".npy version 3.0", npy(version=3))
    case("header-length-65535", ".npy header of 65535 bytes", npy(length=65535))
    case("header-length-4-GiB", ".npy header of 4294967295 bytes", npy(version=2, length=U32))
    case("header-length-0", ".npy header of 0 bytes", npy(length=0))
    case("header-shorter-than-its-text", "header", npy(length=40))
    case("header-without-newline", "does not end with spaces and a newline", npy(end=b" "))
    case("header-is-code", "not a dictionary", npy(text="__import__('os').system('echo called >&2')"))
    case("shape-is-code", "cannot parse 'shape'", npy(shape="(__import__('os').system('id'),)"))
    case("header-has-unknown-key", "unknown key 'x'", npy(text="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 4), 'x': 1}"))
    case("header-has-a-key-twice", "duplicate key 'descr'", npy(text="{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 4)}"))
    case("header-lacks-shape", "lacks 'shape'", npy(text="{'descr': '<f4', 'fortran_order': False}"))
    case("header-10000-brackets", "cannot parse 'shape'", npy(text="{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 9000 + "}"))
    case("shape-negative", "cannot parse 'shape'", npy(shape="(1, -2, 4)"))
    case("shape-2-64", "cannot parse 'shape'", npy(shape=f"({1 << 64}, 2, 4)"))
    case("shape-product-2-64", "the shape is too large", npy(shape=f"({1 << 32}, {1 << 32}, 1)", data=b""))
    case("shape-product-2-64-with-zero", "shape is too large", npy(shape=f"({1 << 32}, {1 << 32}, 0)", data=b""))
    case("shape-2-61", "shape is too large", npy(shape=f"({1 << 61}, 1, 1)", data=b""))
    case("shape-2-62-8", "shape is too large", npy(shape=f"({(1 << 62) + 8}, 1, 1)"))  # 2^64 + 32 bytes
    case("doubles-2-61-4", "shape is too large", npy(shape=f"({(1 << 61) + 4}, 1, 1)", descr="'<f8'"))
    case("shape-larger-than-data", "its array header says", npy(shape="(1, 2, 5)"))
    case("shape-smaller-than-data", "its array header says", npy(shape="(1, 2, 3)"))
    case("shape-9-dimensions", "more than 8 dimensions", npy(shape="(1, 1, 1, 1, 1, 1, 1, 2, 4)"))
    case("shape-not-a-tuple", "cannot parse 'shape'", npy(shape="(8)"))
    case("shape-0", "is empty", npy(shape="(1, 0, 4)", data=b""))
    case("fortran-order", "Fortran order", npy(order="True"))
    case("order-is-1", "cannot parse 'fortran_order'", npy(order="1"))
    case("big-endian", "big-endian", npy(descr="'>f4'"))
    case("objects", "Python objects", npy(descr="'|O'"))
    case("structured", "structured", npy(descr="[('a', '<f4'), ('b', '<f4')]"))
    case("unicode", "element type '<U4'", npy(descr="'<U4'"))
    case("float-of-3-bytes", "element type '<f3'", npy(descr="'<f3'"))
    case("text-of-2-63-bytes", "too large", npy(descr=f"'|S{1 << 63}'", data=b""))
    case("text-of-0-bytes", "element type '|S0'", npy(descr="'|S0'", data=b""))
    case("integers", "expected 'f4' or 'f8'", npy(descr="'<i4'"))
    case("nan", "k[2] is nan", npy(data=struct.pack("<8f", 0, 0, float("nan"), 0, 0, 0, 0, 0)))
    case("infinity", "k[7] is inf", npy(data=struct.pack("<8f", *[0] * 7, float("inf"))))
    case("minus-infinity", "k[0] is -inf", npy(data=struct.pack("<8f", float("-inf"), *[0] * 7)))
    case("nan-negative-with-a-payload", "k[3] is ", npy(data=struct.pack("<3fI4f", 0, 0, 0, 0xFF812345, 0, 0, 0, 0)))
    case("good-doubles", "ok", npy(descr="'<f8'", data=struct.pack("<8d", 0, -0.0, 5e-324, -1e-300, 1e-40, 3.4e38, -3.4e38, 1)))
    case("double-nan", "k[1] is nan", npy(descr="'<f8'", data=struct.pack("<8d", 0, float("nan"), *[0] * 6)))
    case("double-infinity", "k[7] is inf", npy(descr="'<f8'", data=struct.pack("<8d", *[0] * 7, float("inf"))))
    case("double-beyond-float32", "k[7] is 1e+300", npy(descr="'<f8'", data=struct.pack("<8d", *[0] * 7, 1e300)))
    case("double-just-beyond-float32", "k[0] is 3.40282e+38: it must be finite as float32", npy(descr="'<f8'", data=struct.pack("<8d", 3.4028235678e38, *[0] * 7)))
    for code, size in (("f2", 2), ("i8", 8), ("u4", 4)):
        case(f"type-{code}", "expected 'f4' or 'f8'", npy(descr=f"'<{code}'", data=bytes(8 * size)))
    for code, size in (("f16", 16), ("c8", 8), ("M8[s]", 8), ("V4", 4)):
        case(f"type-{code[:2]}", f"element type '<{code}' is not one of", npy(descr=f"'<{code}'", data=bytes(8 * size)))
    case("type-b1", "elements are 'b1', expected 'f4' or 'f8'", npy(descr="'|b1'", data=bytes(8)))
    case("good-type-native", "ok", npy(descr="'=f4'"))
    case("good-type-without-order", "ok", npy(descr="'f4'"))
    case("type-empty", "element type '' is not one of", npy(descr="''"))
    case("type-of-4300-digits", "cannot parse 'descr'", npy(descr="'<f" + "4" * 4300 + "'"))


# ---- a model of one layer: 4 channels, 2 heads, 8 tokens

SHAPES = {
    "wte.weight": [8, 4], "wpe.weight": [2, 4], "h.0.ln_1.weight": [4], "h.0.ln_1.bias": [4],
    "h.0.attn.c_attn.weight": [4, 12], "h.0.attn.c_attn.bias": [12], "h.0.attn.c_proj.weight": [4, 4],
    "h.0.attn.c_proj.bias": [4], "h.0.ln_2.weight": [4], "h.0.ln_2.bias": [4], "h.0.mlp.c_fc.weight": [4, 16],
    "h.0.mlp.c_fc.bias": [16], "h.0.mlp.c_proj.weight": [16, 4], "h.0.mlp.c_proj.bias": [4], "ln_f.weight": [4],
    "ln_f.bias": [4],
}
CONFIG = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 4, "n_positions": 2, "vocab_size": 8}


def product(shape):
    n = 1
    for dim in shape:
        n *= dim
    return n


DATA = {name: struct.pack(f"<{product(shape)}f", *[i / 64 for i in range(product(shape))]) for name, shape in SHAPES.items()}


# ---- safetensors


def header(data=DATA):
    at, out = 0, {}
    for name, data in data.items():
        out[name] = {"dtype": "F32", "shape": SHAPES[name], "data_offsets": [at, at + len(data)]}
        at += len(data)
    return out


def safetensors(head, data=b"".join(DATA.values()), length=None):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def changed(name, **change):
    head = header()
    head[name] = {**head[name], **change}
    return safetensors(head)


def without(name):
    rest = {key: data for key, data in DATA.items() if key != name}
    return safetensors(header(rest), b"".join(rest.values()))


def make_safetensors():
    config = json.dumps(CONFIG)
    size = sum(map(len, DATA.values()))
    whole = json.dumps(header()).encode()

    def case(name, words, data):
        bad(f"safetensors/{name}/", "model", words, config_JSON=config, model__safetensors=data)

    case("good", "ok", safetensors(header()))
    case("empty", "truncated: expected 8 bytes", b"")
    case("only-7-bytes", "truncated: expected 8 bytes", b"\x10\0\0\0\0\0\0")
    case("header-longer-than-the-file", "truncated: expected", safetensors(header(), length=100000))
    case("header-100-MB", "expected a safetensors", safetensors(header(), length=100000001))
    case("header-2-63", "expected a safetensors", safetensors(header(), length=1 << 63))
    case("header-2-64-1", "expected a safetensors", safetensors(header(), length=U64))
    case("header-0", "expected a safetensors", safetensors(b""))
    case("header-not-json", "expected a key in quotes", safetensors(b"{not json", b""))
    case("header-is-an-array", "expected a safetensors", safetensors(b"[1, 2, 3]", b""))
    case("header-with-text-after-it", "expected the end of the text", safetensors(whole + b"x"))
    case("header-nested-100000-deep", "more than 64 nested", safetensors(b'{"a":{"b":' + b"[" * 100000))
    case("header-not-utf-8", "UTF-8", safetensors(b'{"\xff": 0}', b""))
    case("header-with-a-nul", "got byte 0x00", safetensors(b"{\0}", b""))
    case("name-twice", "two tensors wte.weight", safetensors(whole[:-1] + b', "wte.weight": ' + json.dumps(header()["wte.weight"]).encode() + b"}"))
    case("key-twice", "occurs twice", safetensors(whole.replace(b'"dtype": "F32"', b'"dtype": "F32", "dtype": "F32"', 1)))
    case("metadata-twice", "__metadata__ occurs twice", safetensors(b'{"__metadata__": {}, "__metadata__": {}, ' + whole[1:]))
    case("metadata-not-text", "expected a string", safetensors(b'{"__metadata__": {"a": 1}, ' + whole[1:]))
    case("name-not-ascii", "expected printable ASCII", safetensors(whole.replace(b"ln_f.bias", "ln_f.bi\u00e4s".encode())))
    case("name-empty", "name is empty", safetensors(whole.replace(b"ln_f.bias", b"")))
    case("name-of-1000-bytes", "expected at most 127", safetensors(whole.replace(b"ln_f.bias", b"x" * 1000)))
    case("type-unknown", "F8_E4M3", changed("ln_f.bias", dtype="F8_E4M3"))
    case("type-integers", "expected floating-point", changed("ln_f.bias", dtype="I32"))
    case("type-a-number", "expected a string", changed("ln_f.bias", dtype=4))
    case("shape-missing", "has no \"shape\"", safetensors(whole.replace(b'"shape"', b'"shap"', 1)))
    case("shape-negative", "got -4", changed("ln_f.bias", shape=[-4]))
    case("shape-fraction", "expected an integer", changed("ln_f.bias", shape=[4.5]))
    case("shape-2-64", "expected an integer", changed("ln_f.bias", shape=[1 << 64]))
    case("shape-product-2-64", "more elements than memory", changed("ln_f.bias", shape=[1 << 32, 1 << 32]))
    case("shape-2-62-4", "more elements than memory", changed("ln_f.bias", shape=[(1 << 62) + 4]))  # 2^64 + 16 bytes
    case("shape-2-62-1-times-4", "more elements than memory", changed("ln_f.bias", shape=[(1 << 62) + 1, 4]))
    case("shape-9-dimensions", "more than 8 numbers", changed("ln_f.bias", shape=[1] * 8 + [4]))
    case("shape-too-large", "the shape needs 20", changed("ln_f.bias", shape=[5]))
    case("shape-of-another-model", "expected (8, 4)", changed("wte.weight", shape=[4, 8]))
    case("offsets-three", "more than 2 numbers", changed("ln_f.bias", data_offsets=[size - 16, size, size]))
    case("offsets-one", "has 1 data_offsets", changed("ln_f.bias", data_offsets=[size]))
    case("offsets-backwards", "expected a place in", changed("ln_f.bias", data_offsets=[size, size - 16]))
    case("offsets-beyond-the-end", "expected a place in", changed("ln_f.bias", data_offsets=[size, size + 16]))
    case("offsets-2-64-1", "expected a place in", changed("ln_f.bias", data_offsets=[U64 - 15, U64]))
    case("offsets-overlap", "overlaps", changed("ln_f.bias", data_offsets=[0, 16]))
    case("offsets-with-a-gap", "its data begin at offset", safetensors({k: v for k, v in header().items() if k != "wpe.weight"}))
    case("data-missing", "expected a place in", safetensors(header(), b"".join(DATA.values())[:-1]))
    case("data-after-the-last", "the tensors end at", safetensors(header(), b"".join(DATA.values()) + b"x"))
    case("tensor-missing", "h.0.attn.c_proj.weight is missing", without("h.0.attn.c_proj.weight"))
    case("tensor-unknown", "evil is not a tensor", safetensors({**header(), "evil": {"dtype": "F32", "shape": [0], "data_offsets": [size, size]}}))
    case("nan", "ln_f.bias[3] is nan", safetensors(header(), b"".join(DATA.values())[:-4] + struct.pack("<f", float("nan"))))
    case("infinity", "ln_f.bias[3] is -inf", safetensors(header(), b"".join(DATA.values())[:-4] + struct.pack("<f", float("-inf"))))
    index = {"metadata": {}, "weight_map": {name: "model-1-of-1.safetensors" for name in SHAPES}}

    def shards(name, words, text):
        text = text if isinstance(text, (bytes, str)) else json.dumps(text)
        bad(f"index/{name}/", "model", words, config_JSON=config, model__safetensors__index_JSON=text,
            **{"model-1-of-1__safetensors": safetensors(header())})

    shards("good", "ok", index)
    shards("empty", "the text ends", "")
    shards("no-map", "no \"weight_map\"", {"metadata": {}})
    shards("map-empty", "weight_map is empty", {"weight_map": {}})
    shards("map-is-a-list", "expected an object", {"weight_map": []})
    shards("file-outside", "a file in the same directory", {"weight_map": {"wte.weight": "../secret.safetensors"}})
    shards("file-absolute", "a file in the same directory", {"weight_map": {"wte.weight": "/etc/passwd"}})
    shards("file-name-of-256-bytes", "a file in the same directory", {"weight_map": {"wte.weight": "f" * 244 + ".safetensors"}})
    shards("file-is-itself", "expected a safetensors", {"weight_map": {"wte.weight": "model.safetensors.index.json"}})
    shards("tensor-not-in-its-file", "lacks x", {"weight_map": {**index["weight_map"], "x": "model-1-of-1.safetensors"}})
    shards("tensor-twice", "twice", json.dumps(index).replace('"wpe.weight"', '"wte.weight"'))
    shards("2000-files", "more than 1024 files", {"weight_map": {f"t{i}": f"f{i}.safetensors" for i in range(2000)}})


def make_config():
    def case(name, words, text=None, **change):
        text = text if text is not None else json.dumps({**CONFIG, **change})
        bad(f"config/{name}/", "model", words, config_JSON=text, model__safetensors=safetensors(header()))

    case("good", "ok")
    case("empty", "the text ends", "")
    case("not-json", "expected an object", "n_layer = 1")
    case("truncated", "the text ends", json.dumps(CONFIG)[:-1])
    case("key-twice", "twice", json.dumps(CONFIG)[:-1] + ', "n_head": 4}')
    case("lone-surrogate", "a pair of surrogates", json.dumps(CONFIG).replace("gpt2", "\\ud800"))
    case("model-of-another-kind", "\"model_type\" is \"mixtral\"", model_type="mixtral")
    case("layers-0", "config.json: \"n_layer\" must be between", n_layer=0)
    case("layers-2", "h.1.attn.c_attn.weight is missing", n_layer=2)
    case("layers-2-63", "config.json: \"n_layer\" must be between", n_layer=1 << 63)
    case("layers-10-30", "expected an integer", n_layer=10 ** 30)
    case("layers-negative", "expected an integer", n_layer=-1)
    case("layers-text", "expected a number", n_layer="1")
    case("layers-true", "expected a number", n_layer=True)
    case("layers-fraction", "expected an integer", n_layer=1.5)
    case("heads-3", "config.json: 3 heads do not divide", n_head=3)
    case("heads-0", "config.json: \"n_head\" must be between", n_head=0)
    case("width-2-31", "config.json: \"n_embd\" must be between", n_embd=1 << 31)
    case("vocabulary-2-32", "config.json: \"vocab_size\" must be between", vocab_size=1 << 32)
    case("context-4", "wpe.weight has shape", n_positions=4)
    case("width-2-62", "config.json: \"n_embd\" must be between", n_embd=1 << 62)
    case("inner-width-2-64", "\"n_inner\" is 0", n_embd=1 << 62, n_inner=0)
    case("inner-width", "\"n_inner\" is 9", n_inner=9)
    case("epsilon-0", "config.json: \"layer_norm_epsilon\" must be between", layer_norm_epsilon=0)
    case("epsilon-nan", "expected a value", json.dumps(CONFIG)[:-1] + ', "layer_norm_epsilon": NaN}')
    case("epsilon-1e999", "range of a double", json.dumps(CONFIG)[:-1] + ', "layer_norm_epsilon": 1e999}')
    case("activation-unknown", "activation_function", activation_function="relu")
    case("nested-10000-deep", "more than 64 nested", '{"a":' + "[" * 10000)


# ---- GGUF


def text(t):
    t = t if isinstance(t, bytes) else t.encode()
    return struct.pack("<Q", len(t)) + t


def kv(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def u32(key, n):
    return kv(key, 4, struct.pack("<I", n))


VALUES = [
    kv("general.architecture", 8, text("gpt2")), u32("gpt2.block_count", 1), u32("gpt2.attention.head_count", 2),
    u32("gpt2.embedding_length", 4), u32("gpt2.context_length", 2), u32("gpt2.feed_forward_length", 16),
    kv("gpt2.attention.layer_norm_epsilon", 6, struct.pack("<f", 1e-5)),
]
NAMES = {"wte": "token_embd", "wpe": "position_embd", "h.0.ln_1": "blk.0.attn_norm", "h.0.attn.c_attn": "blk.0.attn_qkv",
         "h.0.attn.c_proj": "blk.0.attn_output", "h.0.ln_2": "blk.0.ffn_norm", "h.0.mlp.c_fc": "blk.0.ffn_up",
         "h.0.mlp.c_proj": "blk.0.ffn_down", "ln_f": "output_norm"}


def gguf_tensor(name, dims, offset, kind=0, ndim=None):
    return text(name) + struct.pack("<I", len(dims) if ndim is None else ndim) + b"".join(
        struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", kind, offset)


def gguf(values=None, tensors=None, data=None, version=3, n_values=None, n_tensors=None, change=None, rows=8, head=None):
    """change(name, dims, offset): arguments of gguf_tensor() instead.  rows: of the embedding.  head: dims, kind and data."""
    values = VALUES if values is None else values
    if tensors is None:
        tensors, at = [], 0
        contents = {**DATA, "wte.weight": DATA["wte.weight"][:16] * rows} if rows != 8 else DATA
        for name, shape in SHAPES.items():
            stem, suffix = name.rsplit(".", 1)
            shape = [rows, 4] if name == "wte.weight" else shape
            dims = shape[::-1] if name[:2] in ("wt", "wp") else shape  # the other matrices lie transposed there
            arguments = f"{NAMES[stem]}.{suffix}", dims, at
            tensors.append(gguf_tensor(*(change(*arguments) if change else arguments)))
            at += -(-len(contents[name]) // 32) * 32
        if head:
            tensors.append(gguf_tensor("output.weight", head[0], at, head[1]))
            contents = {**contents, "lm_head.weight": head[2]}
        data = b"".join(d + b"\0" * (-len(d) % 32) for d in contents.values()) if data is None else data
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors) if n_tensors is None else n_tensors,
                       len(values) if n_values is None else n_values) + b"".join(values) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + (data or b"")


def instead(which, **change):
    def arguments(got, dims, offset):
        return (got, dims, offset) if got != which else (
            change.get("name", got), change.get("dims", dims), change.get("offset", offset), change.get("kind", 0), change.get("ndim"))
    return arguments


def make_gguf():
    bias = "output_norm.bias"

    def case(name, words, data):
        bad(f"gguf/{name}.gguf", "model", words, data)

    def value(name, words, entry, key=None):
        """One value more, or instead of that with the key."""
        case(name, words, gguf([v for v in VALUES if key is None or not v[8:].startswith(key.encode())] + [entry]))

    case("good", "ok", gguf())
    case("only-the-magic", "ends within its header", b"GGUF")
    case("version-1", "GGUF version 1", gguf(version=1))
    case("version-big-endian", "big-endian", gguf(version=3 << 24))
    case("version-0", "GGUF version 0", gguf(version=0))
    case("values-2-64-1", "claims 18446744073709551615 values", gguf(n_values=U64))
    case("values-2-63", "claims 9223372036854775808 values", gguf(n_values=1 << 63))
    case("values-one-more", "ends within tensor 1", gguf(n_values=len(VALUES) + 1))
    case("values-one-less", "6 dimensions", gguf(n_values=len(VALUES) - 1))
    case("tensors-2-64-1", "expected at most 4096", gguf(n_tensors=U64))
    case("tensors-2-61", "expected at most 4096", gguf(n_tensors=1 << 61))
    case("tensors-one-more", "GGUF tensor 17", gguf(n_tensors=len(SHAPES) + 1))
    case("tensors-one-less", "follow the last tensor", gguf(n_tensors=len(SHAPES) - 1))
    case("tensors-none", "wte.weight is missing", gguf(tensors=[], data=b""))
    value("key-length-2-64-1", "expected 18446744073709551615 bytes", struct.pack("<Q", U64) + b"x" * 20)
    value("key-length-beyond-the-end", "ends within", struct.pack("<Q", 1 << 20) + b"x" * 20)
    value("key-empty", "its key is empty", u32("", 1))
    value("key-with-an-escape", "its key has the byte \\x1B", u32("a\x1b[2J", 1))
    value("key-twice", "two GGUF values gpt2.block_count", u32("gpt2.block_count", 1))
    value("type-13", "type 13, expected", kv("x", 13, b"\0" * 8))
    value("type-2-32-1", "type 4294967295, expected", kv("x", U32, b"\0" * 8))
    value("text-length-2-64-1", "expected 18446744073709551615 bytes", kv("x", 8, struct.pack("<Q", U64)))
    value("array-of-2-64-1", "an array of 18446744073709551615", kv("x", 9, struct.pack("<IQ", 4, U64)))
    value("array-of-2-62", "an array of 4611686018427387904", kv("x", 9, struct.pack("<IQ", 4, 1 << 62)))
    value("array-of-2-62-1", "an array of 4611686018427387905", kv("x", 9, struct.pack("<IQI", 4, (1 << 62) + 1, 7)))
    value("array-of-2-61-1", "an array of 2305843009213693953", kv("x", 9, struct.pack("<IQQ", 10, (1 << 61) + 1, 7)))
    value("array-of-texts-2-61", "an array of 2305843009213693952", kv("x", 9, struct.pack("<IQ", 8, 1 << 61)))
    value("array-of-arrays", "an array of arrays", kv("x", 9, struct.pack("<IQIQ", 9, 1, 9, 1)))
    value("array-of-type-99", "type 99, expected", kv("x", 9, struct.pack("<IQ", 99, 1)))
    value("truth-2", "a truth value of 2", kv("x", 7, b"\2"))
    for name, n in (("0", 0), ("3", 3), ("2-31", 1 << 31)):
        value(f"alignment-{name}", f"general.alignment is {n}", u32("general.alignment", n))
    value("alignment-negative", "general.alignment is -1", kv("general.alignment", 5, struct.pack("<i", -1)))
    value("alignment-text", "expected an integer", kv("general.alignment", 8, text("32")))
    value("alignment-64", "expected a multiple of 64", u32("general.alignment", 64))
    value("architecture-mamba", "the architecture is \"mamba\"", kv("general.architecture", 8, text("mamba")), "general.arch")
    value("architecture-a-number", "general.architecture is u32", u32("general.architecture", 1), "general.arch")
    case("architecture-missing", "general.architecture is missing", gguf(VALUES[1:]))
    value("layers-0", "the config has n_layer = 0", u32("gpt2.block_count", 0), "gpt2.block")
    value("layers-2-32-1", "n_layer must be between", u32("gpt2.block_count", U32), "gpt2.block")
    value("layers-2-64-1", "n_layer must be between", kv("gpt2.block_count", 10, struct.pack("<Q", U64)), "gpt2.block")
    value("layers-negative", "gpt2.block_count is -1", kv("gpt2.block_count", 11, struct.pack("<q", -1)), "gpt2.block")
    value("layers-a-float", "expected an integer", kv("gpt2.block_count", 6, struct.pack("<f", 1)), "gpt2.block")
    value("heads-3", "3 heads do not divide", u32("gpt2.attention.head_count", 3), "gpt2.attention.head")
    value("width-2-31", "embedding_length", u32("gpt2.embedding_length", 1 << 31), "gpt2.emb")
    value("epsilon-nan", "layer_norm_epsilon must be", kv("gpt2.attention.layer_norm_epsilon", 6, struct.pack("<f", float("nan"))), "gpt2.attention.layer")
    value("epsilon-negative", "layer_norm_epsilon must be", kv("gpt2.attention.layer_norm_epsilon", 6, struct.pack("<f", -1)), "gpt2.attention.layer")
    value("split-in-2-files", "the model is split into 2 files", kv("split.count", 2, struct.pack("<H", 2)))
    value("split-a-text", "split.count is text, expected an integer", kv("split.count", 8, text("2")))
    value("heads-of-keys-a-text", "head_count_kv is text, expected an integer", kv("gpt2.attention.head_count_kv", 8, text("2")))
    case("good-head-tied-as-float16", "ok", gguf(head=([4, 8], 1, struct.pack("<32e", *[i / 64 for i in range(32)]))))
    case("good-head-of-its-own", "ok", gguf(head=([4, 8], 0, bytes(4 * 32))))
    case("head-of-another-shape-in-blocks", "output.weight has shape (1, 32), expected (8, 4)", gguf(head=([32, 1], 8, bytes(34))))
    case("tensor-name-twice", "two tensors", gguf(change=instead(bias, name="output_norm.weight")))
    case("tensor-name-empty", "name is empty", gguf(change=instead(bias, name="")))
    case("tensor-name-65-bytes", "expected at most 64", gguf(change=instead(bias, name="x" * 65)))
    case("tensor-name-with-an-escape", "expected printable ASCII", gguf(change=instead(bias, name="a\x1b[2J")))
    case("tensor-name-2-64-1", "ends within", gguf(tensors=[struct.pack("<Q", U64)], n_tensors=1))
    case("tensor-unknown", "evil.weight is not a tensor", gguf(change=instead(bias, name="evil.weight")))
    case("tensor-5-dimensions", "5 dimensions, expected at most 4", gguf(change=instead(bias, dims=[4, 1, 1, 1, 1])))
    case("tensor-2-32-1-dimensions", "4294967295 dimensions", gguf(change=instead(bias, ndim=U32)))
    case("tensor-dimension-0", "dimension of 0", gguf(change=instead(bias, dims=[0])))
    case("tensor-product-2-64", "is too large for memory", gguf(change=instead(bias, dims=[1 << 32, 1 << 32])))
    case("tensor-product-2-64-4", "is too large for memory", gguf(change=instead(bias, dims=[1 << 31, 1 << 31, 4])))
    case("tensor-dimension-2-62-4", "is too large for memory", gguf(change=instead(bias, dims=[(1 << 62) + 4])))  # 2^64 + 16 bytes
    case("tensor-product-2-62-4", "is too large for memory", gguf(change=instead(bias, dims=[4, (1 << 62) + 1])))
    case("tensor-dimension-2-64-1", "is too large for memory", gguf(change=instead(bias, dims=[U64])))
    case("tensor-larger-than-the-file", "of the data, which has", gguf(change=instead(bias, dims=[1 << 20])))
    case("tensor-of-another-shape", "has shape", gguf(change=instead("token_embd.weight", dims=[8, 4])))
    case("tensor-type-4", "type 4, q4_2", gguf(change=instead(bias, kind=4)))
    case("tensor-type-2-32-1", "type 4294967295", gguf(change=instead(bias, kind=U32)))
    case("tensor-blocks-of-4-values", "expected a multiple of 32", gguf(change=instead(bias, kind=8)))
    case("tensor-integers", "expected floating-point", gguf(change=instead(bias, kind=26)))
    case("offset-not-aligned", "expected a multiple of 32", gguf(change=instead(bias, offset=4)))
    case("offset-beyond-the-end", "of the data, which has", gguf(change=instead(bias, offset=1 << 20)))
    case("offset-2-64-32", "of the data, which has", gguf(change=instead(bias, offset=U64 - 31)))
    case("offset-overlap", "overlaps", gguf(change=instead(bias, offset=0)))
    case("data-missing", "of the data, which has 0", gguf(data=b""))
    case("data-after-the-last", "follow the last tensor", gguf() + b"x" * 32)


def gguf_array(key, kind, *values):
    """An array of texts, or of numbers of a type of GGUF's."""
    body = b"".join(text(v) if kind == 8 else struct.pack("<" + "BbHhIif?__QqdG"[kind], v) for v in values)
    return kv(key, 9, struct.pack("<IQ", kind, len(values)) + body)


def make_gguf_vocabularies():
    """Vocabularies in the values of a GGUF file: 256 bytes, "ab" and the end of a text."""
    T8, I32 = 8, 5
    letters = byte_characters()
    tokens = letters + ["ab", "<|end|>"]
    types = [1] * 257 + [3]
    good = {"model": "gpt2", "pre": "gpt-2", "tokens": tokens, "token_type": types, "merges": ["a b"],
            "bos_token_id": 257, "eos_token_id": 257}

    def entry(name, value):
        key = name if "." in name else "tokenizer.ggml." + name
        if isinstance(value, bytes):  # as it is in the file, from the type on
            return text(key) + value
        if isinstance(value, list):
            return gguf_array(key, T8 if all(isinstance(v, (str, bytes)) for v in value) else I32, *value)
        return kv(key, 8, text(value)) if isinstance(value, str) else u32(key, value)

    def case(name, words, rows=258, **change):
        values = {**good, **{k.replace("__", "."): v for k, v in change.items()}}
        data = gguf(VALUES + [entry(k, v) for k, v in values.items() if v is not None], rows=rows)
        bad(f"gguf-vocabulary/{name}.gguf", "model", words, data)

    def texts(*t):  # an array of texts, from its type on
        return struct.pack("<IIQ", 9, 8, len(t)) + b"".join(map(text, t))

    def ids(code, kind, *n):
        return struct.pack(f"<IIQ{len(n)}{code}", 9, kind, len(n), *n)

    case("good", "ok")
    case("good-without-types", "ok", token_type=None)
    case("good-rows-beyond-the-vocabulary", "ok", rows=320)
    case("good-unused-tokens", "ok", tokens=tokens + ["[PAD258]"] * 2, token_type=types + [5] * 2, rows=260)
    case("good-without-some-bytes", "ok", tokens=tokens[1:], token_type=types[1:], bos_token_id=256, eos_token_id=256)
    case("good-no-vocabulary", "ok", model="no_vocab")
    case("kind-unknown", "tokenizer.ggml.model is \"bert\"", model="bert")
    case("kind-of-scores", "tokenizer.ggml.scores is missing", model="llama")
    case("kind-empty", "tokenizer.ggml.model is \"\"", model="")
    case("kind-with-an-escape", "which tg does not know", model="\x1b[2J")
    case("kind-a-number", "tokenizer.ggml.model is u32, expected a text", model=1)
    case("kind-an-array", "tokenizer.ggml.model is an array of text", model=["gpt2"])
    case("rule-unknown", "tokenizer.ggml.pre is \"words\"", pre="words")
    case("rule-of-other-bytes", "which tg does not know", pre=struct.pack("<I", 8) + text(b"\xff\xfe"))
    case("rule-a-number", "tokenizer.ggml.pre is u32, expected a text", pre=1)
    case("tokens-missing", "tokenizer.ggml.tokens is missing", tokens=None)
    case("tokens-none", "the vocabulary has no tokens", tokens=texts(), token_type=None, bos_token_id=None, eos_token_id=None)
    case("tokens-a-text", "tokenizer.ggml.tokens is text", tokens="abc")
    case("tokens-numbers", "expected an array of texts", tokens=ids("I", 4, 1, 2))
    case("tokens-fewer-than-types", "has 258 elements, tokenizer.ggml.tokens has 257", tokens=tokens[:-1],
         bos_token_id=256, eos_token_id=256)
    case("tokens-more-than-types", "has 258 elements, tokenizer.ggml.tokens has 259", tokens=tokens + ["ac"])
    case("tokens-more-than-rows", "vocab_size 257 is below the 258 ids", rows=257)
    case("token-empty", "a token has 0 bytes", tokens=tokens[:256] + ["", "<|end|>"])
    case("token-empty-special", "token 257 is empty", tokens=tokens[:257] + [""])
    case("token-twice", "tokens 97 and 256 are both", tokens=tokens[:256] + [letters[97], "<|end|>"])
    case("token-special-twice", "special token 258 has the text of token 257", tokens=tokens + ["<|end|>"], token_type=types + [3], rows=259)
    case("token-not-byte-level", "is not a byte-level token", tokens=tokens[:256] + ["a b", "<|end|>"])
    case("token-beyond-the-byte-letters", "is not a byte-level token", tokens=tokens[:256] + ["\u4f60", "<|end|>"])
    case("token-not-utf-8", "is not a byte-level token", tokens=texts(*tokens[:256], b"\xff\xfe", "<|end|>"))
    case("token-with-a-nul", "is not a byte-level token", tokens=texts(*tokens[:256], b"a\0b", "<|end|>"))
    case("token-with-an-escape", "is not a byte-level token", tokens=tokens[:256] + ["\x1b[2J", "<|end|>"])
    case("token-of-70000-bytes", "a token has 70000 bytes, expected 1 to 65536", tokens=tokens[:256] + ["a" * 70000, "<|end|>"])
    case("token-special-of-70000-bytes", "token 257 has 70000 bytes, expected at most 65536", tokens=tokens[:257] + ["a" * 70000])
    case("token-length-2-64-1", "expected 18446744073709551615 bytes", tokens=struct.pack("<IIQQ", 9, 8, 2, U64) + b"a" * 64)
    case("types-fewer", "has 257 elements, tokenizer.ggml.tokens has 258", token_type=types[1:])
    case("types-more", "has 259 elements, tokenizer.ggml.tokens has 258", token_type=types + [1])
    case("types-none", "has 0 elements", token_type=ids("i", 5))
    case("types-texts", "expected an array of integers", token_type=["1"] * 258)
    case("types-floats", "is an array of f32", token_type=ids("f", 6, *types))
    case("types-a-number", "expected an array of integers", token_type=1)
    case("type-77", "token 257 has type 77", token_type=types[:-1] + [77])
    case("type-negative", "token 257 has type -1", token_type=types[:-1] + [-1])
    case("type-2-64-1", "token 0 has type 9223372036854775807", token_type=ids("Q", 10, *[U64] * 258))
    case("type-6-byte", "token 0 has type 6", token_type=[6] * 258)
    case("types-all-unused", "the vocabulary has no tokens", token_type=[5] * 258)
    case("type-unused-for-half-of-a-merge", "\"a\", half of a merge, is not in the vocabulary", token_type=types[:97] + [5] + types[98:])
    case("type-unused-for-what-a-merge-makes", "is not in the vocabulary", token_type=types[:256] + [5, 3])
    case("type-special-for-what-a-merge-makes", "is not in the vocabulary", token_type=types[:256] + [3, 3])
    case("merges-missing", "tokenizer.ggml.merges is missing", merges=None)
    case("merges-numbers", "expected an array of texts", merges=ids("I", 4, 1, 2))
    case("merges-a-text", "expected an array of texts", merges="a b")
    case("merge-empty", "expected two halves", merges=[""])
    case("merge-a-space", "expected two halves", merges=[" "])
    case("merge-without-space", "expected two halves", merges=["ab"])
    case("merge-without-second-half", "a token has 0 bytes", merges=["ab "])
    case("merge-of-three", "is not a byte-level token", merges=["a b c"])
    case("merge-of-unknown", "half of a merge, is not in the vocabulary", merges=["zz a"])
    case("merge-with-unknown", "half of a merge, is not in the vocabulary", merges=["a zz"])
    case("merge-makes-unknown", "which a merge of \"a\" makes, is not in the vocabulary", merges=["a c"])
    case("merge-not-byte-level", "is not a byte-level token", merges=["a \u4f60"])
    case("merge-not-utf-8", "is not a byte-level token", merges=texts(b"a \xff"))
    case("merge-with-an-escape", "is not a byte-level token", merges=["a \x1b[2J"])
    case("merge-twice", "merge 1 is the same as merge 0", merges=["a b", "a b"])
    case("merge-of-a-special", "is not in the vocabulary", merges=["< |end|>"])
    case("merge-of-70000-bytes", "a token has 70000 bytes", merges=["a " + "b" * 70000])
    case("end-is-no-id", "tokenizer.ggml.eos_token_id is 258, expected one of the 258 tokens", eos_token_id=258)
    case("end-2-32-1", "tokenizer.ggml.eos_token_id is 4294967295, expected one of", eos_token_id=U32)
    case("end-negative", "tokenizer.ggml.eos_token_id is -1", eos_token_id=struct.pack("<Ii", 5, -1))
    case("end-a-text", "tokenizer.ggml.eos_token_id is text, expected an integer", eos_token_id="<|end|>")
    case("end-an-array", "tokenizer.ggml.eos_token_id is an array", eos_token_id=[257])
    case("beginning-is-no-id", "tokenizer.ggml.bos_token_id is 258, expected one of", bos_token_id=258)
    case("beginning-2-63-1", "tokenizer.ggml.bos_token_id is 9223372036854775807, expected one of", bos_token_id=struct.pack("<IQ", 10, (1 << 63) - 1))
    case("beginning-a-float", "tokenizer.ggml.bos_token_id is f32", bos_token_id=struct.pack("<If", 6, 1))
    case("own-kind-unknown", "tg.tokenizer.kind is \"words\", expected bytes, char or bpe", tg__tokenizer__kind="words")
    case("own-kind-a-number", "tg.tokenizer.kind is u32", tg__tokenizer__kind=1)
    case("own-kind-bytes-of-other-tokens", "are not those of", tg__tokenizer__kind="bytes", tokens=letters[::-1] + tokens[256:])
    case("own-kind-bytes-with-few-tokens", "are not those of", tg__tokenizer__kind="bytes", tokens=["a", "b"])
    case("own-kind-char-of-two-characters", "are not those of", tg__tokenizer__kind="char", tokens=["a", "bc"])
    case("own-kind-char-of-six-characters", "are not those of", tg__tokenizer__kind="char", tokens=["a", "bcdefg"])
    case("own-kind-char-not-sorted", "are not those of", tg__tokenizer__kind="char", tokens=["b", "a"])
    case("own-kind-char-twice", "are not those of", tg__tokenizer__kind="char", tokens=["a", "a"])
    case("own-kind-char-without-tokens", "the text is empty", tg__tokenizer__kind="char", tokens=texts())
    case("own-kind-bytes-and-more", "are not those of", tg__tokenizer__kind="bytes", tokens=tokens)
    case("good-own-kind-bytes", "ok", tg__tokenizer__kind="bytes", tokens=letters + ["[PAD256]", "[PAD257]"])
    case("good-own-kind-char", "ok", tg__tokenizer__kind="char", tokens=["a", "b", "[PAD2]"])


# ---- PyTorch


def torch(data=None, **change):
    """A state dict of one tensor, pickled by hand."""
    return torch_of(tensor_pickle(**change), data)


def torch_of(code, data=None, members=()):
    return archive([(b"m/data.pkl", code), (b"m/version", b"3\n"),
                    (b"m/data/0", struct.pack("<4f", 1, 2, 3, 4) if data is None else data), *members])


def unicode(t):
    return b"X" + struct.pack("<I", len(t)) + t.encode()


def integer(n):
    return b"\x8a\x08" + n.to_bytes(8, "little", signed=True)


def tensor_pickle(key="0", count=4, shape=(4,), stride=(1,), offset=0, storage="FloatStorage", rebuild=b"ctorch._utils\n_rebuild_tensor_v2\n"):
    return (b"\x80\2}(" + unicode("a") + rebuild + b"((" + unicode("storage") + b"ctorch\n" + storage.encode() + b"\n" + unicode(key)
            + unicode("cpu") + integer(count) + b"tQ" + integer(offset) + b"(" + b"".join(map(integer, shape)) + b"t("
            + b"".join(map(integer, stride)) + b"t\x89ccollections\nOrderedDict\n)RtRu.")


def calls(module, name, argument="echo called >&2"):
    return b"\x80\2c" + f"{module}\n{name}\n".encode() + b"(" + unicode(argument) + b"tR."


def make_torch():
    def case(name, words, data):
        bad(f"pickle/{name}.pt", "model", words, data)

    def code(name, words, pickled):
        case(name, words, torch_of(pickled))

    def one(name, words, **change):
        case(name, words, torch(**change))

    one("no-model", "a is not a tensor")  # the pickle is sound: what it lacks is a model
    for module, name in (("os", "system"), ("posix", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("torch.hub", "load"),
                         ("runpy", "_run_code"), ("torch", "load"), ("collections", "namedtuple")):
        code(f"calls-{module}.{name}", f"{name}: refused", calls(module, name))
    code("stack-global-os.system", "system: refused", b"\x80\4\x8c\2os\x8c\6system\x93(" + unicode("id") + b"tR.")
    code("inst-os.system", "the opcode INST: refused", b"\x80\2(" + unicode("id") + b"ios\nsystem\n.")
    code("extension-registry", "the opcode EXT1: refused", b"\x80\2\x82\1.")
    code("build-on-a-class", "sets attributes of a function: refused", b"\x80\2ccollections\nOrderedDict\n" + b"}b.")
    code("empty", "not a pickle", b"")
    code("only-stop", "ends with 0 values", b"\x80\2.")
    code("without-stop", "truncated: expected 1 more", b"\x80\2}")
    code("protocol-99", "not a pickle", b"\x80\x63}.")
    code("unknown-opcode", "0xFF is no opcode", b"\x80\2\xff.")
    code("text-length-2-31", "truncated: expected 2147483647", b"\x80\2X\xff\xff\xff\x7fa.")
    code("text-length-2-63", "truncated: expected 9223372036854775808", b"\x80\4\x8d" + struct.pack("<Q", 1 << 63) + b"a.")
    code("bytes-length-2-64-1", "BINBYTES8: refused", b"\x80\4\x8e" + struct.pack("<Q", U64) + b"a.")
    code("long-of-2-31-bytes", "LONG4: refused", b"\x80\2\x8b\xff\xff\xff\x7f.")
    code("long-of-negative-bytes", "LONG4: refused", b"\x80\2\x8b\xff\xff\xff\xff.")
    code("frame-2-63", "a frame of 9223372036854775808", b"\x80\4\x95" + struct.pack("<Q", 1 << 63) + b"}.")
    code("memo-missing", "nothing is memo 7", b"\x80\2h\7.")
    code("memo-2-32-1", "memo 4294967295", b"\x80\2}r\xff\xff\xff\xff.")
    lists = b"]q\0000" + b"".join(b"](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes([i + 1]) + b"0" for i in range(30))
    code("memo-bomb", "values are repeated so often", b"\x80\2" + lists + b"h\x1e.")  # 10^30 lists, each written once
    code("dup-bomb", "ends with 200001 values", b"\x80\2]" + b"2" * 200000 + b".")
    code("nested-100000-deep", "more than 32 levels", b"\x80\2" + b"]" * 100000 + b"a" * 99999 + b".")
    code("tuples-100000-deep", "more than 32 levels", b"\x80\2)" + b"\x85" * 100000 + b".")
    code("contains-itself", "contains itself", b"\x80\2]q\0h\0a.")
    code("pops-an-empty-stack", "needs 1 values on the stack", b"\x80\2" + b"0" * 5 + b".")
    code("mark-missing", "needs a mark", b"\x80\2}u.")
    code("odd-number-of-items", "a key without a value", b"\x80\2}(" + unicode("a") + b"u.")
    code("key-is-a-list", "pickle", b"\x80\2}(]K\1u.")
    code("key-twice", "twice", b"\x80\2}(" + (unicode("a") + b"K\1") * 2 + b"u.")
    code("data-after-stop", "2 bytes follow the end", b"\x80\2}.}.")
    one("storage-missing", "its storage data/9 is missing", key="9")
    one("storage-outside", "is missing", key="../data.pkl")
    one("storage-size", "bytes of its storage", count=5)
    one("storage-size-2-62", "bytes of its storage", count=1 << 62)
    one("storage-size-2-62-4", "bytes of its storage: got 16, expected", count=(1 << 62) + 4)
    one("storage-size-2-62-4-beyond", "bytes of its storage: got 16, expected", count=(1 << 62) + 4, offset=1 << 61)
    one("storage-size-2-61-2", "bytes of its storage: got 16, expected", count=(1 << 61) + 2, storage="DoubleStorage")
    one("storage-size-negative", "elements is -1", count=-1)
    one("storage-of-unknown-type", "torch.QUInt8Storage: refused", storage="QUInt8Storage")
    one("offset-beyond-the-end", "it ends after its storage", offset=1)
    one("offset-2-63", "it ends after its storage", offset=(1 << 63) - 1)
    one("offset-negative", "a tensor's offset is -1", offset=-1)
    one("shape-negative", "a tensor's shape is -4", shape=(-4,))
    one("shape-product-2-64", "not adjacent", shape=(1 << 32, 1 << 32), stride=(0, 0))
    one("shape-and-stride-differ", "2 dimensions and 1 strides", shape=(2, 2), stride=(1,))
    one("shape-2-62-4", "shape is too large", shape=((1 << 62) + 4,))  # 2^64 + 16 bytes
    one("shape-9-dimensions", "expected 0 to 8 values", shape=(1,) * 8 + (4,), stride=(1,) * 9)
    one("stride-negative", "a tensor's strides is -1", stride=(-1,))
    one("stride-2-62", "not adjacent", stride=(1 << 62,))
    one("stride-0", "not adjacent", stride=(0,))
    one("rebuilt-by-another-function", "refused", rebuild=b"ctorch._utils\n_rebuild_evil\n")
    case("zip-crc", "the CRC-32", archive([(b"m/data.pkl", tensor_pickle(), {"crc": 1}), (b"m/version", b"3\n")]))
    case("zip-truncated", "no zip directory", torch()[:-10])
    case("zip-member-twice", "two members of this name", torch_of(tensor_pickle(), members=[(b"m/data/0", b"1234567890123456")]))
    case("zip-members-overlap", "its header has another name", torch_of(tensor_pickle(), members=[(b"m/data/1", b"", {"at": 0})]))
    case("zip-two-pickles", "several members", torch_of(tensor_pickle(), members=[(b"n/data.pkl", b"}.")]))
    case("zip-compressed", "it is compressed", archive([(b"m/data.pkl", tensor_pickle(), {"method": 8, "body": deflated(tensor_pickle()), "size": 1, "packed": 1})]))
    case("zip-offset-beyond-the-end", "beyond the directory", archive([(b"m/data.pkl", tensor_pickle()), (b"m/version", b"3\n", {"at": 0x7FFFFFFF})]))
    case("zip-directory-elsewhere", "the zip directory has", archive([(b"m/data.pkl", tensor_pickle()), (b"m/version", b"3\n")], offset=4))
    case("big-endian", "not little-endian", torch_of(tensor_pickle(), members=[(b"m/byteorder", b"big")]))
    case("torchscript", "TorchScript", torch_of(tensor_pickle(), members=[(b"m/constants.pkl", b"}.")]))
    old = bytes.fromhex("80028a0a6cfc9c46f9206aa85019") + b"."
    case("old-format", "PyTorch's old format", old)
    bad("pickle/old-format-in-a-directory/", "model", "PyTorch's old format", config_JSON=json.dumps(CONFIG), pytorch_model__bin=old)
    case("bare-pickle", "this is a Python pickle", pickle.dumps({"a": 1}, 2))


# ---- llm.c


def words(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers).ljust(1024, b"\0")


def make_llmc():
    good = [20240326, 3, 2, 8, 1, 2, 4, 128]
    data = b"\0" * (4 * 120 * 4) + b"".join(DATA.values())

    def case(name, what, at=1, n=3, header=None, data=data):
        numbers = good[:at] + [n] + good[at + 1:]
        bad(f"llmc/{name}.bin", "model", what, (header or words(*numbers)) + data)

    case("good", "ok")
    case("header-truncated", "truncated", header=words(*good)[:1000], data=b"")
    case("header-not-zero", "number 255 of the header is 1", header=words(*good)[:-4] + b"\1\0\0\0")
    case("version-9", "version 9, expected 3", 1, 9)
    case("layers-0", "n_layer is 0", 4, 0)
    case("layers-2-31-1", "n_layer is 2147483647", 4, 0x7FFFFFFF)
    case("layers-2-32-1", "n_layer is 4294967295", 4, U32)
    case("heads-3", "3 heads do not divide", 5, 3)
    case("width-2-32-1", "n_embd is 4294967295", 6, U32)
    case("width-2-24", "truncated", 6, 1 << 24)
    case("width-2-24-1", "n_embd is 16777217", 6, (1 << 24) + 1)
    case("context-2-24-1", "n_ctx is 16777217", 2, (1 << 24) + 1)
    case("vocabulary-2-31", "vocab_size is 2147483648", 3, 1 << 31)
    case("rows-8", "expected 128", 7, 8)
    case("context-0", "n_ctx is 0", 2, 0)
    case("data-missing", "truncated", data=data[:-1])
    case("data-after-the-last", "its header says", data=data + b"\0")
    ids = struct.pack("<3H", 1, 2, 3)
    for name, what, data in (
            ("good-tokens", "ok", words(20240520, 1, 3) + ids),
            ("tokens-header-truncated", "truncated", words(20240520, 1, 3)[:1000]),
            ("tokens-version-7", "version 7", words(20240520, 7, 3) + ids),
            ("tokens-one-more", "truncated", words(20240520, 1, 4) + ids),
            ("tokens-2-32-1", "truncated", words(20240520, 1, U32) + ids),
            ("tokens-after-the-last", "bytes follow the last id", words(20240520, 1, 2) + ids),
            ("tokens-half-an-id", "truncated", words(20240520, 1, 3) + ids[:-1])):
        bad(f"llmc/{name}.bin", "tokens", what, data)
    bytes_ = b"".join(bytes([1, i]) for i in range(256)) + b"\x03end"
    for name, what, data in (
            ("good-vocabulary", "ok", words(20240328, 2, 257, 256) + bytes_),
            ("vocabulary-version-1", "version 1", words(20240328, 1, 257, 256) + bytes_),
            ("vocabulary-2-32-1-tokens", "truncated: token 257", words(20240328, 2, U32, 256) + bytes_),
            ("vocabulary-0-tokens", "the end of a text is id", words(20240328, 2, 0, 0)),
            ("vocabulary-end-is-no-id", "the end of a text is id 257 of 257", words(20240328, 2, 257, 257) + bytes_),
            ("vocabulary-token-truncated", "truncated: token 256", words(20240328, 2, 257, 256) + bytes_[:-1]),
            ("vocabulary-bytes-after-the-last", "bytes follow the last", words(20240328, 2, 257, 256) + bytes_ + b"x"),
            ("vocabulary-token-twice", "are both", words(20240328, 2, 258, 256) + bytes_ + b"\1a"),
            ("vocabulary-without-byte-0", "byte 0x00 has no token", words(20240328, 2, 256, 255) + bytes_[2:])):
        bad(f"llmc/{name}.bin", "tokenizer", what, data)


# ---- bare ids, and maps of tensors' names


def make_ids():
    ids = struct.pack("<3H", 1, 2, 299)
    for name, reader, what, data in (
            ("good", "ids", "ok", ids),
            ("good-300", "300-ids", "ok", ids),
            ("half-an-id", "ids", "1 bytes follow the last id", ids[:-1]),
            ("only-one-byte", "ids", "1 bytes follow the last id", b"a"),
            ("half-an-id-after-64-ki", "ids", "1 bytes follow the last id", bytes(1 << 17) + b"a"),
            ("id-300-of-300", "300-ids", "id 300 at position 3: the vocabulary has 300 ids", ids + struct.pack("<H", 300)),
            ("id-65535-after-64-ki", "300-ids", "id 65535 at position 65536", bytes(1 << 17) + b"\xff\xff")):
        bad(f"uint16/{name}.bin", reader, what, data)


def make_maps():
    names = [f"{name} {name}\n" for name in SHAPES]
    for name, what, lines in (
            ("good", "ok", names),
            ("good-with-comments", "ok", ["# comment\n", "\n", *names, "unused -  # so"]),
            ("one-name", "line 1: expected a tensor's name, a parameter's", ["wte.weight\n"]),
            ("third-word", "line 2: expected a tensor's name, a parameter's", ["\n", "wte.weight wte.weight reversed\n"]),
            ("four-words", "line 1: expected a tensor's name, a parameter's", ["a wte.weight transposed b\n"]),
            ("no-parameter", 'line 2: "wte.wait" is not a parameter', ["# a\n", "wte.weight wte.wait\n"]),
            ("no-parameter-escape", 'line 1: "\\x1B[31m" is not a parameter', ["wte.weight \x1b[31m\n"]),
            ("no-parameter-70000-bytes", "is not a parameter", ["wte.weight " + "w" * 70000]),
            ("layer-on-one-side", "only one has N for the layer", ["h.N.ln_1.weight wte.weight\n"]),
            ("layer-on-the-other-side", "only one has N for the layer", ["wte.weight h.N.ln_1.weight\n"]),
            ("nul", "a text without NUL was expected", ["wte.weight\0 wte.weight\n"]),
            ("4097-names", "line 4097: more than 4096 names", ["a -\n"] * 4097),
            ("3-mb", "bytes, expected at most", ["# " + "a" * (3 << 20)])):
        bad(f"map/{name}.txt", "map", what, "".join(lines))


# ---- vocabularies


def byte_characters():
    """GPT-2's characters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def make_vocabularies():
    letters = byte_characters()
    vocab = {c: i for i, c in enumerate(letters)}
    good = {"version": "1.0", "added_tokens": [{"id": 257, "content": "<|end|>", "special": True}], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}, "post_processor": None,
            "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {**vocab, "ab": 256}, "merges": ["a b"]}}

    def case(name, words, text=None, model=None, **change):
        data = {**good, **change}
        data["model"] = {**good["model"], **(model or {})}
        bad(f"tokenizer.json/{name}.json", "tokenizer", words, text if text is not None else json.dumps(data))

    case("good", "ok")
    case("truncated", "the text ends", json.dumps(good)[:-1])
    case("text-after-the-end", "expected the end of the text", json.dumps(good) + "x")
    case("not-utf-8", "UTF-8", json.dumps(good).encode().replace(b"<|end|>", b"<|\xff|>"))
    case("nested-100-deep", "nested", json.dumps(good)[:-1] + ', "x": ' + "[" * 100)
    case("nested-1000000-deep", "nested", json.dumps(good)[:-1] + ', "x": ' + "[" * 1000000)
    case("model-twice", "twice", json.dumps(good)[:-1] + ', "model": {}}')
    case("model-unigram", "not supported", model={"type": "Unigram"})
    case("model-dropout", "not supported", model={"dropout": 0.5})
    case("id-negative", "expected an integer", model={"vocab": {**vocab, "ab": -1}})
    case("id-fraction", "expected an integer", model={"vocab": {**vocab, "ab": 256.5}})
    case("id-2-64", "expected an integer", model={"vocab": {**vocab, "ab": 1 << 64}})
    case("id-2-31", "expected one below", model={"vocab": {**vocab, "ab": 1 << 31}})
    case("id-twice", "is given to", model={"vocab": {**vocab, "ab": 97}})
    case("token-twice", "ab", json.dumps(good).replace('"ab": 256', '"ab": 256, "ab": 258'))
    case("token-not-byte-level", "is not a byte-level token", model={"vocab": {**vocab, "ab": 256, "\u4f60": 258}})
    case("token-of-70000-bytes", "expected", model={"vocab": {**vocab, "ab": 256, "a" * 70000: 258}})
    case("merge-of-one", "expected two halves", model={"merges": ["ab"]})
    case("merge-of-three", "expected two halves", model={"merges": ["a b c"]})
    case("merge-list-of-three", "expected two halves", model={"merges": [["a", "b", "c"]]})
    case("merge-of-unknown", "is not in the vocabulary", model={"merges": ["a zz"]})
    case("merge-makes-unknown", "is not in the vocabulary", model={"merges": ["a c"]})
    case("merge-a-number", "expected", model={"merges": [7]})
    case("merges-missing", "has no \"merges\"", json.dumps(good).replace('"merges"', '"merge"'))
    case("added-id-of-another", "added token", added_tokens=[{"id": 300, "content": "ab", "special": True}])
    case("added-without-id", "an added token lacks", added_tokens=[{"content": "x"}])
    case("added-lstrip", "is not supported", added_tokens=[{"id": 257, "content": "x", "lstrip": True}])
    case("normalizer-unknown", "is not supported", normalizer={"type": "Lowercase"})
    case("pre-tokenizer-null", "pre_tokenizer null", pre_tokenizer=None)
    case("pre-tokenizer-unknown", "is not supported", pre_tokenizer={"type": "Metaspace"})
    case("pattern-unknown", "not supported", pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    case("decoder-unknown", "is not supported", decoder={"type": "WordPiece"})

    pairs = "#version: 0.2\na b\nab c\n"
    ids = json.dumps({**vocab, "ab": 256, "abc": 257})

    def gpt2(name, words, vocab=ids, merges=pairs):
        bad(f"gpt2-files/{name}/", "tokenizer", words, vocab_JSON=vocab, merges__txt=merges)

    gpt2("good", "ok")
    gpt2("vocab-empty", "the file is empty", vocab="")
    gpt2("vocab-truncated", "vocab.json", vocab=ids[:-1])
    gpt2("vocab-a-list", "vocab.json", vocab="[1]")
    gpt2("vocab-id-twice", "is given to", vocab=json.dumps({**vocab, "ab": 256, "abc": 256}))
    gpt2("vocab-id-2-63", "vocab.json", vocab=json.dumps({**vocab, "ab": 1 << 63}))
    gpt2("vocab-id-text", "vocab.json", vocab=json.dumps({**vocab, "ab": "256"}))
    gpt2("merges-of-three", "line 2: expected two halves", merges="#version: 0.2\na b c\n")
    gpt2("merges-without-space", "line 2: expected two halves", merges="#version: 0.2\nab\n")
    gpt2("merges-of-unknown", "is not in the vocabulary", merges="x y\n")
    gpt2("merges-not-byte-level", "is not a byte-level token", merges="a \u4f60\n")
    bad("gpt2-files/vocab-alone.json", "tokenizer", "needs merges.txt", ids)

    lines = [base64.b64encode(bytes([i])).decode() + f" {i}" for i in range(256)] + ["YWI= 256"]

    def tiktoken(name, words, lines):
        bad(f"tiktoken/{name}.tiktoken", "pattern", words, "\n".join(lines) + "\n")

    tiktoken("good", "ok", lines)
    tiktoken("not-base64", "line 258: \"Y!==\" is not base64", lines + ["Y!== 257"])
    tiktoken("base64-cut", "is not base64", lines + ["YWJ 257"])
    tiktoken("rank-missing", "line 258", lines + ["YWJj"])
    tiktoken("rank-negative", "line 258", lines + ["YWJj -1"])
    tiktoken("rank-2-64", "line 258", lines + [f"YWJj {1 << 64}"])
    tiktoken("rank-2-31", "expected one below", lines + [f"YWJj {1 << 31}"])
    tiktoken("rank-twice", "is given to", lines + ["YWJj 256"])
    tiktoken("rank-with-text-after-it", "line 258", lines + ["YWJj 257 x"])
    tiktoken("token-twice", "are both", lines + ["YWI= 257"])
    tiktoken("token-empty", "line 258", lines + [" 257"])
    tiktoken("token-of-70000-bytes", "line 258", lines + [base64.b64encode(b"a" * 70000).decode() + " 257"])
    tiktoken("without-byte-0", "byte 0x00 has no token", lines[1:])
    tiktoken("empty-line", "ok", lines[:9] + [""] + lines[9:])

    def meta(name, words, value=None, data=None):
        bad(f"meta.pkl/{name}.pkl", "tokenizer", words, pickle.dumps(value, 2) if data is None else data)

    meta("good", "ok", {"itos": dict(enumerate("\netx")), "stoi": {}})
    meta("no-itos", "without a dict \"itos\"", {"stoi": {}})
    meta("not-a-dict", "itos", ["itos"])
    meta("empty-itos", "meta.pkl", {"itos": {}})
    meta("ids-with-a-gap", "entry 1 is not id 1", {"itos": {0: "a", 2: "b"}})
    meta("two-characters", "not one character", {"itos": {0: "ab"}})
    meta("surrogate", "meta.pkl", data=b"\x80\2}(" + unicode("itos") + b"}(K\0X\3\0\0\0\xed\xa0\x80uu.")
    meta("order", "itos", {"itos": {0: "b", 1: "a"}})
    meta("calls", "refused", data=calls("os", "system"))


# ---- archives of tg's kinds, with right checksums

def scalar(value):
    if isinstance(value, str):
        return npy("()", f"'|S{len(value)}'", value.encode())
    return npy("()", "'<f8'", struct.pack("<d", value)) if isinstance(value, float) else npy("()", "'<i8'", struct.pack("<q", value))


def floats(*shape, value=0.0):
    return npy(str(tuple(shape)), data=struct.pack(f"<{product(shape)}f", *[value] * product(shape)))


def named(arrays):
    return archive([(f"{name}.npy".encode(), data) for name, data in arrays.items() if data])


def make_archives():
    dump = {"kind": scalar("attention"), "version": scalar(1), "dump/layout": scalar("bthd"), "dump/n_layer": scalar(1),
            "dump/n_head": scalar(2), "dump/n_embd": scalar(4), "dump/mask": scalar("min"),
            "dump/ids": npy("(2,)", "'<i8'", struct.pack("<2q", 0, 1)), "dump/text": npy("(2,)", "'|S1'", b"ab"),
            "h.0.q": floats(1, 2, 2, 2), "h.0.k": floats(1, 2, 2, 2), "h.0.v": floats(1, 2, 2, 2),
            "h.0.scores": floats(1, 2, 2, 2), "h.0.probs": floats(1, 2, 2, 2, value=.5), "h.0.att": floats(1, 2, 2, 2)}

    def case(name, words, reader="dump", **change):
        keys = {key: key.replace("dump_", "dump/").replace("__", ".") for key in change}
        bad(f"dump/{name}.npz", reader, words, named({**dump, **{keys[key]: data for key, data in change.items()}}))

    case("good", "ok")
    case("version-2", "version", version=scalar(2))
    case("kind-unknown", "kind", kind=scalar("atention"))
    case("kind-a-number", "kind", kind=scalar(1))
    case("layout-unknown", "dump/layout", dump_layout=scalar("btdh"))
    case("layers-0", "dump/n_layer", dump_n_layer=scalar(0))
    case("layers-negative", "dump/n_layer", dump_n_layer=scalar(-1))
    case("layers-2-63-1", "dump/n_layer is 9223372036854775807, expected at most", dump_n_layer=scalar((1 << 63) - 1))
    case("layer-beyond", "below dump/n_layer", h__1__q=floats(1, 2, 2, 2))
    case("layer-2-64", "h.18446744073709551617.q: the layer must be below", h__18446744073709551617__q=floats(1, 2, 2, 2))
    case("heads-0", "dump/n_head", dump_n_head=scalar(0))
    case("heads-3", "does not divide", dump_n_head=scalar(3))
    case("heads-2-63-1", "dump/n_head", dump_n_head=scalar((1 << 63) - 1))
    case("width-2-63-1", "dump/n_embd is 9223372036854775807, expected at most", dump_n_embd=scalar((1 << 63) - 1))
    case("width-2-60", "dump/n_embd is 1152921504606846976", dump_n_embd=scalar(1 << 60))
    case("width-a-float", "dump/n_embd", dump_n_embd=scalar(4.0))
    case("mask-missing", "dump/mask is missing", dump_mask=None)
    case("shape-of-scores", "h.0.scores has shape", h__0__scores=floats(1, 2, 2, 3))
    case("shape-of-k", "h.0.k has shape", h__0__k=floats(1, 3, 2, 2))
    case("two-dimensions", "expected 3 or 4 dimensions", h__0__q=floats(2, 2))
    case("shape-0", "none of size 0", h__0__q=npy("(1, 0, 2, 2)", data=b""))
    case("doubles", "expected 'f4'", h__0__q=npy("(1, 2, 2, 2)", "'<f8'", bytes(64)))
    case("q-nan", "h.0.q[0] is nan", h__0__q=floats(1, 2, 2, 2, value=float("nan")))
    for name in ("q", "k", "v", "scores", "probs", "att"):
        for value in ("nan", "inf", "-inf"):
            case(f"stage-{name}-{value.replace('-', 'minus-')}", f"h.0.{name}[0] is {value}", "arrays",
                 **{f"h__0__{name}": floats(1, 2, 2, 2, value=float(value))})
    for name in ("x", "qkv", "out"):
        shape = (1, 2, 12) if name == "qkv" else (1, 2, 4)
        case(f"good-stage-{name}", "ok", "arrays", **{f"h__0__{name}": floats(*shape)})
        case(f"stage-{name}-nan", f"h.0.{name}[0] is nan", "arrays", **{f"h__0__{name}": floats(*shape, value=float("nan"))})
        case(f"stage-{name}-infinite", f"h.0.{name}[0] is inf", "arrays", **{f"h__0__{name}": floats(*shape, value=float("inf"))})
        case(f"stage-{name}-narrower", f"h.0.{name} has shape (1, 2, 3)", **{f"h__0__{name}": floats(1, 2, 3)})
        case(f"stage-{name}-doubles", f"h.0.{name}: elements are 'f8'", **{f"h__0__{name}": npy(str(shape), "'<f8'", bytes(8 * product(shape)))})
    case("score-infinite", "h.0.scores[0] is inf", "arrays", h__0__scores=floats(1, 2, 2, 2, value=float("inf")))
    case("probability-2", "a probability is between 0 and 1", "arrays", h__0__probs=floats(1, 2, 2, 2, value=2.0))
    case("probability-negative", "a probability is between 0 and 1", "arrays", h__0__probs=floats(1, 2, 2, 2, value=-1.0))
    case("ids-too-many", "dump/text", dump_ids=npy("(3,)", "'<i8'", bytes(24)))
    case("ids-in-2-dimensions", "dump/ids: expected [T]", dump_ids=npy("(2, 1)", "'<i8'", bytes(16)))
    case("ids-none", "dump/ids: expected [T]", dump_ids=npy("(0,)", "'<i8'", b""))
    case("ids-32-bits", "dump/ids: expected [T]", dump_ids=npy("(2,)", "'<i4'", bytes(8)))
    case("text-in-2-dimensions", "dump/text: expected [T]", dump_text=npy("(2, 1)", "'|S1'", b"ab"))
    case("five-dimensions", "has 5 dimensions and 8 elements, expected 3 or 4", h__0__q=floats(1, 2, 2, 2, 1))
    bad("dump/width-missing.npz", "dump", "dump/n_embd is missing",
        named({k: dump[k] for k in ("kind", "version", "dump/layout", "dump/n_layer", "dump/n_head", "dump/mask")}))
    case("ids-floats", "dump/ids", dump_ids=npy("(2,)", "'<f8'", bytes(16)))
    case("text-numbers", "dump/text", dump_text=npy("(2,)", "'<i8'", bytes(16)))
    bad("dump/settings-after-arrays.npz", "dump", "comes before dump/layout",
        named({**{k: dump[k] for k in ("kind", "version", "dump/layout", "h.0.q")}, **dump}))
    tokens = {"kind": scalar("tokens"), "version": scalar(1), "tokenizer/kind": scalar("bytes"), "tokenizer/vocab_size": scalar(256),
              "tokens/00000000": npy("(3,)", "'|u1'", b"abc")}

    def stream(name, words, order=None, **change):
        data = {**tokens, **{k.replace("__", "/"): v for k, v in change.items()}}
        bad(f"tokens/{name}.npz", "tokens", words, named({k: data[k] for k in order} if order else data))

    stream("good", "ok")
    stream("version-0", "version", version=scalar(0))
    stream("version-2-63-1", "version", version=scalar((1 << 63) - 1))
    stream("tokenizer-unknown", "tokenizer/kind", tokenizer__kind=scalar("words"))
    stream("tokenizer-missing", "tokenizer", order=["kind", "version", "tokens/00000000"])
    stream("vocabulary-255", "255", tokenizer__vocab_size=scalar(255))
    stream("vocabulary-2-32", "4294967296", tokenizer__vocab_size=scalar(1 << 32))
    stream("ids-beyond-the-vocabulary", "tokens/00000000[1] is 256", tokens__00000000=npy("(2,)", "'<u2'", struct.pack("<2H", 1, 256)))
    stream("ids-64-bits", "has type u8", tokens__00000000=npy("(1,)", "'<u8'", bytes(8)))
    for name, kind, size, words in (
            ("bool", "|b1", 1, "has type b1"), ("floats", "<f4", 4, "has type f4"), ("doubles", "<f8", 8, "has type f8"),
            ("halves", "<f2", 2, "has type f2"), ("text", "|S1", 1, "has type S1"), ("signed-16", "<i2", 2, "has type i2"),
            ("signed-64", "<i8", 8, "has type i8"), ("unicode", "<U1", 4, "element type '<U1' is not"),
            ("times", "<M8[s]", 8, "element type '<M8[s]' is not"), ("u3", "<u3", 3, "element type '<u3' is not"),
            ("big-endian", ">u2", 2, "is big-endian"), ("objects", "|O", 8, "Python objects")):
        stream("ids-" + name, words, tokens__00000000=npy("(2,)", f"'{kind}'", bytes(2 * size)))
    stream("good-ids-wider-than-needed", "ok", tokens__00000000=npy("(1,)", "'<u4'", bytes(4)))
    stream("ids-nan", "has type f4", tokens__00000000=npy("(1,)", "'<f4'", struct.pack("<f", float("nan"))))
    stream("id-255-of-a-vocabulary-of-5", "tokens/00000000[1] is 255: the vocabulary has 5 ids", tokenizer__kind=scalar("ids"), tokenizer__vocab_size=scalar(5), tokens__00000000=npy("(3,)", "'|u1'", b"\0\xff\4"))
    stream("id-2-16-1", "tokens/00000000[1] is 65535", tokenizer__kind=scalar("ids"), tokenizer__vocab_size=scalar(65535), tokens__00000000=npy("(2,)", "'<u2'", b"\1\0\xff\xff"))
    stream("id-2-32-1", "tokens/00000000[1] is 4294967295", tokenizer__kind=scalar("ids"), tokenizer__vocab_size=scalar(70000), tokens__00000000=npy("(2,)", "'<u4'", b"\1\0\0\0" + b"\xff" * 4))
    stream("ids-a-scalar", "has 0 dimensions, expected 1", tokens__00000000=npy("()", "'|u1'", b"a"))
    stream("good-ids-none", "ok", tokens__00000000=npy("(0,)", "'|u1'", b""))
    stream("ids-more-than-2-20", "has 1048577 ids, expected at most 1048576", tokens__00000000=npy("(1048577,)", "'|u1'", bytes(1048577)))
    stream("chunk-name-without-zeros", "tokens/0 is out of place", order=["kind", "version", "tokenizer/kind", "tokenizer/vocab_size", "tokens/0"], tokens__0=npy("(3,)", "'|u1'", b"abc"))
    stream("vocabulary-nan", "vocab_size\": expected one integer, got <f8", tokenizer__vocab_size=scalar(float("nan")))
    stream("vocabulary-negative", "-1 is negative", tokenizer__vocab_size=scalar(-1))
    stream("vocabulary-0", "tokenizer/vocab_size is 0, expected 1", tokenizer__kind=scalar("ids"), tokenizer__vocab_size=scalar(0))
    stream("vocabulary-of-two", "expected one integer, got <i8 of shape (2,)", tokenizer__vocab_size=npy("(2,)", "'<i8'", struct.pack("<2q", 256, 256)))
    stream("good-vocabulary-32-bits", "ok", tokenizer__vocab_size=npy("()", "'<i4'", struct.pack("<i", 256)))
    stream("version-a-float", "expected one integer, got <f8", version=scalar(1.0))
    stream("version-nan", "expected one integer, got <f8", version=scalar(float("nan")))
    stream("kind-of-5000-bytes", "text of 5000 bytes, expected at most 31", kind=scalar("t" * 5000))
    stream("ids-signed", "has type i1", tokens__00000000=npy("(1,)", "'|i1'", b"\xff"))
    stream("ids-in-2-dimensions", "2 dimensions", tokens__00000000=npy("(1, 3)", "'|u1'", b"abc"))
    stream("chunk-2-first", "out of place", tokens__00000002=npy("(3,)", "'|u1'", b"abc"))
    stream("tokenizer-after-tokens", "tokenizer/vocab_size is missing", order=["kind", "version", "tokenizer/kind", "tokens/00000000", "tokenizer/vocab_size"])
    stream("another-array", "does not belong", x=scalar(1))
    stream("goes-on-without-more", "the next archive of this stream is missing", goes_on=scalar(1))
    stream("goes-on-0", "goes_on is 0, expected 1", goes_on=scalar(0))
    stream("goes-on-text", "goes_on\": expected one integer", goes_on=scalar("yes"))


# ---- runs


def make_runs():
    """A run that the caller has made, DIRECTORY/run.npz: of two steps, with a probe, the losses and moments."""
    if not os.path.exists(f"{ROOT}/run.npz"):
        return
    with zipfile.ZipFile(f"{ROOT}/run.npz") as z:
        good = {name[:-4]: z.read(name) for name in z.namelist()}

    def case(name, words, array=None, data=None, **more):
        arrays = {**good, **({array: data} if array else {}), **{k.replace("__", "/"): v for k, v in more.items()}}
        bad(f"run/{name}.npz", "run", words, named(arrays))

    def changed(name, form, value, index=0):
        """The array with another element."""
        data = bytearray(good[name])
        at = len(data) + struct.calcsize(form) * index if index < 0 else 10 + struct.unpack_from("<H", data, 8)[0] + struct.calcsize(form) * index
        struct.pack_into(form, data, at, value)
        return bytes(data)

    case("good", "ok")
    nan, inf = float("nan"), float("inf")
    for setting, low, high in (("lr", -1.0, 1000.5), ("min_lr", -1.0, 1000.5), ("beta1", -0.1, 1.0), ("beta2", -0.1, 1.0),
                               ("weight_decay", -1.0, 1000.5), ("clip", -1.0, 1e10), ("dropout", -0.5, 1.0),
                               ("val_fraction", -0.5, 0.95)):
        for name, value in (("nan", nan), ("infinite", inf), ("minus-infinite", -inf), ("below", low), ("above", high)):
            case(f"{setting}-{name}", f"train/{setting}", f"train/{setting}", scalar(value))
        case(f"{setting}-an-integer", f"train/{setting}", f"train/{setting}", scalar(1))
    for setting in ("steps", "batch", "context", "accumulate", "warmup", "step"):
        for name, value in (("negative", -1), ("2-63-1", (1 << 63) - 1), ("a-float", 1.0), ("text", "one")):
            case(f"{setting}-{name}", f"train/{setting}", f"train/{setting}", scalar(value))
    for setting in ("steps", "batch", "accumulate"):
        case(f"{setting}-0", f"train/{setting}", f"train/{setting}", scalar(0))
    for name, value in (("0", 0), ("negative", -1), ("above", 1000001), ("a-float", 2.0)):
        case(f"val-blocks-{name}", "train/val_blocks", "train/val_blocks", scalar(value))
    for setting in ("val_text_tokens", "val_text_crc", "best_step"):
        for name, value in (("negative", -1), ("a-float", 1.0), ("text", "one")):
            case(f"{setting}-{name}", f"train/{setting}", f"train/{setting}", scalar(value))
    case("best-step-beyond-the-run", "train/best_step is 3, after step 2", "train/best_step", scalar(3))
    for name, value in (("nan", nan), ("infinite", inf), ("negative", -1.0), ("an-integer", 1)):
        case(f"best-loss-{name}", "train/best_loss", "train/best_loss", scalar(value))
    case("context-5-of-4", "context 5 exceeds the model's 4", "train/context", scalar(5))
    case("precision-unknown", "train/precision", "train/precision", scalar("f8"))
    case("step-missing", "train/step", "train/step", None)
    case("step-0-with-moments", "end at train/step, 0", "train/step", scalar(0))
    case("setting-unknown", "train/x", "train/x", scalar(1))
    case("losses-nan", "train/history/loss[1] is nan", "train/history/loss", changed("train/history/loss", "<d", nan, 1))
    case("losses-infinite", "train/history/loss[0] is inf", "train/history/loss", changed("train/history/loss", "<d", inf))
    case("losses-in-another-order", "train/history/step", "train/history/step", changed("train/history/step", "<q", 9))
    case("losses-step-0", "train/history/step", "train/history/step", changed("train/history/step", "<q", 0))
    case("losses-step-negative", "train/history/step", "train/history/step", changed("train/history/step", "<q", -1))
    case("losses-step-beyond-the-run", "train/history/step", "train/history/step", changed("train/history/step", "<q", 3, 1))
    case("losses-fewer-than-steps", "expected as many", "train/history/loss", npy("(1,)", "'<f8'", bytes(8)))
    case("losses-float32", "train/history/loss has 2 elements of type f4", "train/history/loss", npy("(2,)", "'<f4'", bytes(8)))
    case("losses-without-steps", "expected as many", "train/history/step", None)
    for n in 1025, 1026:
        for array, kind in (("step", "'<i8'"), ("loss", "'<f8'")):
            case(f"losses-{n}-{array}", f"train/history/{array} has {n} elements", f"train/history/{array}", npy(f"({n},)", kind, bytes(8 * n)))
    case("losses-2000", "expected 1 to 1024", "train/history/loss", npy("(2000,)", "'<f8'", bytes(16000)))
    case("probe-beyond-the-vocabulary", "probe/tokens[0] is 300: the vocabulary has", "probe/tokens", changed("probe/tokens", "<i", 300))
    case("probe-negative", "probe/tokens[0] is -1", "probe/tokens", changed("probe/tokens", "<i", -1))
    case("probe-2-31-1", "probe/tokens[1] is 2147483647", "probe/tokens", changed("probe/tokens", "<i", (1 << 31) - 1, 1))
    case("probe-64-bits", "probe/tokens has 2 elements of type i8", "probe/tokens", npy("(2,)", "'<i8'", bytes(16)))
    case("probe-floats", "probe/tokens has 2 elements of type f4", "probe/tokens", npy("(2,)", "'<f4'", bytes(8)))
    case("probe-of-5000", "probe/tokens has 5000 elements of type i4, expected 1 to 32", "probe/tokens", npy("(5000,)", "'<i4'", bytes(20000)))
    case("good-probe-of-32", "ok", "probe/tokens", npy("(32,)", "'<i4'", bytes(128)))
    case("probe-of-33", "probe/tokens has 33 elements of type i4, expected 1 to 32", "probe/tokens", npy("(33,)", "'<i4'", bytes(132)))
    case("probe-in-2-dimensions", "expected 1 to 32 of type i4", "probe/tokens", npy("(2, 1)", "'<i4'", bytes(8)))
    case("probe-a-scalar", "expected 1 to 32 of type i4", "probe/tokens", npy("()", "'<i4'", bytes(4)))
    for value in (nan, inf, -inf):
        word = str(value).replace("-", "minus-")
        for array in ("wte.weight", "lm_head.weight", "opt/m/wte.weight", "opt/v/wte.weight"):
            if array in good:
                case(f"{array.replace('/', '-')}-{word}", f"{array}[1] is {value}", array, changed(array, "<f", value, 1))
    case("second-moment-negative", "opt/v/wte.weight[0] is -1: it must not be negative", "opt/v/wte.weight", changed("opt/v/wte.weight", "<f", -1))
    case("moment-missing", "the optimizer's state has", "opt/m/wte.weight", None)
    case("moment-of-another-shape", "opt/m/wte.weight has", "opt/m/wte.weight", floats(2))
    case("moment-doubles", "opt/m/wte.weight has", "opt/m/wte.weight", npy("(2,)", "'<f8'", bytes(16)))
    case("moment-of-no-tensor", "opt/m/x", "opt/m/x", floats(2))
    # the same run, of 3 steps, with a mean of the last two that is not complete
    good = {**good, "train/steps": scalar(3), "train/average": scalar(2),
            **{f"opt/a/{name[6:]}": good[name[6:]] for name in good if name.startswith("opt/m/")}}
    case("good-mean", "ok")
    for name, value in (("negative", -1), ("a-float", 1.0), ("text", "one")):
        case(f"mean-{name}", "train/average", "train/average", scalar(value))
    case("mean-of-4-steps", "a mean of the last 4 of 3 steps", "train/average", scalar(4))
    case("mean-of-none", "the mean of the last 0 of 3 steps has", "train/average", None)
    case("mean-missing", "the mean of the last 2 of 3 steps has", "opt/a/wte.weight", None)
    case("mean-of-another-shape", "opt/a/wte.weight has", "opt/a/wte.weight", floats(2))
    case("mean-doubles", "opt/a/wte.weight has", "opt/a/wte.weight", npy("(2,)", "'<f8'", bytes(16)))
    case("mean-of-no-tensor", "opt/a/x", "opt/a/x", floats(2))
    case("mean-nan", "opt/a/wte.weight[1] is nan", "opt/a/wte.weight", changed("opt/a/wte.weight", "<f", nan, 1))


# ---- logs of training


def make_logs():
    """A log is appended to (log), and shown (history)."""
    titles = "step\tloss\tval_loss\tlr\tgrad_norm\ttokens_per_s\ttime_s\n"
    line = "1\t5.547099\t\t1.980198e-05\t1.377810\t96467\t0.001\n"

    def case(name, words, data, reader="log"):
        bad(f"{reader}/{name}.tsv", reader, words, data)

    def end(name, words, last, reader="log"):
        case(name, words, titles + line + last, reader)

    case("good", "ok", titles + line)
    case("good-empty", "ok", "")
    case("good-titles-alone", "ok", titles)
    case("good-cut-within-the-titles", "ok", titles[:9])
    case("good-cut-before-the-end-of-a-line", "ok", titles + line[:-1])
    case("good-cut-in-a-line", "ok", titles + line + line[:7])
    case("archive", "this is a zip file", named({"kind": scalar("tokens")}))
    case("archive-empty", "this is a zip file without members", archive([]))
    case("array", "this is a single .npy array", npy())
    case("gguf", "this is a GGUF model", gguf())
    case("safetensors", "this is a safetensors file", safetensors(header()))
    case("pickle", "this is a Python pickle", pickle.dumps({}, 4))
    case("gzip", "this is gzip data", b"\x1f\x8b\x08\0" + bytes(20))
    case("program", "this is an ELF executable", b"\x7fELF" + bytes(60))
    case("zeros", "this is no text", bytes(1000))
    case("titles-in-utf-16", "this is no text", titles.encode("utf-16"))
    first = "its first line is not a log's"
    case("text", first, "To be, or not to be\n")
    case("text-without-newline", first, "To be")
    case("one-newline", first, "\n")
    case("utf-8-mark-before-the-titles", first, "\ufeff" + titles + line)
    case("line-before-the-titles", first, "\n" + titles + line)
    case("titles-missing", first, line)
    case("titles-of-other-columns", first, "step\tloss\tval_loss\n1\t5.5\t\n")
    case("titles-with-one-more", first, titles[:-1] + "\tx\n")
    case("titles-with-one-less", first, titles.replace("\ttime_s", ""))
    case("titles-in-another-order", first, titles.replace("step\tloss", "loss\tstep"))
    case("titles-with-commas", first, titles.replace("\t", ","))
    case("titles-with-spaces", first, titles.replace("\t", " "))
    case("titles-with-a-carriage-return", first, titles[:-1] + "\r\n")
    case("titles-in-capitals", first, titles.upper())
    last = "its last line is not a log's"
    end("text-after-a-line", last, "stopped here\n")
    end("empty-line-after-a-line", last, "\n")
    end("step-0", last, line.replace("1", "0", 1))
    end("step-negative", last, "-" + line)
    end("step-a-fraction", last, line.replace("1", "1.5", 1))
    end("step-2-64", last, line.replace("1", str(1 << 64), 1))
    end("step-with-a-space", last, " " + line)
    end("step-hexadecimal", last, "0x" + line)
    end("step-nan", last, line.replace("1", "nan", 1))
    end("nul-in-a-line", last, "\0" + line)
    end("titles-twice", last, titles)
    end("line-of-2000-bytes", last, "2" * 2000 + "\n")
    end("line-of-2000-bytes-without-newline", last, "2" * 2000)

    for name in ("good", "good-titles-alone"):
        case(name, "ok", titles + (line if name == "good" else ""), "history")
    damaged = "line 3 of the log is damaged"
    end("cut-in-the-step", damaged, "2", "history")
    end("cut-in-the-loss", damaged, line[:4], "history")
    end("cut-in-the-validation-loss", damaged, line[:10], "history")
    end("empty-line", damaged, "\n", "history")
    end("text", damaged, "stopped here\n", "history")
    end("titles-twice", damaged, titles, "history")
    end("step-text", damaged, line.replace("1", "one", 1), "history")
    end("step-empty", damaged, line[1:], "history")
    end("step-nan", damaged, "nan" + line[1:], "history")
    end("step-infinite", damaged, "inf" + line[1:], "history")
    end("step-negative", damaged, "-" + line, "history")
    end("step-0", damaged, "0" + line[1:], "history")
    end("step-a-fraction", damaged, "1.5" + line[1:], "history")
    end("step-2-64", damaged, str(1 << 64) + line[1:], "history")
    end("loss-empty", damaged, line.replace("5.547099", ""), "history")
    end("loss-nan", damaged, line.replace("5.547099", "nan"), "history")
    end("loss-infinite", damaged, line.replace("5.547099", "inf"), "history")
    end("loss-1e999", damaged, line.replace("5.547099", "1e999"), "history")
    end("loss-negative", damaged, line.replace("5.547099", "-1"), "history")
    end("loss-with-a-comma", damaged, line.replace("5.547099", "5,5"), "history")
    end("loss-with-spaces", damaged, line.replace("5.547099", " 5.5 "), "history")
    end("validation-loss-nan", damaged, line.replace("\t\t", "\tnan\t"), "history")
    end("nul-in-a-line", "not a model of a known format", line.replace("5.5", "5\0005"), "history")
    end("nul-after-the-columns", "not a model of a known format", line[:-1] + "\0\n", "history")
    end("line-of-2000-bytes", damaged, line[:-1] + "0" * 2000 + "\n", "history")
    end("three-columns", damaged, "2\t5.5\t5.5\n", "history")
    end("good-ten-columns", "ok", line[:-1] + "\t1\t2\t3\n", "history")
    end("good-carriage-return", "ok", line[:-1] + "\r\n", "history")


def main():
    global ROOT
    ROOT = sys.argv[1]
    for make in (make_zip, make_npy, make_safetensors, make_config, make_gguf, make_gguf_vocabularies, make_torch, make_llmc, make_ids, make_maps, make_vocabularies, make_archives, make_runs, make_logs):
        make()
    with open(f"{ROOT}/list", "w") as f:
        f.writelines(TABLE)


if __name__ == "__main__":
    main()
