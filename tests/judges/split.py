#!/usr/bin/env python3
"""The pieces of tests/unit/split_text against those of regex, tokenizers and tiktoken.

    split.py SPLIT_TEXT JUDGE [FILE]...    JUDGE: regex, tokenizers or tiktoken

Texts: every assigned character next to a letter, a number, white space, an apostrophe; random
texts of few different characters; the files.  The characters that the judge's version of Unicode
does not have, or has in another category, are left out, and counted.  Without TG_SOAK so are seven of eight letters
that are inside a range of their like, all but the beginning of a file, and for the rules but o200k, which tells most
classes apart, two of three characters: that each rule has the same classes is seen by tests/unit/test_split.c.
"""
import os
import random
import subprocess
import sys

import unicodedata2

SOAK = bool(os.environ.get("TG_SOAK"))

CONTRACTION = r"'s|'t|'re|'ve|'m|'ll|'d"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
JOINED = r"[^\r\n\p{L}\p{N}]?"
ENDS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "gpt2": CONTRACTION + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+"
              r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "llama3": f"(?i:{CONTRACTION})|{JOINED}" + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + ENDS,
    "qwen2": f"(?i:{CONTRACTION})|{JOINED}" + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + ENDS,
    "o200k": f"{JOINED}{UPPER}*{LOWER}+(?i:{CONTRACTION})?|{JOINED}{UPPER}+{LOWER}*(?i:{CONTRACTION})?"
             r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + ENDS,
}
# characters whose category a version of Unicode has changed in a way that matters, and a character that
# this version brought
CHANGED = {"\u0295": "\U000323B0"}  # Ll until 16, Lo in 17
RULES = ["gpt2", "gpt2-digits", "cl100k", "llama3", "qwen2", "o200k"]


class Regex:
    def __init__(self):
        import regex
        self.regex = regex

    def lacks(self, char):
        return bool(self.regex.match(r"\p{Cn}", char))

    def find(self, pattern, text):
        return self.regex.findall(pattern, text)

    def pieces(self, rule, text, mine):
        if rule == "gpt2-digits":
            return [p for part in self.find(r"\p{N}|\P{N}+", text) for p in self.find(PATTERNS["gpt2"], part)]
        return self.find(PATTERNS[rule], text)


class Tokenizers:
    def __init__(self):
        from tokenizers import Regex as Expression, pre_tokenizers as pre
        self.split = lambda pattern: pre.Split(Expression(pattern), "isolated")
        level = pre.ByteLevel(add_prefix_space=False, use_regex=True)
        self.rules = {rule: self.split(pattern) for rule, pattern in PATTERNS.items()}
        self.rules["gpt2"] = level
        self.rules["gpt2-digits"] = pre.Sequence([pre.Digits(individual_digits=True), level])
        self.unknown = self.split(r"\p{Cn}")

    def lacks(self, char):
        return [o for _, o in self.unknown.pre_tokenize_str("a" + char)] == [(0, 1), (1, 2)]

    def pieces(self, rule, text, mine):
        offsets = [o for _, o in self.rules[rule].pre_tokenize_str(text)]
        return [text[a:b] for a, b in offsets]


class Tiktoken:
    """Its pieces cannot be seen: but with our pieces as a vocabulary, each must be one token."""

    def __init__(self):
        import tiktoken
        self.tiktoken = tiktoken
        self.unknown = self.encoding(r"\p{Cn}", [])

    def encoding(self, pattern, pieces):
        ranks = {bytes([b]): b for b in range(256)}
        for piece in pieces:
            ranks.setdefault(piece.encode(), len(ranks))
        return self.tiktoken.Encoding("judge", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def lacks(self, char):
        return len(self.unknown.encode_ordinary(char)) > 0

    def pieces(self, rule, text, mine):
        if rule == "gpt2-digits":
            return mine  # not a rule of tiktoken's
        encoding = self.encoding(PATTERNS[rule], mine)
        return [t.decode("utf-8", "replace")
                for t in encoding.decode_tokens_bytes(encoding.encode_ordinary(text))]


class Failure(Exception):
    pass


def pieces_of(tool, rule, text):
    data = text.encode()
    out = subprocess.run([tool, rule], input=data, stdout=subprocess.PIPE, check=True).stdout
    pieces, at = [], 0
    for length in map(int, out.split()):
        pieces.append(data[at:at + length].decode())
        at += length
    assert at == len(data)
    return pieces


def agree(tool, judge, rule, text):
    mine = pieces_of(tool, rule, text)
    return mine == judge.pieces(rule, text, mine)


def compare(tool, judge, rule, text, what):
    mine = pieces_of(tool, rule, text)
    theirs = judge.pieces(rule, text, mine)
    if mine != theirs:
        i = next(i for i in range(len(mine)) if theirs[i:i + 1] != mine[i:i + 1])
        raise Failure(f"{rule}, {what}: piece {i}: {mine[max(0, i - 2):i + 3]}, theirs "
                      f"{theirs[max(0, i - 2):i + 3]}")


def around(char):
    return f"{char}a{char} {char}A{char}1{char}'{char}'s{char}\n{char}!{char}{char} q\n\nq "


def suspects(tool, judge, rule, chars):
    """The characters, of those in a text that differs, whose own texts differ."""
    if agree(tool, judge, rule, "".join(map(around, chars))):
        return []
    if len(chars) == 1:
        return chars
    half = len(chars) // 2
    return suspects(tool, judge, rule, chars[:half]) + suspects(tool, judge, rule, chars[half:])


def inside(code):
    """Whether the letter is inside a range of its like, as most ideographs are: but for one of eight, make soak's."""
    kinds = {unicodedata2.category(chr(c)) for c in (code - 1, code, code + 1) if 0 <= c < 0x110000}
    return kinds == {"Lo"} and code % 8 != 0


def every_character(tool, judge):
    chars = [chr(c) for c in range(0x110000)
             if unicodedata2.category(chr(c)) not in ("Cn", "Co", "Cs") and (SOAK or not inside(c))]
    lacking = {c for c in chars if judge.lacks(c)}
    lacking |= {c for c, sign in CHANGED.items() if judge.lacks(sign)}
    known = [c for c in chars if c not in lacking]
    print(f"{len(known)} characters; {len(lacking)} of Unicode {unicodedata2.unidata_version} that the judge "
          "does not know or knows otherwise")
    for i, rule in enumerate(RULES):
        some = known if SOAK or rule == "o200k" else known[i % 3::3]
        found = []
        for first in range(0, len(some), 8192):
            found += suspects(tool, judge, rule, some[first:first + 8192])
        if found:
            raise Failure(f"{rule}: {len(found)} characters: " + " ".join(f"U+{ord(c):04X}" for c in found[:50]))


ALPHABET = list("aabBC1  \n\r\t''''strevlmdSTRE!!/.") + [
    "\u3000", "\u0085", "\u00a0", "\u2028", "\u001c", "\ufeff", "é", "É", "中", "ª", "\u0301", "\u0903", "٣", "Ⅷ",
    "ſ", "K", "😀", "ǅ", "👩\u200d👩", "❤\ufe0f"]


def random_texts(tool, judge, rounds=30):
    rng = random.Random(1)
    for i in range(rounds):
        few = rng.sample(ALPHABET, 5) if i % 3 == 1 else ALPHABET
        text = "".join(rng.choice(few) * rng.choice([1, 1, 1, 1, 2, 3, 70] if i % 3 == 2 else [1])
                       for _ in range(5000))
        for rule in RULES:
            compare(tool, judge, rule, text, f"random text {i}")


def main():
    tool, name, *files = sys.argv[1:]
    judge = {"regex": Regex, "tokenizers": Tokenizers, "tiktoken": Tiktoken}[name]()
    try:
        random_texts(tool, judge)
        for path in files:
            with open(path, encoding="utf-8", errors="ignore", newline="") as file:
                text = file.read(-1 if SOAK else 10000)
            for rule in RULES:
                compare(tool, judge, rule, text, path)
        every_character(tool, judge)
    except Failure as failure:
        sys.exit(f"split.py: {failure}")


main()
