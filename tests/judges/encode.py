#!/usr/bin/env python3
"""tg-tokenize's ids and speed against tiktoken's and gigatoken's, with GPT-2's vocabulary.

    encode.py TG-TOKENIZE VOCAB.BPE TEXT...           the same ids?
    encode.py --time TG-TOKENIZE VOCAB.BPE TEXT...    MB of text per second of one thread, in turns

Times are seconds of the processor, as the machine may have other work.  tg-tokenize is a process of its
own: its time includes reading the vocabulary.  gigatoken keeps every piece that it has seen, so its first
encoding of a text is timed besides the following ones; tg-tokenize starts anew each time.
"""
import base64
import os
import resource
import subprocess
import sys
import tempfile
import time

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
TURNS = 3


def ranks(path):
    """The bytes of each token -> its id, from vocab.bpe."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    byte = {**{chr(b): b for b in shown}, **{chr(256 + i): b for i, b in enumerate(hidden)}}
    found = {bytes([b]): i for i, b in enumerate(shown + hidden)}
    with open(path, encoding="utf-8") as f:
        next(f)
        for line in f:
            found[bytes(byte[c] for c in line if c not in " \n")] = len(found)
    return found


class Tg:
    name = "tg-tokenize"

    def __init__(self, tool, vocabulary):
        self.command = [tool, "-t", vocabulary]

    def ids(self, path):
        out = subprocess.run([*self.command, "--ids", path], check=True, stdout=subprocess.PIPE).stdout
        return [int(line) for line in out.split()]

    def times(self, path):
        def used():
            u = resource.getrusage(resource.RUSAGE_CHILDREN)
            return u.ru_utime + u.ru_stime
        for _ in range(TURNS):
            before = used()
            subprocess.run([*self.command, "-o", "/dev/null", path], check=True,
                           env={**os.environ, "OMP_NUM_THREADS": "1"})
            yield used() - before


class InProcess:
    def times(self, path):
        with open(path, "rb") as f:
            text = self.text(f.read())
        for _ in range(TURNS):
            before = time.process_time()
            self.encode(text)
            yield time.process_time() - before

    def ids(self, path):
        with open(path, "rb") as f:
            return [int(i) for i in self.encode(self.text(f.read()))]


class Tiktoken(InProcess):
    name = "tiktoken"

    def __init__(self, tokens):
        import tiktoken
        self.encoding = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=tokens, special_tokens={})

    def text(self, data):
        return data.decode("utf-8", "replace")

    def encode(self, text):
        return self.encoding.encode_to_numpy(text)


class Gigatoken(InProcess):
    name = "gigatoken"

    def __init__(self, tokens):
        import gigatoken
        with tempfile.NamedTemporaryFile("wb", suffix=".tiktoken") as f:
            f.writelines(base64.b64encode(t) + b" %d\n" % i for t, i in tokens.items())
            f.flush()
            self.path = f.name
            self.tokenizer = gigatoken.Tokenizer.from_tiktoken(f.name, pretokenizer="gpt2")

    def text(self, data):
        return data

    def encode(self, text):
        return self.tokenizer.encode(text)


def main():
    timed = sys.argv[1:2] == ["--time"]
    tool, vocabulary, *texts = sys.argv[1 + timed:]
    tokens = ranks(vocabulary)
    for path in texts:
        size = os.path.getsize(path) / 1e6
        judged = [Tg(tool, vocabulary), Gigatoken(tokens), Tiktoken(tokens)]
        if timed:
            for turns in zip(*(j.times(path) for j in judged)):
                print(path, *(f"{j.name} {size / t:.1f}" for j, t in zip(judged, turns)), flush=True)
            continue
        want = judged[0].ids(path)
        for j in judged[1:]:
            if j.ids(path) != want:
                sys.exit(f"{path}: {j.name} has other ids")
    print("MB/s" if timed else "the same ids")


main()
