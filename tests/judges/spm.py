#!/usr/bin/env python3
"""tg's SentencePiece tokenizers against sentencepiece and tokenizers.

    spm.py BIN TEXT     models trained on TEXT: sentencepiece's and tokenizers' ids, also of the tokenizer.json
                        that tg writes of them?

Texts that are not UTF-8, or with characters that a judge
changes, are not compared: sentencepiece replaces such bytes by U+FFFD.
"""
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import sentencepiece

SPACE = "\u2581"
CHINESE = os.path.join(os.path.dirname(__file__), "../../docs/checkpoints.zh-CN.md")


def run(command, text):
    out = subprocess.run(command, input=text.encode(), check=True, stdout=subprocess.PIPE).stdout
    return [int(line) for line in out.split()]


def texts(corpus):
    """Edge cases, a corpus, and random mixtures."""
    chosen = random.Random(7)
    yield from ["", " ", "  ", "a", " a", "a ", "  a  b  ", "\n", "\n\n", "\t", "\r\n \n", "Hello world", SPACE, "a" + SPACE + "b",
                SPACE + SPACE + "x", "<user>", "a<user>b", "<user> <user>", " <user>", "<s>", "</s>x", "<unk>",
                "<0x41>", "\u4e2d\u6587", "caf\u00e9 \U0001F999 \u00e9\u0301", "\x00\x01", "a" * 3000, " " * 3000,
                "ab" * 2000, SPACE * 2500, "\U0001F999" * 999, "the " * 1500, "thethe" * 700]
    yield corpus
    with open(CHINESE, encoding="utf-8") as f:
        yield f.read()
    letters = ["a", "b", "e", "t", "th", "the", " ", "  ", SPACE, "\n", "<user>", "<us", "\t", "\u00e9", "\u4e2d", "\U0001F999", ",",
               "Z", "0", "<s>"]
    for _ in range(150):
        some = chosen.sample(letters, chosen.randint(1, len(letters)))
        yield "".join(chosen.choice(some) for _ in range(chosen.randint(1, 600)))
    words = corpus.split(" ")
    for _ in range(150):
        at = chosen.randrange(len(words) - 50)
        yield chosen.choice(["", " ", "  "]).join(words[at:at + chosen.randint(1, 50)])


def compare(name, tg, judge, cases):
    """Ids of all texts; one process each is slow, so most texts are judged by few long ones."""
    for text in cases:
        got, want = tg(text), judge(text)
        if got != want:
            at = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), min(len(got), len(want)))
            sys.exit(f"{name}: {text[:200]!r}: id {at} of {len(want)}: {got[at:at + 5]}, not {want[at:at + 5]}")


def train(corpus, where, name, **options):
    prefix = os.path.join(where, name)
    sentencepiece.SentencePieceTrainer.train(
        input=options.pop("text", corpus), model_prefix=prefix, model_type="bpe", minloglevel=2, remove_extra_whitespaces=False,
        normalization_rule_name="identity", **{"vocab_size": 1500, "byte_fallback": True, **options})
    return prefix + ".model"


def write_llama2c(path, processor):
    """tokenizer.bin, as llama2.c's tokenizer.py writes it."""
    pieces = []
    for i in range(processor.vocab_size()):
        text = {1: "\n<s>\n", 2: "\n</s>\n"}.get(i, processor.id_to_piece(i))
        pieces.append((processor.get_score(i), text.replace(SPACE, " ").encode()))
    with open(path, "wb") as f:
        f.write(struct.pack("<I", max(len(text) for _, text in pieces)))
        for score, text in pieces:
            f.write(struct.pack("<fI", score, len(text)) + text)


def write_json(path, processor, pre, user):
    """A tokenizer.json: merges are all pairs of pieces that are a piece, from the highest score."""
    vocab = {processor.id_to_piece(i): i for i in range(processor.vocab_size())}
    special = [i for i in vocab.values() if processor.is_control(i) or processor.is_unknown(i)]
    merges = []
    for piece, i in vocab.items():
        if i in special or processor.is_byte(i):
            continue
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in vocab and right in vocab:
                merges.append((-processor.get_score(i), vocab[left], vocab[right], left, right))
    merges.sort()
    added = [{"id": i, "content": processor.id_to_piece(i), "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i in special]
    new = [text for text in user if text not in vocab]
    ids = {**vocab, **{text: len(vocab) + i for i, text in enumerate(new)}}
    added += [{**added[0], "id": ids[text], "content": text, "special": False} for text in user]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, replace]}
    pre_tokenizer = None
    if pre == "none":
        normalizer = replace
        pre_tokenizer = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    elif pre != "prepend":
        normalizer = None
        pre_tokenizer = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": pre, "split": False}
    decoder = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
             "vocab": vocab, "merges": [[left, right] for *_, left, right in merges]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
                   "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
                   "decoder": decoder, "model": model}, f, ensure_ascii=False)


def check_models(tool, path, where):
    with open(path, encoding="utf-8") as f:
        corpus = f.read()
    variants = {
        "plain": {}, "no-prefix": {"add_dummy_prefix": False},
        "user": {"user_defined_symbols": ["<user>", SPACE + SPACE, "\t", "<us"]},
        "user-no-prefix": {"user_defined_symbols": ["<user>", SPACE + SPACE, "\t", "th"], "add_dummy_prefix": False},
        "no-bytes": {"byte_fallback": False, "character_coverage": .99},
        "chinese": {"text": CHINESE, "vocab_size": 2000},
        "across-words": {"split_by_whitespace": False, "max_sentencepiece_length": 32, "vocab_size": 1200}}
    for name, options in variants.items():
        model = train(path, where, name, **options)
        processor = sentencepiece.SentencePieceProcessor(model_file=model)
        judge = lambda text: processor.encode(text)
        compare(name, lambda text: run([tool, "-t", model, "--ids"], text), judge, texts(corpus))
        print(f"{name}: the same ids")
        check_written(tool, name, model, corpus, where, user=name == "user")
        if name == "plain":
            binary = os.path.join(where, "tokenizer.bin")
            write_llama2c(binary, processor)
            compare("tokenizer.bin", lambda text: run([tool, "-t", binary, "--ids"], text), judge, texts(corpus))
            print("tokenizer.bin: the same ids")
            check_written(tool, "tokenizer.bin", binary, corpus, where)
            check_json(tool, processor, corpus, where)


def check_json(tool, processor, corpus, where):
    import tokenizers
    for pre, user in itertools.product(["prepend", "none", "first", "always", "never"], [[], ["<user>", "th", "<us"]]):
        path = os.path.join(where, "tokenizer.json")
        write_json(path, processor, pre, user)
        hf = tokenizers.Tokenizer.from_file(path)
        # <s>, </s> and <unk> in a text are ids to tokenizers in any case
        cases = [text for text in texts(corpus) if "\x00" not in text]
        compare(f"tokenizer.json, {pre}", lambda text: run([tool, "-t", path, "--special", "--ids"], text),
                lambda text: hf.encode(text, add_special_tokens=False).ids, cases)
        print(f"tokenizer.json, {pre}, {len(user)} tokens that are not special: the same ids")
        check_written(tool, f"tokenizer.json, {pre}, {len(user)} tokens that are not special", path, corpus, where)


def check_written(tool, name, source, corpus, where, user=False):
    """The tokenizer.json that tg writes of a vocabulary: tokenizers' ids and texts, and tg's own when it reads it."""
    import tokenizers
    path = os.path.join(where, "written.json")
    out = subprocess.run([tool, "-t", source, "--to", "tokenizer.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if user:
        if out.returncode != 2 or b"is user-defined, and a space is put before it" not in out.stderr:
            sys.exit(f"{name}: {out.stderr}, expected a refusal")
        print(f"{name}, written: refused")
        return
    with open(path, "wb") as f:
        f.write(out.stdout)
    hf = tokenizers.Tokenizer.from_file(path)
    added = set(hf.get_added_tokens_decoder())
    for text in texts(corpus):
        if "\x00" in text:
            continue
        want = run([tool, "-t", source, "--special", "--ids"], text)
        if run([tool, "-t", path, "--special", "--ids"], text) != want:
            sys.exit(f"{name}, written: tg has other ids for {text[:200]!r}")
        got = hf.encode(text, add_special_tokens=False).ids
        if got != want:
            at = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), min(len(got), len(want)))
            sys.exit(f"{name}, written: {text[:200]!r}: tokenizers has {got[at:at + 5]}, not {want[at:at + 5]}")
        decoded = hf.decode(want, skip_special_tokens=False)
        # after an added token, the decoder keeps the space that encoding puts there; Metaspace puts none before a space
        again = text.replace(SPACE, " ")
        if hf.pre_tokenizer and again[:1] == " ":
            again = again[1 if "always" in str(hf.pre_tokenizer) or "first" in str(hf.pre_tokenizer) else 0:]
        if added.isdisjoint(want) and decoded != again:
            sys.exit(f"{name}, written: {text[:200]!r} is {decoded[:200]!r} again")
    print(f"{name}, written: the same ids, and texts")


def field(number, value):
    """A field of a protobuf: a number, or bytes."""
    def varint(n):
        return bytes([n & 127 | 128 * (n > 127)]) + (varint(n >> 7) if n > 127 else b"")
    if isinstance(value, int):
        return varint(8 * number) + varint(value)
    return varint(8 * number + 2) + varint(len(value)) + value


def write_model(path, pieces, prefix):
    """A tokenizer.model of (text, score), after the unknown piece, <s>, </s> and the bytes."""
    def piece(text, score, kind):
        return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + field(3, kind))
    out = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
    out += b"".join(piece(f"<0x{b:02X}>", 0, 6) for b in range(256))
    out += b"".join(piece(text, score, 1) for text, score in pieces)
    out += field(2, field(3, 2) + field(35, 1)) + field(3, field(1, b"identity") + field(3, prefix) + field(4, 0))
    with open(path, "wb") as f:
        f.write(out)


def check_random(tool, where, n=150):
    """Random pieces, many with the scores of others: tokenizers' ids, or a refusal."""
    import tokenizers
    chosen = random.Random(11)
    source, path = os.path.join(where, "random.model"), os.path.join(where, "random.json")
    refused = 0
    for _ in range(n):
        letters = chosen.choice(["ab", "abc", "ab" + SPACE, "abcdef"])
        longer = {"".join(chosen.choices(letters, k=chosen.randint(2, chosen.choice([2, 3, 5])))) for _ in range(chosen.randint(1, 14))}
        scores = chosen.choice([3, 8, 40, 1000])
        pieces = [(text, -chosen.randint(1, scores)) for text in sorted(longer)] + [(text, -2000 - i) for i, text in enumerate(letters)]
        chosen.shuffle(pieces)
        write_model(source, pieces, chosen.randint(0, 1))
        out = subprocess.run([tool, "-t", source, "--to", "tokenizer.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if out.returncode:
            refused += 1
            if out.returncode != 2 or b"the score of another" not in out.stderr and b"whose score others have" not in out.stderr:
                sys.exit(f"random pieces {pieces}: {out.stderr}")
            continue
        with open(path, "wb") as f:
            f.write(out.stdout)
        hf = tokenizers.Tokenizer.from_file(path)
        text = "".join(chosen.choices(letters.replace(SPACE, " ") + "\n", [9] * len(letters) + [1], k=6000))
        for command in (source, path):
            if run([tool, "-t", command, "--ids"], text) != hf.encode(text, add_special_tokens=False).ids:
                sys.exit(f"random pieces {pieces}: {command} has other ids than tokenizers")
    if not n / 10 < refused < n * 9 / 10:
        sys.exit(f"{refused} of {n} random vocabularies are refused")
    print(f"random pieces, written: the same ids of {n - refused}, {refused} refused")


def main():
    tools, corpus = sys.argv[1:]
    tool = os.path.join(tools, "tg-tokenize")
    with tempfile.TemporaryDirectory() as where:
        check_random(tool, where)
        check_models(tool, corpus, where)


main()
