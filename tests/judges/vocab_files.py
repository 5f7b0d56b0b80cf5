#!/usr/bin/env python3
"""tg's ids with llama.cpp's vocabulary files: models/ggml-vocab-*.gguf of its sources, which have texts in a
file .inp beside them, and the ids of each in a file .out.

    vocab_files.py BIN DIRECTORY

Prints a line for each file: the same ids, refused and why, or what DIFFERS, in which case it exits with 1.
"""
import os
import subprocess
import sys


def cases(path):
    with open(path + ".inp", "rb") as f:
        texts = f.read().split(b"\n__ggml_vocab_test__\n")
    with open(path + ".out", encoding="ascii") as f:
        return zip(texts, (line.split() for line in f.read().split("\n")))


def judge(tool, path):
    """What differs, and why the file is refused."""
    for n, (text, want) in enumerate(cases(path)):
        got = subprocess.run([tool, "-q", "-t", path, "--ids"], input=text, capture_output=True)
        if got.returncode:
            return None, got.stderr.decode().strip().split(": ", 2)[-1]
        if got.stdout.decode("ascii").split() != want:
            return f"text {n}, {text[:40]}", None
    return None, None


def main():
    tools, directory = sys.argv[1:]
    bad = 0
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not name.endswith(".gguf") or not os.path.exists(path + ".inp"):
            continue
        differs, refused = judge(os.path.join(tools, "tg-tokenize"), path)
        bad += differs is not None
        print(f"{name}: {'DIFFERS: ' + differs if differs else 'refused: ' + refused if refused else 'the same ids'}")
    sys.exit(bad > 0)


main()
