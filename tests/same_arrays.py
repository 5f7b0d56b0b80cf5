"""Archives for tests/same, as other programs might write them; needs no NumPy.

same_arrays.py            make in the current directory
    qkv.npz qkv64.npz     q, k and v [2,5,8] in float32 and float64: the same numbers
    magnitudes.npz        q, k and v [1,6,6] of very small and very large numbers
    huge.npz              the same, with scores beyond float32 from query 4 on
    ids.npz               a token archive whose ids take two bytes each
    hostile.npz           a dump of q and k alone, with strange tokens
same_arrays.py FILE       FILE again on standard output, deflated; into a pipe, with sizes
                          after the members
"""
import struct
import sys
import zipfile

HOSTILE = [b"</script>", b"<!--", b"<b onclick=alert(1)>&amp;", b"\\x1B[31mred\\x07", b"\xff\xfe bad",
           "\u4e2d\u6587".encode(), b'"quote\\', b"a" * 200, b" ", b"\xe2\x80\xae rtl", b"\\x00", b"\\t\\n"]


def npy(descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (-(11 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def reals(code, shape, numbers):
    return npy("<f4" if code == "f" else "<f8", shape, struct.pack("<%d%s" % (len(numbers), code), *numbers))


def integer(n):
    return npy("<i8", (), struct.pack("<q", n))


def texts(shape, items):
    size = max(map(len, items))
    return npy("|S%d" % size, shape, b"".join(t.ljust(size, b"\0") for t in items))


def save(file, members, method):
    with zipfile.ZipFile(file, "w") as z:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # of 1980, whatever the time
            info.compress_type = method
            with z.open(info, "w") as member:
                member.write(data)


def save_arrays(path, arrays):
    save(path, {name + ".npy": data for name, data in arrays.items()}, zipfile.ZIP_STORED)


def sixteenths(salt, n):
    """Numbers that both types hold."""
    return [((37 * i + 11 * salt) % 97 - 48) / 16 for i in range(n)]


def magnitudes(salt, n):
    return [(-1) ** i * (1 + (i * 5 + salt) % 9 / 7) * 10.0 ** ((i * 7 + salt) % 33 - 16) for i in range(n)]


def make():
    for path, code in ("qkv.npz", "f"), ("qkv64.npz", "d"):
        save_arrays(path, {x: reals(code, (2, 5, 8), sixteenths(n, 80)) for n, x in enumerate("qkv")})
    q, k, v = (magnitudes(n, 36) for n in range(3))
    for path, last in ("magnitudes.npz", q[24:]), ("huge.npz", [3e38] * 12):
        save_arrays(path, {x: reals("f", (1, 6, 6), a) for x, a in zip("qkv", (q[:24] + last, k, v))})
    save_arrays("ids.npz", {
        "kind": texts((), [b"tokens"]), "version": integer(1),
        "tokenizer/kind": texts((), [b"bytes"]), "tokenizer/vocab_size": integer(256),
        "tokens/00000000": npy("<u2", (400,), struct.pack("<400H", *(i * i % 251 for i in range(400)))),
    })
    T, H, D = len(HOSTILE), 2, 4
    save_arrays("hostile.npz", {
        "kind": texts((), [b"attention"]), "version": integer(1),
        "dump/layout": texts((), [b"bthd"]), "dump/mask": texts((), [b"-inf"]),
        "dump/n_layer": integer(1), "dump/n_head": integer(H), "dump/n_embd": integer(H * D),
        "dump/ids": npy("<i8", (T,), struct.pack("<%dq" % T, *range(T))),
        "dump/text": texts((T,), HOSTILE),
        "h.0.q": reals("f", (1, T, H, D), sixteenths(3, T * H * D)),
        "h.0.k": reals("f", (1, T, H, D), sixteenths(4, T * H * D)),
    })


if len(sys.argv) == 1:
    make()
else:
    with zipfile.ZipFile(sys.argv[1]) as old:
        save(sys.stdout.buffer, {name: old.read(name) for name in old.namelist()}, zipfile.ZIP_DEFLATED)
