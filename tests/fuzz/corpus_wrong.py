"""Files of this project, and texts, that are wrong in one place (make_corpus.py)."""
from corpus_files import *


def dumps():
    x = np.arange(1, 13, dtype="f4").reshape(1, 3, 2, 2) / 16
    head = {"kind": np.array(b"attention"), "version": 1, "dump/layout": np.array(b"bthd"), "dump/n_layer": 2, "dump/n_head": 2, "dump/n_embd": 4, "dump/mask": np.array(b"min")}
    square = x.reshape(-1)[:9].reshape(1, 1, 3, 3) * np.ones((1, 2, 1, 1), "f4")
    whole = {
        "scores": {"h.1.scores": square}, "probs": {"h.0.probs": square / 16}, "qk": {"h.0.q": x, "h.0.k": x}, "qk-heads-first": {"dump/layout": np.array(b"bhtd"), "h.1.q": x.reshape(1, 2, 3, 2), "h.1.k": x.reshape(1, 2, 3, 2)},
        "ids": {"dump/ids": np.arange(3), "dump/text": np.array([b"a", b"bc", b""]), "h.0.x": x.reshape(1, 3, 4)}, "order": {"h.1.q": x, "h.0.q": x, "h.1.v": x, "h.0.k": x},
        "others": {"h.x.q": x, "h.0q": x, "h.0.what": x, "what": x}, "none": {}, "not-finite": {"h.0.scores": np.where(np.tri(3) > 0, square, np.float32(np.inf))},
        "many-channels": {"dump/n_embd": 1 << 56, "h.0.scores": square},
        "source": {"dump/source": np.array(b"-m model.npz"), "h.0.q": x},
        "minus-inf": {"dump/mask": np.array(b"-inf"), "h.0.scores": np.where(np.tri(3) > 0, square, np.float32(-np.inf))},
    }
    for name, more in whole.items():
        put("dump", name + ".npz", members(head | more, True))
    put("dump", "two.npz", members(head, True) + members(head, True))
    wrong = {
        "kind": {"kind": np.array(b"tokens")}, "version": {"version": 9}, "layout": {"dump/layout": np.array(b"what")}, "no-layers": {"dump/n_layer": 0}, "no-heads": {"dump/n_head": 0}, "heads": {"dump/n_head": 3},
        "no-channels": {"dump/n_embd": 0}, "channels": {"dump/n_embd": 1 << 61}, "many": {"dump/n_embd": 1 << 59, "h.0.x": np.zeros((1, 3, 4), "f4")}, "mask": {"dump/mask": np.array(b"x")}, "layer": {"h.2.q": x}, "far-layer": {"h.99999999999999999999999.q": x},
        "type": {"h.0.q": x.astype("f8")}, "integers": {"h.0.q": x.astype("i4")}, "dimensions": {"h.0.q": x[0, 0]}, "five": {"h.0.q": x[None]}, "empty": {"h.0.q": x[:0]}, "shape": {"h.0.q": x[..., :1]}, "three": {"h.0.q": x[0]},
        "other-shape": {"h.0.q": x, "h.0.k": x[:, :2]}, "twice": {"h.0.q": x, "h.00.q": x}, "infinite": {"h.0.v": x * np.float32(np.inf)}, "infinite-score": {"h.0.scores": square * np.float32(np.inf)},
        "above": {"h.0.probs": square + 1}, "below": {"h.0.probs": square - 1}, "nan": {"h.0.probs": square * np.float32(np.nan)}, "ids-type": {"dump/ids": np.arange(3, dtype="i4")}, "ids-kind": {"dump/ids": np.ones(3)}, "ids-shape": {"dump/ids": np.ones((1, 3), "i8")},
        "ids-empty": {"dump/ids": np.zeros(0, "i8")}, "text-type": {"dump/text": np.arange(3)}, "text-length": {"dump/ids": np.arange(3), "dump/text": np.array([b"a"])}, "ids-length": {"h.0.q": x, "dump/ids": np.arange(2)}, "size-type": {"dump/n_head": 2.0},
        "choice-type": {"dump/mask": 1}, "source-type": {"dump/source": 1}, "source-long": {"dump/source": np.array(b"x" * 1024)},
    }
    for name, more in wrong.items():
        put("dump", "wrong-%s.npz" % name, members(head | more))
    first = {"kind": head["kind"], "version": 1}
    put("dump", "third.npz", members(first | {"dump/n_head": 2}))
    put("dump", "before.npz", members(first | {"dump/layout": head["dump/layout"], "h.0.q": x}))
    put("dump", "no-embd.npz", members({k: v for k, v in head.items() if "embd" not in k}, True))
    put("dump", "no-mask.npz", members({k: v for k, v in head.items() if "mask" not in k}, True))
    put("dump", "cut.npz", members(head | {"h.0.q": x})[:-20])
    put("dump", "ids-cut.npz", members(head | {"dump/ids": np.arange(3)})[:-9])


def token_files():
    head = {"kind": np.array(b"tokens"), "version": 1, "tokenizer/kind": np.array(b"ids"), "tokenizer/vocab_size": 300}
    first = "tokens/00000000"
    ids = np.array([1, 2, 299], "u2")
    last = list(head)[-1]
    for name, more in {
            "plain": {first: ids}, "narrow": {first: ids.astype("u1")}, "wide": {first: ids.astype("u4")}, "two": {first: ids, "tokens/00000001": ids}, "goes-on-last": {first: ids, "goes_on": 1}, "none": {},
            "empty": {first: ids[:0]}, "bytes": {"tokenizer/kind": np.array(b"bytes"), last: 256, first: ids.astype("u1")}, "wide-vocab": {last: 70000, first: ids.astype("u4")}, "wide-id": {last: 70000, first: np.array([65536], "u4")},
            "narrow-vocab": {last: 256, first: ids.astype("u1")}}.items():
        data = members(head | more, True)
        for pad in range(3):  # what is asked for depends on the size
            put("token_file", "%s-%d.npz" % (name, pad), data[:-2] + struct.pack("<H", 12 * pad) + b"." * 12 * pad)
    for name, more in {
            "order": {"tokens/00000001": ids}, "signed": {first: ids.astype("i2")}, "long": {first: ids.astype("u8")}, "square": {first: ids[None]}, "beyond": {first: ids + np.uint16(1)}, "goes-on": {"goes_on": 1}, "goes-on-2": {first: ids, "goes_on": 2},
            "goes-on-more": {first: ids, "goes_on": 1, "x": 1}, "goes-on-type": {first: ids, "goes_on": 1.5}, "after": {first: ids, "x": 1}, "before": {"x": 1}, "kind": {"kind": np.array(b"model")}, "version": {"version": 2},
            "tokenizer": {"tokenizer/kind": np.array(b"what")}, "tokenizer-type": {"tokenizer/kind": 1}, "size-type": {last: 1.5}, "size-0": {last: 0}, "size-large": {last: 1 << 40}, "late": {first: ids, "tokenizer/vocab_size": 1},
            "chars": {"tokenizer/chars": ids}}.items():
        put("token_file", "wrong-%s.npz" % name, members(head | more))
    put("token_file", "no-kind.npz", members({"version": 1, first: ids}))
    put("token_file", "no-tokenizer.npz", members({"kind": head["kind"], "version": 1, first: ids}))
    put("token_file", "size-first.npz", members({"kind": head["kind"], "version": 1, last: 300, first: ids}))
    put("token_file", "no-size.npz", members({k: v for k, v in head.items() if k != last} | {first: ids}))
    whole = members(head | {first: ids, "goes_on": 1}, True)
    put("token_file", "goes-on.npz", whole + members(head | {first: ids}, True))
    put("token_file", "goes-on-other.npz", whole + members(head | {last: 301, first: ids}, True))
    put("token_file", "goes-on-cut.npz", whole)
    put("token_file", "concatenated.npz", members(head | {first: ids}, True) * 2)
    put("token_file", "concatenated-other.npz", members(head | {first: ids}, True) + members(head | {last: 301, first: ids}, True))
    put("token_file", "archive-empty.npz", archive({}))
    put("token_file", "cut.npz", members(head | {first: ids})[:-3])
    header = lambda n, version=1: struct.pack("<III", 20240520, version, n) + bytes(1012)
    for pad in range(12):
        put("token_file", "llmc-%d.bin" % pad, header(3 + pad) + struct.pack("<%dH" % (3 + pad), *range(3 + pad)))
        put("token_file", "bare-%d.bin" % pad, struct.pack("<%dH" % (3 + pad), *range(3 + pad)))
        put("token_file", "bare-odd-%d.bin" % pad, struct.pack("<%dH" % (3 + pad), *range(3 + pad)) + b"x")
    put("token_file", "llmc-cut.bin", header(3) + b"ab")
    put("token_file", "llmc-more.bin", header(1) + b"abcd")
    put("token_file", "llmc-version.bin", header(1, 9) + b"ab")
    put("token_file", "llmc-header.bin", header(1)[:500])
    put("token_file", "text", b"no tokens at all: this is a text")


def encoders():
    text = b"ab<|e|>\n abc<|e ab<|ab <|e|\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80 \xe2\x82\xff"
    for kind in 0, 1, 2, 3, 4, 129, 64, 194:  # bytes, char, char of half the text, ids, bpe; with special tokens, added ones, both searched
        for pieces in 0, 1, 77:
            put("encoder", "%d-%d" % (kind, pieces), bytes([kind, pieces]) + text)


def runs():
    with tempfile.TemporaryDirectory() as d:
        run("tg-init", "-o", "m.npz", "--tokenizer", "ids", "--vocab-size", "3", "--n-layer", "1", "--n-head", "1", "--n-embd", "2", "--n-ctx", "2", "--layer-norm-weight", "no", "--layer-norm-bias", "no", "--linear-bias", "no", cwd=d)
        ids = struct.pack("<64H", *[i * i % 3 for i in range(64)])
        (pathlib.Path(d) / "t.npz").write_bytes(run("tg-convert", "-", "--from", "uint16", "--vocab-size", "3", cwd=d, data=ids))
        run("tg-train", "-m", "m.npz", "--steps", "2", "--batch", "1", "t.npz", cwd=d)
        with zipfile.ZipFile(d + "/m.npz") as z:
            trained = {n[:-4]: np.load(io.BytesIO(z.read(n))) for n in z.namelist()}
    few = ["train/" + n for n in ("steps", "batch", "accumulate", "warmup", "lr", "min_lr", "beta1", "beta2", "weight_decay", "clip", "val_fraction", "context", "text_crc")]
    put("trained", "own.npz", members({n: a for n, a in trained.items() if n not in few}, True))
    mean = {"train/steps": 3, "train/average": 2} | {"opt/a/" + n[6:]: trained[n[6:]] for n in trained if n.startswith("opt/m/")}
    put("trained", "limit-mean.npz", members({n: a for n, a in trained.items() if n not in few} | mean, True))
    # models with tokenizers that few formats can hold
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "t.npz").write_bytes(run("tg-tokenize", "--tokenizer", "char", cwd=d, data="a\u00e9\u4f60".encode()))
        for tokenizer in "t.npz", "bytes", "ids":
            sizes = ["--n-layer", "1", "--n-head", "1", "--n-embd", "1", "--n-ctx", "1", "--layer-norm-weight", "no", "--layer-norm-bias", "no", "--linear-bias", "no"]
            run("tg-init", "-f", "-o", "m.npz", "--tokenizer", tokenizer, "--vocab-size", "3" if tokenizer != "bytes" else "256", *sizes, cwd=d)
            with zipfile.ZipFile(d + "/m.npz") as z:
                data = archive({n[:-4]: bare(np.load(io.BytesIO(z.read(n)))) for n in z.namelist()}, method=zipfile.ZIP_DEFLATED)
            for to in "npz", "gguf", "hf", "llmc":
                for lossy in (False, True) if to == "hf" else (False,):
                    bundle("own-%s-%s-%d" % (tokenizer[:3], to, lossy), {"x": data}, FIRST, way(to, lossy=lossy))
    only_ids = members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"ids"), "tokenizer/vocab_size": 3}, True)
    for to in "npz", "gguf", "hf", "llmc":
        bundle("ids-beside-" + to, {"config.json": CONFIG, "model.safetensors": safetensors(weights()), "tokenizer.json": only_ids}, 0, way(to), 192)
    for name, more in {"zero": {"tokenizer/vocab_size": 0}, "large": {"tokenizer/vocab_size": 1 << 23}, "kind": {"tokenizer/kind": np.array(b"what")}, "bytes": {"tokenizer/kind": np.array(b"bytes")}, "more": {"tokenizer/chars": np.ones(1, "<u4")}}.items():
        put("vocab", "ids-%s.npz" % name, members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"ids"), "tokenizer/vocab_size": 3} | more, True))
    put("vocab", "size-first.npz", members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/vocab_size": 3}, True))
    put("vocab", "chars-signed.npz", members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"char"), "tokenizer/vocab_size": 3, "tokenizer/chars": np.arange(3, dtype="i4")}, True))
    put("vocab", "chars-square.npz", members({"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"char"), "tokenizer/vocab_size": 1, "tokenizer/chars": np.ones((1, 1), "u4")}, True))
    many = weights() | {"x%d" % i: np.zeros(0, "f4") for i in range(70)}
    bundle("notes", {"config.json": CONFIG, "model.safetensors": safetensors(many)}, LOSSY)
    names = list(trained)
    weights_at = next(i for i, n in enumerate(names) if n.endswith("wte.weight") and not n.startswith("opt"))
    head = {n: trained[n] for n in names[:weights_at] if not n.startswith("train/")}
    for name, value in {
            "seed": 1, "seed-array": np.zeros(2, "<u8"), "seed-size": np.uint32(1), "steps": 0, "batch": -1, "lr": np.nan, "lr-type": 1, "beta1": 1.0, "clip": np.array([1.0]), "precision": np.array(b"f8"), "precision-type": 1, "step": 1 << 62,
            "warmup": 1 << 50}.items():
        put("trained", "wrong-%s.npz" % name, members(head | {"train/" + name.split("-")[0]: value}))
    for name, value in {"linear_bias": 2, "tied": -1, "n_layer": 0, "n_head": 3, "layer_norm_epsilon": 0.0, "activation": np.array(b"relu"), "vocab_size": 1 << 40}.items():
        put("trained", "config-%s.npz" % name, members(head | {"config/" + name: value}))
    moments = {n: a for n, a in trained.items() if n.startswith("opt/")}
    v = next(n for n in moments if n.startswith("opt/v/"))
    for name, value in {"negative": -np.ones_like(trained[v]), "infinite": trained[v] * np.float32(np.inf), "shape": np.ones(1, "f4"), "type": trained[v].astype("f8")}.items():
        put("trained", "moment-%s.npz" % name, members(head | {v: value}))
    plain = {n: a for n, a in trained.items() if n in head or (n not in moments and not n.startswith("train/"))}

    def pack(name, arrays):
        put("trained", name + ".npz", members(arrays, True))

    pack("untrained", plain)
    pack("no-moments", plain | {"train/step": 1})
    pack("half", plain | {v: moments[v]})
    pack("context", plain | {"train/context": 9})
    pack("product", plain | {"train/steps": 10**12, "train/batch": 65536, "train/accumulate": 65536})
    pack("range", plain | {"train/dropout": 1.5})
    for n in 32, 33, 1025:  # as many as tests/fuzz/limits.h has room for, and one more; one more than lib/train/history.h
        losses = {"train/step": n, "train/history/step": np.arange(1, n + 1), "train/history/loss": np.ones(n)}
        arrays = {name: bare(np.asarray(a)) for name, a in ({k: a for k, a in trained.items() if k not in few} | losses).items()}
        put("trained", "limit-history-%d.npz" % n, archive(arrays, method=zipfile.ZIP_DEFLATED))
    for n in 32, 33:  # tokens of a probe: as many as lib/gpt/model.h has room for, and one more
        arrays = {k: a for k, a in trained.items() if k not in few} | {"probe/tokens": np.zeros(n, "<i4")}
        put("trained", "limit-probe-%d.npz" % n, archive({k: bare(np.asarray(a)) for k, a in arrays.items()}, method=zipfile.ZIP_DEFLATED))
    pack("stranger", plain | {"opt/m/what": 1, "train/what": 1})


def fields_changed():
    """Archives with one field of a header changed: two bytes at a time."""
    x = {"x": bare(np.int64(1))}
    for name, whole in {"plain": members(x, True), "stream": archive(x, stream=True), "zip64": archive(x, stream=True, zip64=True), "end64": with_zip64_end(x)}.items():
        begin = whole.index(b"PK\1\2")
        first = [*range(0, 30, 2), 31] + [whole.index(b"PK\7\10") + i for i in range(0, 24, 2) if b"PK\7\10" in whole]
        for at in first + [i for i in range(begin, len(whole) - 1, 2)]:
            put("archive", "%s-%d.npz" % (name, at), whole[:at] + bytes([whole[at] ^ 1, whole[at + 1] ^ 0x40]) + whole[at + 2:])
    whole = torch_file({"w": np.ones((1, 2), "f4")})
    begin = whole.index(b"PK\1\2")
    last = whole.rindex(b"PK\3\4")
    for at in [*range(last, last + 40, 2), *range(begin, begin + 46, 2), *range(len(whole) - 22, len(whole), 2)]:
        for low, high in (1, 0), (0, 0x40):
            put("torch_file", "field-%d-%d.pt" % (at, low), whole[:at] + bytes([whole[at] ^ low, (whole[at + 1] ^ high) if at + 1 < len(whole) else 0])[: len(whole) - at] + whole[at + 2:])


def vocabularies():
    """BPE vocabularies of tg that are wrong in one place."""
    head = {"kind": np.array(b"tokenizer"), "version": 1, "tokenizer/kind": np.array(b"bpe"), "tokenizer/vocab_size": 5}
    good = {"tokenizer/split": np.array(b"gpt2"), "tokenizer/normalizer": np.array(b"none"), "tokenizer/whole_pieces": 0, "tokenizer/ends": np.array([1, 2, 4, 7, 9], "<u4"),
            "tokenizer/tokens": np.frombuffer(b"ababaab<>", "u1"), "tokenizer/merges": np.array([[0, 1], [0, 2]], "<u4"), "tokenizer/special": np.array([4], "<u4")}
    u4 = lambda *v: np.array(v, "<u4")
    put("vocab", "bpe.npz", members(head | good, True))
    changes = [{"split": np.array(b"x")}, {"split": 1}, {"normalizer": np.array(b"x")}, {"whole_pieces": 2}, {"whole_pieces": 1.5}, {"whole_pieces": 1}, {"normalizer": np.array(b"nfc")}, {"ends": u4(1, 2, 4, 7, 8)}, {"ends": u4(1, 2, 4, 3, 9)},
               {"ends": u4(1, 2, 4, 7, 10)}, {"ends": u4(1, 2, 4, 7, 7), "tokens": np.frombuffer(b"ababaab", "u1")}, {"ends": u4(1, 2, 4, 7)}, {"ends": u4()}, {"ends": u4(1, 2)[None]}, {"ends": np.array([1, 2], "<u2")}, {"tokens": np.arange(9)},
               {"merges": u4(0, 1)}, {"merges": u4(0, 1, 2)[None]}, {"merges": u4(0, 9)[None]}, {"merges": u4(9, 0)[None]}, {"merges": u4(1, 0)[None]}, {"merges": u4(0, 4)[None]}, {"merges": u4(0, 1, 0, 1).reshape(2, 2)}, {"merges": np.zeros((0, 2), "<u4")},
               {"special": u4(5)}, {"special": u4(4, 4)}, {"special": u4(4, 3)}, {"special": u4(0)}, {"special": u4()}, {"tokens": np.frombuffer(b"abababb<>", "u1")}, {"tokens": np.frombuffer(b"aaabaab<>", "u1")}, {"vocab_size": 6}, {"what": 1},
               {"special": u4(2, 4)}, {"special": u4(3, 4), "tokens": np.frombuffer(b"abab<>><>", "u1"), "merges": u4(0, 1)[None]}, {"ends": u4(1, 2, 4, 7, 300), "tokens": np.frombuffer(b"ababaab" + b"s" * 293, "u1")},
               {"ends": u4(1, 2, 4, 7, 7007), "tokens": np.frombuffer(b"ababaab" + b"t" * 7000, "u1")}, {"ends": u4(1, 2, 4, 4, 4), "tokens": np.frombuffer(b"abab", "u1"), "special": u4(3, 4), "merges": u4(0, 1)[None]},
               {"ends": u4(1, 2, 4, 7, 9), "special": u4(3, 4), "tokens": np.frombuffer(b"ababaxyax", "u1"), "merges": u4(0, 1)[None]},
               {"added": u4(3)}, {"added": u4(4)}, {"added": u4(5)}, {"added": u4(3, 3)}, {"added": u4()}, {"added": u4(3)[None]}, {"added": u4(0)}, {"added": u4(3), "ends": u4(1, 2, 4, 4, 9)}, {"added": u4(3), "special": u4(4), "merges": u4(0, 1)[None]}]
    tokens = {"kind": np.array(b"tokens")}  # the vocabulary ends where something else begins
    for i, change in enumerate(changes):
        change = {"tokenizer/" + k: v for k, v in change.items()}
        put("vocab", "bpe-%d.npz" % i, members(head | tokens | good | change | {"x": 1}))
        put("vocab", "bpe-first-%d.npz" % i, members(head | change))
    for name in good:
        put("vocab", "bpe-no-%s.npz" % name[10:], members(head | tokens | {k: v for k, v in good.items() if k != name} | {"x": 1}))
    for split in "none", "gpt2-digits", "cl100k", "llama3", "qwen2", "o200k":
        put("vocab", "bpe-%s.npz" % split, members(head | good | {"tokenizer/split": np.array(split.encode()), "tokenizer/whole_pieces": 1}, True))


def texts():
    """Small JSON and other texts, each wrong, or odd, in one place."""
    odd = [("model_type", None), ("model_type", ""), ("model_type", "llama"), ("model_type", 1), ("model_type", "a\u00e9\n"), ("architectures", ["GPT2Model"]), ("architectures", ["GPT2ForSequenceClassification", "GPT2LMHeadModel"]),
           ("architectures", ["x" * 70]), ("architectures", "x"), ("architectures", [1]), ("pruned_heads", {}), ("pruned_heads", {"0": [1]}), ("pruned_heads", []), ("quantization_config", {}), ("n_inner", 8), ("n_inner", 9), ("n_inner", 12),
           ("activation_function", "gelu"), ("activation_function", "gelu_pytorch_tanh"), ("activation_function", "relu"), ("activation_function", 1), ("layer_norm_epsilon", 0.5), ("layer_norm_epsilon", "x"), ("n_ctx", 2), ("n_ctx", "x")]
    odd += [(name, value) for name in ("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention", "tie_word_embeddings") for value in (False, True, 1)]
    odd += [(name, "x") for name in ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size", "n_inner")]
    for i, (name, value) in enumerate(odd):
        put("hf", "config-%d.json" % i, json.dumps(CONFIG | {name: value}).encode())
    put("hf", "aliases.json", json.dumps({"model_type": "gpt2", "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 2, "max_position_embeddings": 2, "vocab_size": 3}).encode())
    put("hf", "defaults.json", b'{"model_type": "gpt2"}')
    put("hf", "more.json", b'{"model_type": "gpt2"} x')
    for i, index in enumerate([{"weight_map": {}}, {"weight_map": {"a": ""}}, {"weight_map": {"a": "../x"}}, {"weight_map": {"a": "x" * 300}}, {"weight_map": {"a": "x\0"}}, {"weight_map": {"a\0b": "x"}}, {"weight_map": {"": "x"}},
                               {"weight_map": {"x" * 300: "x"}}, {"weight_map": {"a": 1}}, {"weight_map": []}, {}, {"weight_map": {"b": "y", "a": "x", "c": "y"}}]):
        put("safetensors", "index-%d.json" % i, json.dumps(index).encode())
    put("safetensors", "index-twice.json", b'{"weight_map": {"a": "x", "a": "y"}}')
    put("safetensors", "index-damaged.json", b'{"weight_map": {"a": "x" 1')
    put("safetensors", "index-more.json", b'{"weight_map": {"a": "x"}} 1')

    x8 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    for i, head in enumerate([{"a": x8, "__metadata__": {"b": "1", "a": "2"}}, {"a": x8, "__metadata__": {"a": 1}}, {"a": x8, "__metadata__": []}, {"a": x8 | {"dtype": "F4"}}, {"a": x8 | {"dtype": 1}}, {"a": x8 | {"shape": [1 << 62, 4]}},
                              {"a": x8 | {"shape": [1] * 9}}, {"a": x8 | {"shape": 1}}, {"a": x8 | {"shape": [-1]}}, {"a": x8 | {"data_offsets": [0]}}, {"a": x8 | {"data_offsets": [0, 8, 9]}}, {"a": x8 | {"data_offsets": [8, 0]}},
                              {"a": x8 | {"data_offsets": [0, 9]}}, {"a": x8 | {"data_offsets": [0, 1 << 40]}}, {"a": x8, "b": x8}, {"a\0": x8}, {"a" * 300: x8}, {"": x8}, {"a": x8 | {"x": 1}}, {"a": {"dtype": "F32"}}, {"a": 1}, {}, {"a b\n": x8},
                              {"a": x8, "__metadata__": {"x\0": "1"}}, {"a": x8 | {"shape": []}}, {"a": x8 | {"data_offsets": "x"}}] +
                             [{"a": {"dtype": t, "shape": [8 // n], "data_offsets": [0, 8]}} for t, n in {"F64": 8, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "U16": 2, "U32": 4, "U64": 8}.items()]):
        text = json.dumps(head).encode()
        put("safetensors", "head-%d" % i, struct.pack("<Q", len(text)) + text + bytes(8))
    for i, text in enumerate([b'{"a":%s,"a":%s}' % ((json.dumps(x8).encode(),) * 2), b'{"__metadata__":{"a":"1","a":"2"}}', b'{"__metadata__":{},"__metadata__":{}}', b"{} x", b" {}", b"[]"]):
        put("safetensors", "text-%d" % i, struct.pack("<Q", len(text)) + text + bytes(8))
    put("safetensors", "length", struct.pack("<Q", 1 << 40) + b"{}")
    put("safetensors", "length-0", bytes(8))

    level = {"type": "ByteLevel", "add_prefix_space": False}
    no_regex = level | {"use_regex": False}
    small = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    gpt2 = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
    llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    qwen2 = llama3.replace("{1,3}", "")

    def tj(name, pre=level, model=small, **more):
        put("tokenizer_json", name + ".json", json.dumps({"pre_tokenizer": pre, "model": model} | more, separators=(",", ":")).encode())

    def sequence(*parts):
        return {"type": "Sequence", "pretokenizers": list(parts)}

    def split_by(pattern, behavior="Isolated", **more):
        return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior} | more

    digits = {"type": "Digits", "individual_digits": True}
    for i, pre in enumerate([level, no_regex, None, 1, {}, {"type": 1}, {"type": "Metaspace"}, level | {"add_prefix_space": True}, {"type": "ByteLevel"}, level | {"add_prefix_space": 1}, level | {"use_regex": 1}, {"type": "Sequence"},
                             {"type": "Sequence", "pretokenizers": 1}, sequence(), sequence(level, level), sequence(digits, level), sequence(digits, digits, level), sequence(level, digits), sequence({"type": "Digits"}, level), digits,
                             sequence(digits | {"individual_digits": 1}, level), sequence(digits, no_regex), sequence(split_by(gpt2), no_regex), sequence(split_by(gpt2), level), sequence(digits, split_by(gpt2), no_regex),
                             sequence(split_by(gpt2), split_by(gpt2), no_regex), sequence(split_by(llama3), no_regex), sequence(split_by(qwen2, "Removed", invert=True), no_regex), sequence(split_by(gpt2, "Removed"), no_regex),
                             sequence(split_by(gpt2, "Removed", invert=False), no_regex), sequence(split_by(gpt2, "Merged", invert=True), no_regex), sequence(split_by(gpt2, 1), no_regex), sequence(split_by(gpt2, invert=1), no_regex), sequence(split_by("x"), no_regex),
                             sequence(split_by(1), no_regex), sequence(split_by(llama3), digits, no_regex), sequence(digits, split_by(llama3), no_regex), sequence({"type": "Split", "behavior": "Isolated"}, no_regex),
                             sequence({"type": "Split", "behavior": "Isolated", "pattern": {"String": " "}}, no_regex), sequence({"type": "Split", "behavior": "Isolated", "pattern": 1}, no_regex), sequence({"type": "Split", "pattern": {}}, no_regex),
                             sequence(1), sequence(level, {"type": "Split", "behavior": "Isolated"})]):
        tj("pre-%d" % i, pre)
    for i, more in enumerate([{"normalizer": {"type": "NFC"}}, {"normalizer": {"type": "NFD"}}, {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}}, {"normalizer": {"type": "Sequence", "normalizers": []}}, {"normalizer": {"type": "Sequence"}},
                              {"normalizer": 1}, {"decoder": level}, {"decoder": {"type": "WordPiece"}}, {"decoder": {"type": "Sequence", "decoders": [level]}}, {"decoder": 1}, {"added_tokens": 1}, {"added_tokens": []}, {"added_tokens": [1]}, {"added_tokens": [{}]},
                              {"added_tokens": [{"id": 3}]}, {"added_tokens": [{"id": "x", "content": "<e>"}]}, {"added_tokens": [{"id": 3, "content": 1}]}] +
                             [{"added_tokens": [{"id": 3, "content": "<e>"} | change]} for change in ({}, {"id": 2, "content": "ab"}, {"id": 4, "content": "ab"}, {"id": 5}, {"id": 1}, {"content": ""}, {"lstrip": True}, {"rstrip": 1}, {"single_word": True}, {"content": "a\u00e9"}, {"content": "x" * 600})] +
                             [{"added_tokens": [{"id": 3, "content": "<e>"}, {"id": 4, "content": "<e>"}]}, {"added_tokens": [{"id": 4, "content": "<f>"}, {"id": 3, "content": "<e>"}]}]):
        tj("file-%d" % i, **more)
    for i, change in enumerate([{"type": "BPE"}, {"type": "WordPiece"}, {"type": 1}, {"vocab": None}, {"merges": None}, {"vocab": []}, {"vocab": {"a": "x"}}, {"vocab": {"a": 0, "b": 0}}, {"vocab": {"a": 0, "c": 2}}, {"vocab": {"": 0}}, {"vocab": {"a b": 0}}, {"vocab": {"\u4e00": 0}},
                                {"vocab": {"a" * 3000: 0}}, {"merges": {}}, {"merges": [1]}, {"merges": ["ab"]}, {"merges": ["a b c"]}, {"merges": ["a c"]}, {"merges": ["a b", "a b"]}, {"merges": ["b a"]}, {"merges": [["a", "b"]]}, {"merges": [["a"]]}, {"merges": [[]]},
                                {"merges": [["a", "b", "c"]]}, {"merges": [["a", 1]]}, {"merges": [[1, "a"]]}, {"merges": [["a" * 9000, "b"]]}, {"merges": [["", "b"]]}, {"ignore_merges": True}, {"ignore_merges": 1}, {"unk_token": "a"}, {"dropout": 0.5}, {"dropout": False},
                                {"byte_fallback": True}, {"byte_fallback": False}, {"continuing_subword_prefix": "##"}, {"continuing_subword_prefix": ""}, {"end_of_word_suffix": "</w>"}, {"merges": []}, {"vocab": {}, "merges": []}]):
        tj("model-%d" % i, model={k: v for k, v in (small | change).items() if v is not None})
    mapped = [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255 else None for b in range(256)]
    spare = iter(range(256, 512))
    mapped = [m or chr(next(spare)) for m in mapped]
    every = {m: i for i, m in enumerate(mapped)}
    tj("bytes", model={"vocab": every, "merges": [], "unk_token": "a"})
    tj("bytes-special", model={"vocab": every, "merges": []}, added_tokens=[{"id": 256, "content": "<|endoftext|>", "special": True}])
    tj("order", pre=no_regex, model={"vocab": {"b": 0, "a": 1, "ba": 2}, "merges": ["b a"]})
    added = lambda id, content, normalized: {"id": id, "content": content, "special": False, "normalized": normalized}
    tj("added", added_tokens=[added(3, "  ", True), added(4, "<e>", False)])
    tj("added-nfc", normalizer={"type": "NFC"}, added_tokens=[added(3, "  ", True), added(4, "e", True)])
    tj("added-overlap", added_tokens=[added(3, "xyz", True), added(4, "zx", False)])
    tj("special-text", added_tokens=[{"id": 3, "content": "\u0120x"}, {"id": 4, "content": "\x01\"\\"}])
    for i, text in enumerate([b"{}", b"", b"{", b'{"model": 1}', b'{"model": {}} x', b'{"model": {}, "model": {}}', b'{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}']):
        put("tokenizer_json", "text-%d.json" % i, text)

    line = lambda token, rank: base64.b64encode(token) + b" %d\n" % rank
    for i, text in enumerate([line(b"a", 0) + line(b"b", 1) + line(b"ab", 2), line(b"a", 0) + line(b"a", 1), line(b"a", 1), line(b"a", 0) + line(b"b", 0), b"YQ==\n", b"YQ== x\n", b"YQ== 99999999999999999999999\n", b"YQ== 0 1\n", b"Y! 0\n", b"= 0\n",
                              b" 0\n", line(b"a" * 900, 0), line(b"a" * 4000, 0), line(b"a", 0)[:-1], line(b"a", 0).replace(b"\n", b"\r\n"), line(b"a", 0) + b"\n", b"\n" + line(b"a", 0), line(b"a", 0) + line(b"ab", 1), b"".join(line(bytes([b]), b) for b in range(256)),
                              b"".join(line(bytes([b]), b) for b in range(256)) + line(b"ab", 256) + line(b"abc", 257) + line(b"xyz", 258)]):
        put("tiktoken", "line-%d" % i, text)

    def mapped_text(text):
        return "".join(mapped[b] for b in text.encode()).encode()

    chars = ["a", "\u00e9", "\u00ea", "\u4f60", "\u4f61", "\U0001F600"]
    merges = sorted({(mapped_text(c)[:0] + "".join(mapped[b] for b in c.encode()[:i]).encode(), mapped[c.encode()[i]].encode()) for c in chars for i in range(1, len(c.encode()))})
    tail = b"".join(a + b" " + b + b"\n" for a, b in merges)
    tokens = b"".join(mapped_text(c) + b"\n" for c in chars)
    put("gguf_vocab", "chars", b"\xf1\0" + tokens + b"\n" + tail)
    put("gguf_vocab", "chars-typed", b"\xf1\1" + tokens + b"[PAD6]\n[PAD7]\n\n" + tail)
    put("gguf_vocab", "chars-pad-order", b"\xf1\1" + tokens + b"[PAD7]\n\n" + tail)
    put("gguf_vocab", "chars-no-merges", b"\xf1\0" + tokens + b"\n")
    put("gguf_vocab", "chars-order", b"\xf1\0b\na\n\n")
    put("gguf_vocab", "bytes", b"\xf2\0" + b"".join(m.encode() + b"\n" for m in mapped) + b"\n")
    put("gguf_vocab", "bytes-few", b"\xf2\0a\nb\n\n")
    for rule in range(6):
        put("gguf_vocab", "rule-%d" % rule, bytes([rule, 0]) + b"a\nb\nab\nabc\nc\n\na b\n")
        put("gguf_vocab", "types-%d" % rule, bytes([rule, 1 << rule]) + b"a\nb\nab\nabc\nc\n\na b\n")
    put("gguf_vocab", "alike", b"\0\x18a\nb\nab\na\na\n\na b\n")
    put("merges", "rules", b"#version: 0.2\na b\nab c\n\0" + b'{"a":0,"b":1,"ab":2,"c":3,"abc":4,"<|endoftext|>":5}')
