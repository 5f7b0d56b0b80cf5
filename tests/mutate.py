"""Archives whose fields were changed and whose checksums are right again, and what a reader makes of them.

mutate.py DAMAGE READER FILE [STEP]    DAMAGE: the program of tests/damage; FILE: an archive of tg; STEP: only every so
                                       many-th case

Each case changes one field of FILE as tg wrote it, or as other programs would write it: of the zip's headers, of an
.npy header, or a number; or the order, the names or the number of the arrays.  The cases are numbered, and the same in
every run.  A reader that accepts one must be right by a second, small check, which knows nothing of tg's code: the
zip's structures agree with each other, and the arrays with the settings.  Both ways to read must agree.
"""
import ast
import math
import re
import struct
import subprocess
import sys
import zlib
from functools import partial
from itertools import islice

from bad_files import archive

EDGES = [0, 1, 2, 3, -1, 127, 128, 255, 256, 65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63,
         (1 << 64) - 1, 1 << 64]
LOCAL = [(4, 2), (6, 2), (8, 2), (10, 2), (12, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)]
CENTRAL = [(4, 2), (6, 2), (8, 2), (10, 2), (12, 2), (14, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (36, 2),
           (38, 4), (42, 4)]
END = [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]


class Refused(Exception):
    pass


def need(ok, what):
    if not ok:
        raise Refused(what)


# ---- the second check


def members(data):
    """Name and content of each, from the directory; everything must agree with the local headers, front to back."""
    end = data.rfind(b"PK\5\6")
    need(end >= 0 and end + 22 == len(data), "end record")
    disk, start, here, count, size, offset, comment = struct.unpack("<4H2IH", data[end + 4:])
    need(disk == start == comment == 0 and here == count and offset + size == end, "end record's numbers")
    at, expected, out = offset, 0, []
    for _ in range(count):
        need(data[at:at + 4] == b"PK\1\2", "entry")
        _, _, flags, method, time, date, crc, packed, n, name_n, extra_n, comment_n, disk, _, _, local = struct.unpack_from(
            "<6H3I5H2I", data, at + 4)
        name = data[at + 46:at + 46 + name_n]
        at += 46 + name_n + extra_n + comment_n
        need(local == expected and data[local:local + 4] == b"PK\3\4", "local header")
        need(flags in (0, 2, 4, 6, 0x800) and method == 0 and packed == n and disk == 0, "flags, method, sizes")
        needed, *same, name_l, extra_l = struct.unpack_from("<5H3I2H", data, local + 4)
        need(same == [flags, method, time, date, crc, packed, n] and name_l == name_n and
             data[local + 30:local + 30 + name_l] == name, "local header differs")
        begin = local + 30 + name_l + extra_l
        need(begin + n <= offset and zlib.crc32(data[begin:begin + n]) == crc, "CRC")
        expected = begin + n
        need(re.fullmatch(rb"[A-Za-z0-9._/-]{1,127}\.npy", name) and name not in dict(out), "name")
        out.append((name, data[begin:begin + n]))
    need(at == end and expected == offset, "directory")
    return out


def array(content):
    """Type, shape, and bytes."""
    need(content[:6] == b"\x93NUMPY" and content[6:8] in (b"\1\0", b"\2\0"), "npy")
    at = 10 if content[6] == 1 else 12
    end = at + struct.unpack_from("<H" if at == 10 else "<I", content, 8)[0]
    try:
        head = ast.literal_eval(content[at:end].decode())
    except (SyntaxError, ValueError) as error:
        raise Refused("npy header") from error
    need(set(head) == {"descr", "fortran_order", "shape"} and isinstance(head["shape"], tuple) and isinstance(head["descr"], str), "npy header")
    kind = re.fullmatch(r"[<|=]?([uifbS])([0-9]+)", head["descr"])
    need(kind and all(isinstance(n, int) and n >= 0 for n in head["shape"]), "type or shape")
    need(len(content) - end == int(kind[2]) * math.prod(head["shape"]), "bytes")
    need(not head["fortran_order"] or sum(n > 1 for n in head["shape"]) < 2, "order")
    return kind[1] + kind[2], head["shape"], content[end:]


def number(arrays, name):
    need(name in arrays, name)
    kind, shape, data = arrays[name]
    need(shape == () and kind[0] in "iu", name)
    return int.from_bytes(data, "little", signed=kind[0] == "i")


def text(arrays, name):
    need(name in arrays and arrays[name][0][0] == "S" and arrays[name][1] == (), name)
    return arrays[name][2].rstrip(b"\0").decode()


def finite(arrays, name):
    kind, _, data = arrays[name]
    need(kind == "f4" and all(map(math.isfinite, struct.unpack(f"<{len(data) // 4}f", data))), name + " is not finite")


def check_tokenizer(arrays):
    ids = number(arrays, "tokenizer/vocab_size")
    kind = text(arrays, "tokenizer/kind")
    need(kind in ("bytes", "char", "bpe", "ids") and ids > 0 and (kind != "bytes" or ids == 256), "tokenizer")
    if kind == "char":
        need(arrays["tokenizer/chars"][:2] == ("u4", (ids,)), "characters")
        chars = struct.unpack(f"<{ids}I", arrays["tokenizer/chars"][2])
        need(list(chars) == sorted(set(chars)) and chars[-1] < 0x110100, "characters in order")
    return ids


def check_tokens(arrays):
    ids = check_tokenizer(arrays)
    for name, (kind, shape, data) in arrays.items():
        if name.startswith("tokens/"):
            need(kind in ("u1", "u2", "u4") and len(shape) == 1, "type of ids")
            size = int(kind[1])
            need(all(int.from_bytes(data[i:i + size], "little") < ids for i in range(0, len(data), size)), "an id")


def check_model(arrays):
    L, H, C, T, V = (number(arrays, "config/" + n) for n in ("n_layer", "n_head", "n_embd", "n_ctx", "vocab_size"))
    need(L >= 1 and H >= 1 and C >= 1 and C % H == 0 and check_tokenizer(arrays) <= V, "config")
    need(arrays["wte.weight"][1] == (V, C) and arrays["wpe.weight"][1] == (T, C), "embeddings")
    need({int(n.split(".")[1]) for n in arrays if n.startswith("h.")} == set(range(L)), "layers")
    for name, (_, shape, data) in arrays.items():
        if name.startswith("opt/") or "/" not in name and name not in ("kind", "version"):
            finite(arrays, name)
            need(all(n in (T, V) or n % C == 0 for n in shape), "shape of " + name)
        if name.startswith("opt/"):
            need(len(data) == len(arrays[name[6:]][2]), "size of " + name)
        if name.startswith("opt/v/"):
            need(min(struct.unpack(f"<{len(data) // 4}f", data)) >= 0, name)


def check_dump(arrays):
    L, H, C = (number(arrays, "dump/" + n) for n in ("n_layer", "n_head", "n_embd"))
    need(L >= 1 and H >= 1 and C >= 1 and C % H == 0, "sizes")
    sizes = {"C": C, "3": 3 * C, "H": H, "D": C // H, "L": L}
    four = "BHTD" if text(arrays, "dump/layout") == "bhtd" else "BTHD"
    need(text(arrays, "dump/layout") in ("bthd", "bhtd") and text(arrays, "dump/mask") in ("-1e9", "-inf", "min"), "settings")
    letters = {"x": "BTC", "qkv": "BT3", "q": four, "k": four, "v": four, "scores": "BHTT", "probs": "BHTT", "att": four, "out": "BTC"}
    for name, (_, shape, _) in arrays.items():
        layer = re.fullmatch(r"h\.([0-9]+)\.([a-z]+)", name)
        if layer and layer[2] in letters:
            need(int(layer[1]) < L and len(shape) == len(letters[layer[2]]), name)
            need(all(sizes.setdefault(c, n) == n for c, n in zip(letters[layer[2]], shape)), "shape of " + name)
            if layer[2] != "scores":
                finite(arrays, name)
        elif name in ("dump/ids", "dump/text"):
            need(len(shape) == 1 and sizes.setdefault("T", shape[0]) == shape[0], name)


# of each kind: arrays that must be there with their types and dimensions, and those that may be
RESULTS = {
    "lens": ("ids iT n_layer i layers iM positions iN target iN rank iMN logit fMN kl fMN entropy fMN sum fMN",
             "text ST top_ids iMNK top_logits fMNK top_text SMNK"),
    "attribution": ("ids iT position i token i minus i logit f capped f sum f scale f embedding f position_embedding f norm_bias f "
                    "head_bias f head fLH key fLHT att_bias fL mlp fL unit fLU mlp_bias fL", "text ST"),
    "patch": ("site S metric S direction S method S pairs i clean f corrupt f n_layer i layers iM heads iN positions iP value fMNP "
              "effect fMNP", "ids iT text ST corrupt_ids iT corrupt_text ST answer i answer_text S wrong i wrong_text S"),
    "ablation": ("metric S by S set S pairs i model f none f named iLP part iLP value fLP faithfulness fLP change fLP",
                 "ids iT text ST corrupt_ids iT corrupt_text ST answer i answer_text S wrong i wrong_text S whole f"),
    "circuit": ("n_layer i n_head i layers iM heads iN", "ov_norm fMN qk_norm fMN copying fMN positive fMN duplicate fMN previous fMN "
                "diagonal fMN q fMNLH k fMNLH v fMNLH baseline f"),
}


def whole(arrays, name):
    data = arrays[name][2]
    return struct.unpack(f"<{len(data) // 8}q", data)


def ascending(numbers, bound, what):
    need(list(numbers) == sorted(set(numbers)) and 0 <= numbers[0] and numbers[-1] < bound, what)


def check_places(arrays, kind, sizes):
    """Layers, heads and positions, which are in the model and the text."""
    L = number(arrays, kind + "/n_layer")
    ascending(whole(arrays, kind + "/layers"), L + (kind == "lens"), "layers")
    if kind == "circuit":
        ascending(whole(arrays, "circuit/heads"), number(arrays, "circuit/n_head"), "heads")
        need(sizes.get("L", L) == L and sizes.get("H", number(arrays, "circuit/n_head")) == number(arrays, "circuit/n_head"), "pairs")
        need("circuit/copying" in arrays or "circuit/k" in arrays, "numbers")
        return
    places = [whole(arrays, kind + "/" + name) for name in ("positions", "heads") if kind + "/" + name in arrays]
    if kind == "lens" or places[0] != (-1,):
        ascending(places[0], sizes.get("T", 1 << 63), "positions")
    if kind == "patch" and places[1] != (-1,):
        ascending(places[1], 1 << 63, "heads")


def check_results(arrays):
    kind = text(arrays, "kind")
    need(kind in RESULTS, "kind")
    must, may = (s.split() for s in RESULTS[kind])
    sizes = {}
    for i, (name, dims) in enumerate(zip((must + may)[::2], (must + may)[1::2])):
        name = kind + "/" + name
        if i >= len(must) // 2 and name not in arrays:
            continue
        dtype, shape, data = arrays[name]
        need(dtype in {"i": ("i8",), "f": ("f4", "f8"), "S": (dtype,) if dtype[0] == "S" else ()}[dims[0]], "type of " + name)
        need(len(shape) == len(dims) - 1 and 0 not in shape, "shape of " + name)
        need(all(sizes.setdefault(c, n) == n for c, n in zip(dims[1:], shape)), "shape of " + name)
        if dims[0] == "f":
            code, size = ("f", 4) if dtype == "f4" else ("d", 8)
            need(all(map(math.isfinite, struct.unpack(f"<{len(data) // size}{code}", data))), name + " is not finite")
        elif dims[0] == "i":
            need(min(whole(arrays, name)) >= -1, name)
    if kind == "attribution":
        need(0 <= number(arrays, "attribution/position") < sizes["T"], "position")
    elif kind == "ablation":
        need(min(whole(arrays, "ablation/named") + whole(arrays, "ablation/part")) >= 0, "marks")
        need(text(arrays, "ablation/metric") in "diff prob loss kl".split() and
             text(arrays, "ablation/by") in "zero mean resample".split() and
             text(arrays, "ablation/set") in "each without keep".split(), "texts")
    else:
        check_places(arrays, kind, sizes)
    if kind == "patch":
        need(text(arrays, "patch/site") in "x q k v pattern z att mlp".split() and
             text(arrays, "patch/metric") in "diff prob loss kl".split() and
             text(arrays, "patch/direction") in ("noise", "denoise") and
             text(arrays, "patch/method") in ("patch", "attribution"), "texts")


CHECKS = {"run": ("model", check_model), "model": ("model", check_model), "tokens": ("tokens", check_tokens),
          "dump": ("attention", check_dump), "tokenizer": ("tokenizer", check_tokenizer),
          "results": (None, check_results)}


def check(reader, data):
    arrays = {name[:-4].decode(): array(content) for name, content in members(data)}
    kind, more = CHECKS[reader]
    need(list(arrays)[:2] == ["kind", "version"] and text(arrays, "kind") == (kind or text(arrays, "kind")) and number(arrays, "version") == 1, "kind")
    try:
        more(arrays)
    except KeyError as missing:
        raise Refused(f"{missing} is missing") from missing


# ---- the cases


def patched(data, at, size, value):
    return data[:at] + (value % (1 << 8 * size)).to_bytes(size, "little") + data[at + size:]


def places(data):
    """Offsets of the local headers, of the entries, and of the end record."""
    end = data.rfind(b"PK\5\6")
    count, at = struct.unpack_from("<H4xI", data, end + 10)
    locals_, entries = [], []
    for _ in range(count):
        entries.append(at)
        locals_.append(struct.unpack_from("<I", data, at + 42)[0])
        at += 46 + sum(struct.unpack_from("<3H", data, at + 28))
    return locals_, entries, end


def twice_patched(data, at, other, size, value):
    return patched(patched(data, at, size, value), other, size, value)


def fields(data):
    """Each number of the zip's structures.  What makes a case, so that only those are made that are tried."""
    locals_, entries, end = places(data)
    for headers, table in ((locals_, LOCAL), (entries, CENTRAL), ([end], END)):
        for header in headers:
            for offset, size in table:
                old = int.from_bytes(data[header + offset:header + offset + size], "little")
                for value in {v % (1 << 8 * size) for v in [*EDGES, old + 1, old - 1, 2 * old]} - {old}:
                    yield partial(patched, data, header + offset, size, value)
    for local, entry in zip(locals_, entries):  # both headers agree in what is wrong
        for (a, size), (b, _) in zip(LOCAL, CENTRAL[1:]):
            if a != 14:
                for value in EDGES[:17:2]:
                    yield partial(twice_patched, data, local + a, entry + b, size, value)


def contents(content):
    """Other contents of a member: its .npy header, its numbers."""
    end = 10 + struct.unpack_from("<H", content, 8)[0]
    head, body = content[10:end].decode(), content[end:]

    def npy(text, data=body):
        text = text.rstrip().encode()
        text += b" " * (-(11 + len(text)) % 64) + b"\n"
        return content[:8] + struct.pack("<H", len(text)) + text + data

    shape = re.search(r"'shape': \((.*?)\)", head)
    for digits in re.finditer("[0-9]+", shape[1]):
        a, b = shape.start(1) + digits.start(), shape.start(1) + digits.end()
        for value in [*EDGES, int(digits[0]) + 1, int(digits[0]) - 1]:
            changed = head[:a] + str(value) + head[b:]
            yield npy(changed)
            try:  # with as many bytes as that takes
                kind, dims = re.search("[0-9]+", re.search("'descr': '(.*?)'", changed)[1])[0], ast.literal_eval(changed)["shape"]
                size = int(kind) * math.prod(dims)
                yield npy(changed, (body * (size // max(len(body), 1) + 1))[:size] if 0 <= size < 4096 else body[:8])
            except (SyntaxError, ValueError):
                pass
    for dims in ("()", "(1,)", "(1, 1)", "(2, 2)", "(0,)", "(1,) * 3", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"):
        yield npy(head[:shape.start()] + f"'shape': {dims}" + head[shape.end():])
    for kind in ("|u1", "|i1", "<u2", "<i4", "<i8", "<u8", "<f2", "<f4", "<f8", ">f4", "|b1", "|S1", "|S8", "<U2", "|O", "<V2", "<f16", ""):
        yield npy(re.sub("'descr': '.*?'", f"'descr': '{kind}'", head))
    yield npy(head.replace("False", "True"))
    for size, codes in ((8, "qd"), (4, "If"), (2, "H"), (1, "B")):
        for code in codes:
            for value in [*EDGES, math.nan, math.inf, -math.inf, -1.0, 0.0, 1e300, 1e-320, 0.5]:
                if len(body) >= size:
                    try:
                        new = struct.pack("<" + code, value)
                    except (struct.error, OverflowError):
                        continue
                    yield content[:end] + new + body[size:]
                    yield content[:end] + body[:-size] + new


def arrangements(arrays):
    """Arrays left out, repeated, renamed, in another order, or with another content."""
    for i, (name, content) in enumerate(arrays):
        before, after = arrays[:i], arrays[i + 1:]
        yield before + after
        yield before + [(name, content)] * 2 + after
        yield after + [(name, content)] + before
        for other in [b"x.npy", b"kind.npy", name.upper(), b"opt/m/" + name, *[n for n, _ in arrays[::3]]]:
            if other != name:
                yield before + [(other, content)] + after
        if after:
            yield before + [after[0], (name, content)] + after[1:]
            yield before + [(name, after[0][1]), (after[0][0], content)] + after[1:]
        for changed in contents(content):
            yield before + [(name, changed)] + after


def canonical(data, locals_, entries, arrays):
    """The same arrays in tg's own form, each as long as in data: checksums are made right."""
    data = bytearray(data)
    for local, entry, (name, content) in zip(locals_, entries, arrays):
        n, extra = struct.unpack_from("<2H", data, local + 26)
        crc, begin = struct.pack("<I", zlib.crc32(content)), local + 30 + n + extra
        for at in (local + 14, local + 30 + n + 8, entry + 16):
            data[at:at + 4] = crc
        data[begin:begin + len(content)] = content
    return bytes(data)


def cases(data):
    """What makes them, in turn."""
    arrays = members(data)
    locals_, entries, _ = places(data)
    sizes = [(n, len(c)) for n, c in arrays]
    yield from fields(data)
    yield from fields(archive(arrays))
    for changed in arrangements(arrays):
        yield partial(archive, changed)
        if [(n, len(c)) for n, c in changed] == sizes:
            yield partial(canonical, data, locals_, entries, changed)


def main(damage, reader, file, step="1"):
    with open(file, "rb") as f:
        data = f.read()
    check(reader, data)
    all_cases = [make() for make in islice(cases(data), 0, None, int(step))]
    run = subprocess.run([damage, "-m", reader], input=b"".join(struct.pack("<I", len(c)) + c for c in all_cases), capture_output=True)
    results = [tuple(map(int, line.split())) for line in run.stdout.decode().splitlines()]
    wrong = []
    if run.returncode or len(results) != len(all_cases):
        wrong.append(f"case {len(results)}: status {run.returncode}: {run.stderr.decode()[-2000:]}")
    for i, (mapped, piped, same) in enumerate(results):
        if mapped != piped or mapped not in (0, 1) or mapped == 0 and not same:
            wrong.append(f"case {i}: a file gives {mapped}, a pipe {piped}, {'the same' if same else 'not the same'}")
        if mapped == 0:
            try:
                check(reader, all_cases[i])
            except Refused as why:
                wrong.append(f"case {i} is accepted, but: {why}")
    for line in wrong[:20]:
        print(line)
    print(f"{file} {reader}: {len(results)} cases, {sum(r[0] == 0 for r in results)} accepted and right, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
