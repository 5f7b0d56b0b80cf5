#!/usr/bin/env python3
"""Vocabulary files between tg-tokenize and the projects whose files they are.

    vocab_file.py TG-TOKENIZE VOCABULARY TEXT    VOCABULARY: what tg-tokenize -t reads

Written: VOCABULARY as tokenizer.json and as .tiktoken, loaded by tokenizers and tiktoken.
Read: vocabularies that tokenizers learns and saves, one for each form of a pre_tokenizer that
lib/vocab/tokenizer_json_rules.c knows, with both forms of merges; the same with added tokens that
are not special, as Pythia and Qwen have them, and random texts of these; and ranks for tiktoken.
The ids of TEXT, or without TG_SOAK of its beginning, and of texts at the edge are the same.
"""
import base64
import json
import os
import random
import subprocess
import sys
import tempfile

import tiktoken
import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers as pre, trainers

CONTRACTION = r"'s|'t|'re|'ve|'m|'ll|'d"
JOINED, ENDS = r"[^\r\n\p{L}\p{N}]?", r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT2 = CONTRACTION + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT2_SHORT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT2_POSSESSIVE = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
LLAMA3 = f"(?i:{CONTRACTION})|{JOINED}" + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + ENDS
LLAMA3_POSSESSIVE = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
                     r"|\s*[\r\n]|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+"
          r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
QWEN2 = f"(?i:{CONTRACTION})|{JOINED}" + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + ENDS
O200K = (f"{JOINED}{UPPER}*{LOWER}+(?i:{CONTRACTION})?|{JOINED}{UPPER}+{LOWER}*(?i:{CONTRACTION})?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + ENDS)

EDGES = """
 a  b   c\t\td \n\n e\r\n\r\n  f\u00a0g\u2003h\u3000i  \n
it's IT'S we'll WE'LL I'd'd ''' don't've 'x' 's't're've'm'll'd'S'T
1 12 123 1234 12345 ١٢٣ Ⅷ ½ 3.14 -7e10 1a2b
Straße ÀÉÎ naïve ﬁ Ǆ ǅ ǆ ʰ ª º 你好，世界。こんにちは 안녕하세요 สวัสดี नमस्ते مرحبا
e\u0301 a\u0308\u0323 \u1100\u1161\u11a8 \u212b \u2126 \u0344
👩\u200d👩\u200d👧\u200d👦 🇺🇳 ❤\ufe0f 🏽 \ufeff \u200b \u00ad \u0085 \u2028
if (x != 0) { return a[i]++ / b; } // ok\n\t\tfoo_bar(BazQux, __init__); <a href="/x/y">&amp;</a>
""" + "a" * 300 + " " * 300 + "_" * 300 + "x" + "\n" * 50 + "end  "


# GPT-2's characters for bytes -> the bytes
SHOWN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
HIDDEN = [byte for byte in range(256) if byte not in SHOWN]
BYTES = {**{chr(byte): byte for byte in SHOWN}, **{chr(256 + i): byte for i, byte in enumerate(HIDDEN)}}


def tg_ids(tool, text, *options):
    out = subprocess.run([tool, *options, "--ids"], input=text.encode(), check=True, stdout=subprocess.PIPE)
    return [int(line) for line in out.stdout.split()]


def same(name, got, want):
    if got != want:
        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        sys.exit(f"{name}: {len(got)} ids and {len(want)}; from {at} on {got[at:at + 8]}, expected {want[at:at + 8]}")
    print(f"{name}: {len(got)} ids")


def load_tiktoken(path, pattern):
    with open(path, "rb") as file:
        ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, file)}
    return tiktoken.Encoding("judge", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def written(tool, vocabulary, texts, where):
    files = {form: os.path.join(where, f"x.{form}") for form in ("tokenizer.json", "tiktoken")}
    for form, path in files.items():
        with open(path, "wb") as file:
            subprocess.run([tool, "-t", vocabulary, "--to", form], check=True, stdout=file)
    hf, tt = tokenizers.Tokenizer.from_file(files["tokenizer.json"]), load_tiktoken(files["tiktoken"], GPT2)
    for name, text in texts.items():
        mine = tg_ids(tool, text, "-t", vocabulary)
        same(f"written for tokenizers, {name}", mine, hf.encode(text).ids)
        same(f"written for tiktoken, {name}", mine, tt.encode(text, disallowed_special=()))
    text = "a<|endoftext|>b<|endoftext|><|endoftext|>\n"
    same("special tokens for tokenizers", tg_ids(tool, text, "-t", vocabulary, "--special"), hf.encode(text).ids)


def byte_level(use_regex):
    return pre.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def split(pattern, behavior="isolated", invert=False):
    return pre.Sequence([pre.Split(Regex(pattern), behavior, invert), byte_level(False)])


FORMS = {
    "ByteLevel": byte_level(True),
    "ByteLevel without regex": byte_level(False),
    "Digits": pre.Sequence([pre.Digits(individual_digits=True), byte_level(True)]),
    "GPT-2": split(GPT2),
    "GPT-2, short": split(GPT2_SHORT),
    "GPT-2, possessive": split(GPT2_POSSESSIVE),
    "cl100k": split(CL100K),
    "Llama 3": split(LLAMA3),
    "Llama 3, removed": split(LLAMA3, "removed", True),
    "Llama 3, possessive": split(LLAMA3_POSSESSIVE),
    "Qwen2": split(QWEN2),
    "o200k": split(O200K),
}


def learn(form, nfc, corpus):
    tok = tokenizers.Tokenizer(models.BPE())
    tok.pre_tokenizer = form
    if nfc:
        tok.normalizer = normalizers.NFC()
    tok.decoder = tokenizers.decoders.ByteLevel()
    tok.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=1500, special_tokens=["<|endoftext|>", "<|pad|>"], show_progress=False,
        initial_alphabet=pre.ByteLevel.alphabet()))
    return tok


def halves(merge):
    return merge if isinstance(merge, list) else merge.split(" ")


def every_other(merges):
    """Half of the merges, without those whose halves are then never made."""
    kept, made = [], set()
    for merge in merges[::2]:
        if all(len(half) == 1 or half in made for half in halves(merge)):
            kept.append(merge)
            made.add("".join(halves(merge)))
    return kept


def read_saved(tool, name, tok, texts, path):
    """As it was saved; with the other form of merges; with tokens that only ignore_merges reaches."""
    for change in ("as saved", "joined", "ignore_merges", "unreachable"):
        tok.save(path)
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        model = saved["model"]
        if change == "joined":
            model["merges"] = [" ".join(halves(merge)) for merge in model["merges"]]
        elif change != "as saved":
            model["ignore_merges"] = change == "ignore_merges"
            model["merges"] = every_other(model["merges"])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(saved, file, ensure_ascii=change == "joined")
        judge = tokenizers.Tokenizer.from_file(path)
        want = {title: judge.encode(text).ids for title, text in texts.items()}
        for title, text in texts.items():
            same(f"read, {name}, {change}, {title}", tg_ids(tool, text, "-t", path), want[title])
        with open(path + ".again", "wb") as file:
            subprocess.run([tool, "-t", path, "--to", "tokenizer.json"], check=True, stdout=file)
        again = tokenizers.Tokenizer.from_file(path + ".again")
        for title, text in texts.items():
            same(f"written again, {name}, {change}, {title}", again.encode(text).ids, want[title])


def random_texts(tokens):
    """Of tokens, parts of them, runs of spaces, and words."""
    chosen = random.Random(5)
    pieces = [*tokens, *(token[:-1] for token in tokens), *(token[1:] for token in tokens), "<|endoftext|>", "<|", " ", "\n",
              "the", " and", "x", "y", "b|", "e", "\u00e9", "\u0301", "\u0338", "\u4f60", "7", "'s", "."]
    for length in [*range(20), 400, 4000]:
        yield "".join(chosen.choice(pieces) if chosen.random() < 0.7 else " " * chosen.randrange(60) for _ in range(length))


def read_added(tool, name, tok, texts, path):
    """Tokens that are looked for in normalised text, and others; special ones if asked for."""
    late = [" " * n for n in range(24, 1, -1)] + ["\t\t", "ab|", "b|c|", "b|c|d|"]
    first = ["<tool_call>", "</tool_call>", "<tool", "\n\n", "e\u0301", "x y", "the\n"]
    tok.add_tokens([tokenizers.AddedToken(text, normalized=True) for text in late])
    tok.add_tokens([tokenizers.AddedToken(text, normalized=False) for text in first])
    tok.save(path)
    with open(path + ".again", "wb") as file:
        subprocess.run([tool, "-t", path, "--to", "tokenizer.json"], check=True, stdout=file)
    judges = [tokenizers.Tokenizer.from_file(path) for path in (path, path + ".again")]
    for options, special in ([], False), (["--special"], True):
        for title, text in [*texts.items(), *enumerate(random_texts(late + first))]:
            got = tg_ids(tool, text, "-t", path, *options)
            for judge in judges:
                judge.encode_special_tokens = not special
                same(" ".join(["added,", name, *options, str(title)]), got, judge.encode(text).ids)


def read_ranks(tool, tok, texts, where, shuffled):
    """tok's tokens as ranks: in its order, and in one that no merging made."""
    tokens = [bytes(BYTES[char] for char in token) for token, _ in sorted(tok.get_vocab().items(), key=lambda i: i[1])
              if not token.startswith("<|")]
    if shuffled:
        random.Random(1).shuffle(tokens)
    path = os.path.join(where, "ranks.tiktoken")
    with open(path, "wb") as file:
        for rank, token in enumerate(tokens):
            file.write(base64.b64encode(token) + b" %d\n" % rank)
    for rule, pattern in (("gpt2", GPT2), ("cl100k", CL100K), ("llama3", LLAMA3), ("o200k", O200K)):
        judge = load_tiktoken(path, pattern)
        for title, text in texts.items():
            same(f"ranks{', shuffled' if shuffled else ''}, {rule}, {title}",
                 tg_ids(tool, text, "-t", path, "--pattern", rule), judge.encode(text, disallowed_special=()))


def main():
    tool, vocabulary, path = sys.argv[1:]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read(1 << 18)
    texts = {"text": text if os.environ.get("TG_SOAK") else text[:12000], "edges": EDGES}
    with tempfile.TemporaryDirectory() as where:
        written(tool, vocabulary, texts, where)
        for name, form in FORMS.items():
            tok = learn(form, name in ("Qwen2", "ByteLevel"), (text[:60000] + EDGES).split("\n\n"))
            read_saved(tool, name, tok, texts, os.path.join(where, "saved.json"))
            if name == "ByteLevel":
                for shuffled in (False, True):
                    read_ranks(tool, tok, texts, where, shuffled)
            read_added(tool, name, tok, texts, os.path.join(where, "added.json"))


main()
