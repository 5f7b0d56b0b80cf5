#!/usr/bin/env python3
"""The normal forms of tests/unit/nfc_text against unicodedata2's.

    normalize.py NFC_TEXT

Texts: every character that utf8proc's Unicode has alone, before and after some that compose; random
texts of characters that change, some with bytes that are no characters.  Each is given in parts of
several sizes.  Newer characters stay as they are; those whose normal forms thus differ are counted.
"""
import random
import re
import subprocess
import sys

import unicodedata2 as ucd

PARTS = [1, 2, 3, 5, 64, 1000, 1 << 20]


def normalized(tool, data, part):
    return subprocess.run([tool, str(part)], input=data, stdout=subprocess.PIPE, check=True).stdout


def wanted(data):
    """Bytes that are no characters stay, and separate."""
    text = data.decode("utf-8", "surrogateescape")
    parts = re.findall("[\udc80-\udcff]|[^\udc80-\udcff]+", text)
    return b"".join((p if "\udc80" <= p[0] <= "\udcff" else ucd.normalize("NFC", p)).encode("utf-8", "surrogateescape")
                    for p in parts)


def compare(tool, data, what, want=None):
    want = wanted(data) if want is None else want
    for part in PARTS if len(data) < 20000 else PARTS[-3:]:
        got = normalized(tool, data, part)
        if got != want:
            i = next(i for i in range(len(want) + 1) if got[:i + 1] != want[:i + 1])
            sys.exit(f"normalize.py: {what}, parts of {part}, byte {i}: {got[max(0, i - 8):i + 8]}, "
                     f"want {want[max(0, i - 8):i + 8]}")


def main():
    tool, = sys.argv[1:]
    rng = random.Random(1)
    version, *codes = subprocess.run([tool, "assigned"], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    has = {chr(int(c)) for c in codes}
    every = [chr(c) for c in range(0x110000) if ucd.category(chr(c)) not in ("Cn", "Co", "Cs")]
    chars = [c for c in every if c in has]
    newer = [c for c in every if c not in has]
    marks = [c for c in chars if ucd.combining(c)]
    changing = [c for c in chars if ucd.combining(c) or ucd.normalize("NFC", c) != c or ucd.normalize("NFD", c) != c]
    letters = [c for c in "aeoAKS<= \n1\u1100\u1161\u11a8\uac00\uac01\U000113c2\U0001611e\U00016d67\U00016d63\u4e2d"
               "\uf900\u212b\u0344\u0958" if c in has]

    print(f"Unicode {ucd.unidata_version} has, and utf8proc's {version} lacks, "
          f"{len([c for c in newer if ucd.combining(c)])} marks that are reordered, "
          f"{len([c for c in newer if ucd.normalize('NFD', c) != c])} characters that are composed")
    compare(tool, "".join(newer).encode(), "newer characters", "".join(newer).encode())
    compare(tool, "".join(chars).encode(), "all characters")
    for other in "a\u0301\u0323 \u1100\uac00":
        compare(tool, "".join(other + c for c in chars).encode(), f"after U+{ord(other):04X}")
        compare(tool, "".join(c + other + "x" for c in chars).encode(), f"before U+{ord(other):04X}")
    for i in range(100):
        pool = rng.choice([changing, changing + letters, marks[:60] + letters, letters,
                           list("\u0300\u0301\u0323\u031bao")])
        pool = rng.sample(pool, min(len(pool), rng.choice([3, 10, 1000])))
        data = bytearray("".join(rng.choice(pool) for _ in range(3000)).encode())
        for _ in range(300 if i % 3 == 0 else 0):
            data[rng.randrange(len(data))] = rng.randrange(256)
        compare(tool, bytes(data), f"random text {i}")


main()
