#!/usr/bin/env python3
"""tg-bpe's merges against those of rustbpe and tokenizers.

    learn.py TG-BPE TEXT [N]           the same merges?
    learn.py --time TG-BPE TEXT [N]    seconds, in turns

Ties: tg-bpe and rustbpe take the pair with the smallest ids, where byte b has id b; so all their
merges are the same.  In tokenizers a byte's id follows from GPT-2's characters for bytes, so of
equally frequent pairs it takes another one; of its merges and of tg-bpe's it is checked that each
merges a pair that is the most frequent at that time.
"""
import base64
import collections
import os
import subprocess
import sys
import time

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DOCUMENT = 1 << 16  # characters, about


def documents(text):
    """The text in parts, cut where a word follows a line's end that follows no other space."""
    parts, lines, n = [], [], 0
    for line in text.splitlines(keepends=True):
        last = lines[-1][-2:] if lines else ""
        if n > DOCUMENT and line[0].isalpha() and last[1:] == "\n" and not last[0].isspace():
            parts.append("".join(lines))
            lines, n = [], 0
        lines.append(line)
        n += len(line)
    return parts + ["".join(lines)]


def learn_tg(tool, path, n):
    out = subprocess.run([tool, "-n", str(n), "--special", "", "--to", "tiktoken", path], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return [base64.b64decode(line.split()[0]) for line in out.splitlines()]


def learn_rustbpe(parts, n):
    import rustbpe
    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(iter(parts), n, pattern=PATTERN)
    return [bytes(token) for token, _ in sorted(tok.get_mergeable_ranks(), key=lambda pair: pair[1])]


def byte_level():
    """GPT-2's character for a byte -> the byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{chr(b): b for b in shown}, **{chr(256 + i): b for i, b in enumerate(hidden)}}


def learn_tokenizers(parts, n):
    import tokenizers
    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    tok.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=n, min_frequency=2, show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tok.train_from_iterator(iter(parts), trainer)
    of = byte_level()
    ids = sorted(tok.get_vocab().items(), key=lambda pair: pair[1])
    return [bytes(of[c] for c in token) for token, _ in ids]


def pieces(text):
    """The distinct pieces with their counts, each a list of single bytes."""
    import tokenizers
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    of = byte_level()
    counts = collections.Counter(piece for piece, _ in split.pre_tokenize_str(text))
    return [[[bytes([of[c]]) for c in piece], count] for piece, count in counts.items()]


def pair_counts(all_pieces):
    counts = collections.Counter()
    for tokens, count in all_pieces:
        for pair in zip(tokens, tokens[1:]):
            counts[pair] += count
    return counts


def merge(tokens, pair):
    out, i = [], 0
    while i < len(tokens):
        both = i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == pair
        out.append(tokens[i] + tokens[i + 1] if both else tokens[i])
        i += 2 if both else 1
    return out


def replay(name, text, learned):
    """Each token joins a pair that is the most frequent one at its time."""
    all_pieces = pieces(text)
    for step, token in enumerate(learned, 1):
        counts = pair_counts(all_pieces)
        most = max(counts.values())
        best = [pair for pair, count in counts.items() if count == most and pair[0] + pair[1] == token]
        if not best:
            sys.exit(f"{name}: step {step}: {token!r} is no pair that occurs {most} times")
        for piece in all_pieces:
            piece[0] = merge(piece[0], best[0])
    print(f"{name}: {len(learned)} merges, each of a most frequent pair")


def compare(tool, path, n):
    text = open(path, encoding="utf-8", newline="").read()
    ours = learn_tg(tool, path, n)
    try:
        theirs = learn_rustbpe(documents(text), n)
        if ours != theirs:
            at = next(i for i, (a, b) in enumerate(zip(ours + [None], theirs + [None])) if a != b)
            sys.exit(f"rustbpe: id {at} is {theirs[at:at + 1]}, tg-bpe's is {ours[at:at + 1]}")
        print(f"rustbpe: the same {len(ours)} tokens")
    except ImportError:
        print("rustbpe is not installed")
    try:
        theirs = learn_tokenizers(documents(text), n)
        common = len(set(ours) & set(theirs))
        print(f"tokenizers: {common} of {len(ours)} tokens are the same")
        if len(text) < 200000:
            replay("tokenizers", text, theirs[256:])
            replay("tg-bpe", text, ours[256:])
    except ImportError:
        print("tokenizers is not installed")


def measure(tool, path, n, rounds=5):
    text = open(path, encoding="utf-8", newline="").read()
    parts = documents(text)
    runs = {"tg-bpe": lambda: learn_tg(tool, path, n), "rustbpe": lambda: learn_rustbpe(parts, n),
            "tokenizers": lambda: learn_tokenizers(parts, n)}
    seconds = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.monotonic()
            run()
            seconds[name].append(time.monotonic() - start)
    for name, all_seconds in seconds.items():
        middle = sorted(all_seconds)[len(all_seconds) // 2]
        print(f"{name}\t{middle:.2f} s\t{os.path.getsize(path) / middle / 1e6:.1f} MB/s\t"
              + " ".join(f"{s:.2f}" for s in all_seconds))


if __name__ == "__main__":
    words = sys.argv[1:]
    work = measure if words[0] == "--time" else compare
    words = words[words[0] == "--time":]
    work(words[0], words[1], int(words[2]) if len(words) > 2 else 1024)
