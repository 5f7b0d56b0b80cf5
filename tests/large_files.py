"""Files of more than 4 GiB that are holes except for a few bytes.

large_files.py gguf IN OUT     the model IN with a tensor of more than 4 GiB before all others
large_files.py llmc OUT        llm.c's tokens, 2^31 + 5 of them
large_files.py qkv OUT         an archive of q, k and v after an array of more than 4 GiB
large_files.py tokens OUT ID   a token archive of more than 2^30 ids in chunks, the last one of them ID

Exits with 77 if the file system does not have them as holes.  Needs nothing besides Python.
"""
import os
import struct
import sys
import zlib

from bad_files import U32, npy, scalar, text

GAP = (1 << 32) + 64


# ---- GGUF


def gguf(source, out):
    with open(source, "rb") as f:
        data = f.read()
    version, n_tensors, n_values = struct.unpack_from("<IQQ", data, 4)
    at = 24
    for _ in range(n_values):
        at = after_value(data, after_text(data, at))
    begin = at
    tensors = text("a") + struct.pack("<IQIQ", 1, GAP, 24, 0)  # GAP bytes
    for _ in range(n_tensors):
        name = at
        at = after_text(data, at)
        n = struct.unpack_from("<I", data, at)[0]
        at += 4 + 8 * n + 4
        tensors += data[name:at] + struct.pack("<Q", struct.unpack_from("<Q", data, at)[0] + GAP)
        at += 8
    head = data[:8] + struct.pack("<QQ", n_tensors + 1, n_values) + data[24:begin] + tensors
    with open(out, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32))
        f.seek(GAP, os.SEEK_CUR)
        f.write(data[at + -at % 32:])


def after_text(data, at):
    return at + 8 + struct.unpack_from("<Q", data, at)[0]


def after_value(data, at):
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    kind = struct.unpack_from("<I", data, at)[0]
    at += 4
    if kind == 8:
        return after_text(data, at)
    if kind != 9:
        return at + sizes[kind]
    kind, n = struct.unpack_from("<IQ", data, at)
    at += 12
    for _ in range(n if kind == 8 else 0):
        at = after_text(data, at)
    return at if kind == 8 else at + n * sizes[kind]


# ---- llm.c


def llmc(out):
    with open(out, "wb") as f:
        f.write(struct.pack("<3I", 20240520, 1, (1 << 31) + 5))
        f.truncate(1024 + 2 * ((1 << 31) + 5))


# ---- archives, with zip64 where it is needed


def crc_with_zeros(crc, n):
    block = bytes(1 << 24)
    for _ in range(n >> 24):
        crc = zlib.crc32(block, crc)
    return zlib.crc32(bytes(n & (1 << 24) - 1), crc)


def zip64(out, members):
    """An archive of (name, first bytes, zeros after them, last bytes, CRC)."""
    with open(out, "wb") as f:
        entries = b""
        for name, first, zeros, last, crc in members:
            at, size = f.tell(), len(first) + zeros + len(last)
            large, far = size >= U32, at >= U32
            sizes = struct.pack("<2I", *[U32 if large else size] * 2)
            extra = struct.pack("<2HQQ", 1, 16, size, size) if large else b""
            f.write(struct.pack("<4s5HI", b"PK\3\4", 45 if large else 20, 0, 0, 0, 33, crc) + sizes +
                    struct.pack("<2H", len(name), len(extra)) + name + extra + first)
            f.seek(zeros, os.SEEK_CUR)
            f.write(last)
            wide = (struct.pack("<QQ", size, size) if large else b"") + (struct.pack("<Q", at) if far else b"")
            extra = struct.pack("<2H", 1, len(wide)) + wide if wide else b""
            entries += struct.pack("<4s6HI", b"PK\1\2", 45, 45 if wide else 20, 0, 0, 0, 33, crc) + sizes + struct.pack(
                "<5H2I", len(name), len(extra), 0, 0, 0, 0, U32 if far else at) + name + extra
        at = f.tell()
        f.write(entries)
        end = f.tell()
        f.write(struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, len(members), len(members), len(entries), at))
        f.write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        f.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(members), len(members), len(entries), U32, 0))


def whole(name, content):
    return name.encode() + b".npy", content, 0, b"", zlib.crc32(content)


def qkv(out):
    head = npy(f"({GAP},)", "'|u1'", b"")
    zip64(out, [(b"a.npy", head, GAP, b"", crc_with_zeros(zlib.crc32(head), GAP)),
                *[whole(name, npy(data=struct.pack("<8f", *range(i, i + 8)))) for i, name in enumerate("qkv")]])


def tokens(out, last):
    n = 1 << 20
    head, last = npy(f"({n},)", "'<u4'", b""), struct.pack("<I", int(last))
    crc = zlib.crc32(bytes(4 * n), zlib.crc32(head))
    chunks = [(f"tokens/{i:08}.npy".encode(), head, 4 * n, b"", crc) for i in range(1025)]
    chunks[-1] = chunks[-1][0], head, 4 * n - 4, last, zlib.crc32(last, zlib.crc32(bytes(4 * n - 4), zlib.crc32(head)))
    zip64(out, [whole("kind", scalar("tokens")), whole("version", scalar(1)), whole("tokenizer/kind", scalar("ids")),
                whole("tokenizer/vocab_size", scalar(8)), *chunks])


def main(kind, *arguments):
    out = arguments[1 if kind == "gguf" else 0]
    try:
        {"gguf": gguf, "llmc": llmc, "qkv": qkv, "tokens": tokens}[kind](*arguments)
    except OSError as error:
        print(error)
        return 77
    return 0 if os.stat(out).st_blocks * 512 < 1 << 28 else 77


sys.exit(main(*sys.argv[1:]))
