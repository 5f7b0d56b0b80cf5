"""Models in the files of other programs, sound ones and wrong ones (make_corpus.py)."""
from corpus_files import *


def torch_models():
    """Checkpoints of one file: (name, bytes)."""
    w = turned(weights())
    yield "args", torch_file({"model": w, "model_args": ARGS})
    yield "state", torch_file({"state_dict": weights()})
    yield "bare", torch_file({"transformer." + k: a for k, a in w.items()})
    views = {k: np.asfortranarray(a) if "c_" in k and a.ndim == 2 else a for k, a in w.items()}
    yield "views", torch_file({"model": views, "model_args": ARGS})
    yield "some-views", torch_file({"model": turned(split(weights())) | {"h.0.attn.q_proj.weight": np.asfortranarray(w["wte.weight"][:2])}})
    yield "no-dict", torch_file({"model": 1, "model_args": 2})
    for name, value in ("n_layer", 0), ("n_layer", "1"), ("n_embd", 1 << 40), ("what", 1), (7, 1), ("vocab_size", 4):
        yield "args-%s-%s" % (name, value), torch_file({"model": {}, "model_args": {name: value}})
    yield "slice", torch_file({"wte.weight": np.zeros((4, 4), "f4")[::2, ::2]})
    yield "types", torch_file({"wte.weight": np.ones((3, 2), "f8"), "n": np.arange(3), "wpe.weight": np.ones((2, 2), "u2"), "h": np.ones(3, "f2"),
                               "one": 1.5, "empty": np.zeros((0, 3), "f4"), "scalar": np.array(2, "f4")})
    yield "nested", torch_file({"a": [{"b": w["wpe.weight"]}, (w["wte.weight"],)], 5: {"c": w["wpe.weight"]}})
    yield "list", torch_file([w["wpe.weight"], (w["wte.weight"],)])
    yield "long", torch_file({"x" * 100: {"y" * 100: {"z" * 100: w["wpe.weight"]}}})
    yield "missing", torch_file({"wte.weight": w["wte.weight"]}, **{"data/0": None})
    yield "short", torch_file({"wte.weight": w["wte.weight"]}, **{"data/0": b"abc"})
    yield "big-endian", torch_file({}, byteorder=b"big")
    yield "no-version", torch_file({}, version=None)
    yield "script", torch_file({}, **{"constants.pkl": b"x"})
    yield "two-pickles", torch_file({}, **{"x/data.pkl": b"x"})
    yield "no-pickle", torch_file({}, **{"data.pkl": None})
    yield "long-prefix", torch_file({}, **{"data.pkl": None, "p" * 140 + "/data.pkl": b"x"})
    one = {"w": w["wpe.weight"]}
    ordered = __import__("collections").OrderedDict
    for i, id in enumerate([lambda t: t[:4], lambda t: t + (1,), lambda t: ("x", *t[1:]), lambda t: (1, *t[1:]), lambda t: (t[0], "x", *t[2:]), lambda t: (t[0], ordered, *t[2:]), lambda t: (*t[:2], 1, *t[3:]),
                            lambda t: (*t[:3], 1, t[4]), lambda t: (*t[:4], "x"), lambda t: (*t[:4], -1), lambda t: (*t[:4], 3), lambda t: list(t), lambda t: (*t[:2], "k" * 300, *t[3:])]):
        yield "id-%d" % i, torch_file(one, edit_id=id)
    for i, args in enumerate([lambda t: t[:5], lambda t: t + (None,), lambda t: t + ({"a": 1},), lambda t: t + (None, 1), lambda t: (1, *t[1:]), lambda t: (t[0], "x", *t[2:]), lambda t: (t[0], -1, *t[2:]), lambda t: (t[0], 1, *t[2:]),
                              lambda t: (*t[:2], 1, *t[3:]), lambda t: (*t[:2], ("x",), *t[3:]), lambda t: (*t[:2], (1,) * 9, *t[3:]), lambda t: (*t[:3], (1,), *t[4:]), lambda t: (*t[:3], (0, 0), *t[4:]), lambda t: (*t[:3], (1, 3), *t[4:]),
                              lambda t: (*t[:4], 1, t[5]), lambda t: (*t[:5], None), lambda t: (*t[:5], {"a": 1}), lambda t: (*t[:2], (1 << 40, 1 << 40), (1, 1), *t[4:]), lambda t: (*t[:2], (1, 2), (7, 1), *t[4:]), lambda t: (*t[:2], (2, 1), (1, 2), *t[4:])]):
        yield "tensor-%d" % i, torch_file(one, edit_args=args)
    for i, more in enumerate([(True, ordered()), (True, {"a": 1}), (True,), (True, None)]):
        yield "parameter-%d" % i, torch_file(one, parameter=more)
    for i, offset in enumerate([0, 1 << 60]):  # 4 bytes each: 2^64 + 16
        yield "limit-storage-%d" % i, torch_file(one, edit_id=lambda t: (*t[:4], (1 << 62) + 4), edit_args=lambda t: (t[0], offset, *t[2:]))
    yield "order-size", torch_file(one, byteorder=b"big-endian")
    yield "no-order", torch_file(one, byteorder=None)
    whole = torch_file(one)
    yield "two-directories", whole[:-22] + whole
    yield "old", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


def checkpoints():
    w = weights()
    plain = safetensors(w)
    head = np.ones((3, 2), "f4")
    for i, to in enumerate(["npz", "safetensors", "gguf", "llmc", "hf"]):
        for type in "f32", "f16", "bf16", "q8_0":
            bundle("to-%s-%s" % (to, type), {"config.json": CONFIG, "model.safetensors": plain}, way=way(to, type))
    split_file = {"config.json": CONFIG, "model.safetensors": safetensors(split(w))}
    for to in "npz", "safetensors", "gguf", "llmc", "hf":
        bundle("split-to-" + to, split_file, FUSE, way(to, split=True))
    bundle("split", split_file)
    exact = CONFIG | {"activation_function": "gelu", "tie_word_embeddings": False, "layer_norm_epsilon": 1e-6}
    untied = {"config.json": exact, "model.safetensors": safetensors(w | {"lm_head.weight": head})}
    biased = {"model.safetensors": safetensors(w | {"lm_head.weight": head, "lm_head.bias": np.ones(3, "f4")})}
    for to in "npz", "safetensors", "gguf", "llmc", "hf":
        for lossy in False, True:
            bundle("gelu-to-%s-%d" % (to, lossy), untied, way=way(to, lossy=lossy))
            bundle("bias-to-%s-%d" % (to, lossy), biased, HEADS | FIRST, way(to, lossy=lossy))
    bundle("bias-zero", {"model.safetensors": safetensors(w | {"lm_head.weight": head, "lm_head.bias": np.zeros(3, "f4")})}, HEADS, way("llmc", lossy=True))
    for to in "safetensors", "gguf", "llmc":
        large = safetensors(w | {"wte.weight": np.full((3, 2), 3.4e38, "f4")})
        for type in "f16", "bf16":
            bundle("large-%s-%s" % (to, type), {"config.json": CONFIG, "model.safetensors": large}, way=way(to, type))

    # two heads of a width of 3, of one channel each
    put("model_file", "limit-heads.safetensors", safetensors(weights(C=3, **{"h.0.attn.c_attn.weight": np.ones((3, 6), "f4"), "h.0.attn.c_proj.weight": np.ones((2, 3), "f4")})))

    # what the tensors tell, and what contradicts them
    def alone(name, tensors, ask=HEADS, config=None, **types):
        bundle("tensors-" + name, ({"config.json": config} if config else {}) | {"model.safetensors": safetensors(tensors)}, ask)

    alone("alone", w, HEADS)
    alone("no-heads", w, 0)
    alone("odd-heads", w, 3 * HEADS)
    alone("other-heads", w, 2 * HEADS, CONFIG)
    alone("same-heads", w, HEADS | GELU_NEW, CONFIG)
    alone("no-such-heads", w, 0, CONFIG | {"n_head": 3})
    alone("other-gelu", w, GELU, CONFIG)
    alone("gelu", w, HEADS | GELU)
    alone("gelu-new", w, HEADS | GELU_NEW)
    alone("out-in", turned(w))
    alone("out-in-split", turned(split(w)), HEADS | FUSE)
    alone("biases", weights(bias=True))
    alone("some-biases", weights(bias=True, **{"h.0.ln_1.bias": None, "h.0.mlp.c_fc.bias": None}))
    alone("gains", weights(gain=True))
    alone("some-gains", weights(gain=True, **{"h.0.ln_1.weight": None}), HEADS, CONFIG)
    alone("no-wte", weights(**{"wte.weight": None}))
    alone("no-wpe", weights(**{"wpe.weight": None}))
    alone("no-fc", weights(**{"h.0.mlp.c_fc.weight": None}))
    alone("no-qkv", weights(**{"h.0.attn.c_attn.weight": None}))
    alone("more", w | {"what": head})
    alone("more-lossy", w | {"what": head}, HEADS | LOSSY)
    alone("masks", w | {"h.0.attn.bias": np.zeros((1, 1, 2, 2), "f4"), "h.0.attn.masked_bias": np.zeros((), "f4")})
    alone("integers", weights(**{"wpe.weight": np.zeros((2, 2), "i4")}))
    alone("shape", weights(**{"h.0.mlp.c_fc.weight": np.zeros((2, 7), "f4")}))
    alone("dimensions", weights(**{"wte.weight": np.zeros(6, "f4")}))
    alone("vector", weights(gain=True, **{"h.0.ln_1.weight": np.zeros((1, 2), "f4")}))
    alone("layers", w | {"h.5000.ln_1.weight": np.zeros(2, "f4")})
    alone("layer", w | {"h.1.ln_1.weight": np.zeros(2, "f4")}, 0, CONFIG)
    alone("two-layers", weights(L=2), 0, CONFIG | {"n_layer": 2})
    alone("layer-missing", w, 0, CONFIG | {"n_layer": 2})
    alone("twice", w | {"transformer.wte.weight": head})
    alone("prefixes", {"_orig_mod.module.model." + k: a for k, a in w.items()})
    alone("tied-head", w | {"lm_head.weight": w["wte.weight"]})
    alone("tied-head-told", w | {"lm_head.weight": head}, 0, CONFIG | {"tie_word_embeddings": True})
    alone("head-type", w | {"lm_head.weight": w["wte.weight"].astype("f8")})
    alone("head-other-type", w | {"lm_head.weight": head.astype("f8")})
    alone("head-integers", w | {"lm_head.weight": head.astype("i4")})
    alone("head-shape", w | {"lm_head.weight": np.zeros((4, 2), "f4")})
    alone("untied-no-head", w, 0, CONFIG | {"tie_word_embeddings": False})
    alone("bf16", {k: (a.view("u4") >> 16).astype("u2") for k, a in w.items()})
    alone("f8", {k: a.astype("f8") for k, a in w.items()})
    alone("f8-large", {k: a.astype("f8") * 1e300 for k, a in w.items()})
    alone("not-finite", weights(bias=True, **{"ln_f.bias": np.array([1, np.inf], "f4")}))
    q = split(w)
    alone("no-v", {k: a for k, a in q.items() if "v_proj" not in k}, HEADS | FUSE)
    alone("both", q | w, HEADS | FUSE)
    alone("q-shape", q | {"h.0.attn.q_proj.weight": np.zeros((2, 3), "f4")}, HEADS | FUSE)

    # names of the user's
    names = b"emb wte.weight\npos wpe.weight\nN.q h.N.attn.q_proj.weight%s\nN.k h.N.attn.k_proj.weight%s\nN.v h.N.attn.v_proj.weight%s\n" \
        b"N.o h.N.attn.c_proj.weight transposed\nN.up h.N.mlp.c_fc.weight\nN.down h.N.mlp.c_proj.weight\nN.mask -\n"
    rename = {"wte.weight": "emb", "wpe.weight": "pos", "h.0.attn.q_proj.weight": "0.q", "h.0.attn.k_proj.weight": "0.k", "h.0.attn.v_proj.weight": "0.v",
              "h.0.attn.c_proj.weight": "0.o", "h.0.mlp.c_fc.weight": "0.up", "h.0.mlp.c_proj.weight": "0.down"}
    named = {rename[k]: a for k, a in q.items() if k in rename} | {"0.mask": head}
    for i, t in enumerate([(b"",) * 3, (b" transposed",) * 3, (b" transposed", b"", b"")]):
        bundle("map-%d" % i, {"model.safetensors": safetensors(named), "names.txt": names % t}, MAP | FUSE | HEADS | FIRST)
    bundle("map-missing", {"model.safetensors": plain}, MAP | HEADS)
    bundle("map-wrong", {"model.safetensors": plain, "names.txt": b"a b c d"}, MAP | HEADS)
    bundle("map-stranger", {"model.safetensors": plain, "names.txt": b"emb wte.weight"}, MAP | HEADS)

    # several files
    half = list(w)[:8]
    map_of = {"weight_map": {k: "a.safetensors" if k in half else "b.bin" for k in w}}
    shards = {"a.safetensors": safetensors({k: w[k] for k in half}), "b.bin": torch_file({k: a for k, a in w.items() if k not in half})}
    bundle("index", {"config.json": CONFIG, "model.safetensors.index.json": map_of} | shards)
    bundle("index-bin", {"config.json": CONFIG, "pytorch_model.bin.index.json": map_of} | shards)
    bundle("index-wrong", {"model.safetensors.index.json": {"weight_map": 1}})
    bundle("index-lacks", {"model.safetensors.index.json": {"weight_map": {"a": "a.safetensors", "b": "b.bin"}}, "a.safetensors": safetensors({"a": head}),
                           "b.bin": torch_file({"c": head})})
    bundle("index-missing", {"model.safetensors.index.json": {"weight_map": {"a": "a.safetensors"}}})
    bundle("index-damaged", {"model.safetensors.index.json": {"weight_map": {"a": "b.bin"}}, "b.bin": b"no tensors at all"})
    bundle("index-directory", {"model.safetensors.index.json": {"weight_map": {"a": "b.bin"}}, "b.bin": DIRECTORY})
    bundle("index-device", {"model.safetensors.index.json": DEVICE})
    bundle("zip", {"model.safetensors": archive({"x": head})})
    bundle("short", {"model.safetensors": b"abc"})
    bundle("first", {"model.safetensors": plain, "config.json": CONFIG}, FIRST)
    for kind in DIRECTORY, DEVICE:
        for name in "config.json", "model.safetensors", "tokenizer.json", "vocab.json":
            bundle("%s-%d" % (name, kind), {"model.safetensors": plain, "config.json": CONFIG} | {name: kind})
    bundle("config-only", {"config.json": CONFIG})
    bundle("config-wrong", {"model.safetensors": plain, "config.json": b"{"})

    # one file of PyTorch, with others in its directory
    bundle("bin", {"config.json": CONFIG, "pytorch_model.bin": torch_file(w)})
    args = {"ckpt.pt": torch_file({"model": turned(w), "model_args": ARGS})}
    for to in "npz", "gguf", "hf":
        bundle("pt-args-" + to, args, FIRST, way(to, lossy=True))
    pt = {"ckpt.pt": torch_file(turned(w))}
    bundle("pt-mingpt", pt | {"config.json": MINGPT}, FIRST)
    bundle("pt-mingpt-some", pt | {"config.json": {"model": {"n_head": 1}}}, FIRST)
    bundle("pt-mingpt-wrong", pt | {"config.json": {"model": {"n_head": "1"}}}, FIRST)
    for key in MINGPT["model"]:
        bundle("pt-mingpt-" + key, {"ckpt.pt": torch_file({}), "config.json": {"model": MINGPT["model"] | {key: "x"}}}, FIRST)
    bundle("pt-mingpt-list", pt | {"config.json": b'{"model": []}'}, FIRST)
    bundle("pt-other-config", pt | {"config.json": {"x": 1}}, FIRST | HEADS)
    bundle("pt-no-config", pt | {"config.json": b"[]"}, FIRST | HEADS)
    bundle("pt-config-device", pt | {"config.json": DEVICE}, FIRST | HEADS)
    bundle("pt-config-directory", pt | {"config.json": DIRECTORY}, FIRST | HEADS)
    bundle("pt-config", {"ckpt.pt": torch_file(w), "config.json": CONFIG}, FIRST)
    bundle("pt-shape", pt, FIRST | HEADS)
    q = turned(split(weights()))
    name = "h.0.attn.q_proj.weight"
    bundle("pt-q-transposed", {"ckpt.pt": torch_file({"model": q | {name: np.asfortranarray(q[name] + 1)}})}, FIRST | HEADS | FUSE)
    for name, data in torch_models():
        put("torch_file", name + ".pt", data)
        if re.match("id-|tensor-|parameter-|[a-z]+-p|long|s[hl]|miss|big|n[eo]-[opv]|script|types", name):
            continue
        if name in ("args", "bare", "views", "old"):
            put("model_file", name + ".pt", data)
        bundle("pt-" + name, {"ckpt.pt": data}, FIRST | HEADS | FUSE | LOSSY)
        if name.startswith("args-"):
            bundle("pt-strict-" + name, {"ckpt.pt": data}, FIRST | HEADS)
    arrays = io.BytesIO()
    np.savez(arrays, **w)
    bundle("npz-arrays", {"x": arrays.getvalue()}, FIRST | HEADS)
    put("model_file", "arrays.npz", arrays.getvalue())
    put("model_file", "arrays-packed.npz", archive(w, stream=True, method=zipfile.ZIP_DEFLATED))

    # tokenizers, alone and with a model
    vocab, merges = {"a": 0, "b": 1, "ab": 2}, b"#version: 0.2\na b\n"
    for i, (files, how) in enumerate([
            ({"vocab.json": vocab, "merges.txt": merges}, 0), ({"encoder.json": vocab, "vocab.bpe": merges}, 64), ({"merges.txt": merges}, 0),
            ({"vocab.json": vocab}, 0), ({"merges.txt": merges, "vocab.json": vocab}, 128), ({"merges.txt": merges, "encoder.json": DIRECTORY}, 0),
            ({"vocab.json": vocab, "merges.txt": DEVICE}, 0), ({"vocab.json": vocab, "merges.txt": merges}, 3), ({"merges.txt": merges}, 5),
            ({"tokens.tiktoken": b"IQ== 0\nIg== 1\n"}, 0), ({"tokens.tiktoken": b"IQ== 0\nIg== 1\n"}, 1), ({"tokens.tiktoken": b"IQ== 0\nIg== 1\n"}, 3),
            ({"x": b""}, 0), ({"x": b"\x7fELF"}, 0), ({"x": b"GGUF\3\0\0\0"}, 0), ({"x": b"\x80\4}."}, 3), ({"x": b" \t\r\n{}"}, 0), ({"x": b" \0{"}, 0)]):
        for ask in 0, FIRST:
            bundle("vocab-%d-%d" % (i, ask), files, ask, 0, how)
    config = CONFIG | {"vocab_size": 6}
    six = safetensors(weights(V=6))
    for to in "npz", "gguf", "hf", "llmc":
        bundle("tokenizer-json-" + to, {"config.json": config, "model.safetensors": six, "tokenizer.json": tokenizer()}, way=way(to))
        bundle("tokenizer-nfc-" + to, {"config.json": config, "model.safetensors": six, "tokenizer.json": tokenizer(normalizer={"type": "NFC"})}, way=way(to, lossy=to == "gguf"))
    llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    digits = {"type": "Digits", "individual_digits": True}
    sequences = {"none": level, "digits": {"type": "Sequence", "pretokenizers": [digits, level | {"use_regex": True}]},
                 "llama3": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": llama3}, "behavior": "Isolated"}, level]}}
    for rule, pre in sequences.items():
        for whole in False, True:
            small = {"pre_tokenizer": pre, "model": {"ignore_merges": whole, "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3}, "merges": ["a b"]}}
            for lossy in False, True:
                bundle("rule-%s-%d-%d" % (rule, whole, lossy), {"config.json": config, "model.safetensors": six, "tokenizer.json": small}, way=way("gguf", lossy=lossy))
    small = {"pre_tokenizer": level | {"use_regex": True}, "model": {"ignore_merges": True, "vocab": {"a": 0, "ax": 1}, "merges": []}}
    bundle("rule-unmade", {"config.json": config, "model.safetensors": six, "tokenizer.json": small}, way=way("gguf", lossy=True))
    bundle("tokenizer-pair", {"config.json": config, "model.safetensors": six, "vocab.json": vocab, "merges.txt": merges})
    bundle("tokenizer-wrong", {"config.json": config, "model.safetensors": six, "tokenizer.json": b"{}"})
    bundle("tokenizer-left-out", {"config.json": config, "model.safetensors": six, "tokenizer.json": b"{}"}, LOSSY)
    bundle("tokenizer-large", {"config.json": CONFIG, "model.safetensors": plain, "tokenizer.json": tokenizer()})
    for how in 0, 64, 128, 192:
        bundle("vocab-json-to-%d" % how, {"tokenizer.json": tokenizer()}, 0, 0, how)
    with tempfile.TemporaryDirectory() as d:
        text = b"ab\xc3\xa9\xff"
        chars = run("tg-tokenize", "--tokenizer", "char", "-", cwd=d, data=text)
        plain_bytes = run("tg-tokenize", cwd=d, data=text)
        (pathlib.Path(d) / "chars.npz").write_bytes(chars)
        (pathlib.Path(d) / "m.npz").write_bytes(b"")
        for name, data in ("chars", chars), ("bytes", plain_bytes):
            put("token_file", name + ".npz", data)
            put("vocab", name + ".npz", data)
            for how in 0, 64, 128, 192, 1:
                bundle("%s-to-%d" % (name, how), {"x": data}, FIRST, 0, how)
        only = run("tg-tokenize", "--tokenizer", "chars.npz", "--to", "npz", cwd=d)
        put("vocab", "chars-only.npz", only)
        with zipfile.ZipFile(io.BytesIO(only)) as z:
            members = {n[:-4]: z.read(n) for n in z.namelist()}
        for name, codes in {"order": [98, 97], "surrogate": [0xD800], "byte": [97, 0x110041], "beyond": [0x110100], "last": [0x1100FF], "none": []}.items():
            put("vocab", "chars-%s.npz" % name, archive(members | {"tokenizer/vocab_size": np.int64(len(codes)), "tokenizer/chars": np.array(codes, "<u4")}))
        put("vocab", "chars-type.npz", archive(members | {"tokenizer/chars": np.arange(3, dtype="<u2")}))
        put("vocab", "chars-size.npz", archive(members | {"tokenizer/vocab_size": np.int64(9)}))
        put("vocab", "chars-missing.npz", archive({k: v for k, v in members.items() if not k.endswith("chars")}))
        put("vocab", "more.npz", archive(members | {"x": np.int64(9)}))
        put("vocab", "twice.npz", archive(members) + archive(members))
        put("vocab", "kind-only.npz", archive({"kind": members["kind"]}))
        put("vocab", "other-kind.npz", archive(members | {"kind": np.array(b"else")}))
        put("vocab", "no-kind.npz", archive({"x": np.arange(2)}))


def ggufs():
    rng = np.random.default_rng(3)
    random = lambda n: rng.integers(0, 256, n, "u1").tobytes()
    blocks = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 12: (256, 144), 13: (256, 176), 14: (256, 210), 9: (32, 36)}
    for type, (n, size) in blocks.items():
        put("gguf", "blocks-%d.gguf" % type, gguf_file([], [("a", (n,), type, random(size)), ("b", (2 * n, 2), type, random(4 * size))]))
    put("gguf", "plain.gguf", gguf_file([], [("f2", (3, 2), 1, random(12)), ("f8", (2,), 28, random(16)), ("bf16", (2, 1), 30, random(4)),
                                             ("i1", (3,), 24, random(3)), ("i2", (3,), 25, random(6)), ("i4", (3,), 26, random(12)), ("i8", (1,), 27, random(8))]))
    put("gguf", "part-of-a-block.gguf", gguf_file([], [("a", (33,), 8, random(68))]))
    put("gguf", "values.gguf", gguf_file([("v%d" % t, t, random(n)) for t, n in {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 10: 8, 11: 8, 12: 8}.items()] + [("b", 7, b"\1")]))
    put("gguf", "arrays.gguf", gguf_file([("a%d" % t, 9, struct.pack("<IQ", t, 2) + random(2 * n)) for t, n in {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 10: 8, 11: 8, 12: 8}.items()]))
    text = lambda t: struct.pack("<Q", len(t)) + t
    texts = lambda *ts: struct.pack("<IQ", 8, len(ts)) + b"".join(map(text, ts))
    ints = lambda type, f, *v: struct.pack("<IQ", type, len(v)) + struct.pack("<%d%s" % (len(v), f), *v)
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
    inner = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}

    def model(values=(), without=(), whole=True, bias=False, **more):
        w = turned(weights(bias=bias)) if whole else {}
        tensors = []
        for name, a in w.items():
            stem, end = name.rsplit(".", 1)
            stem = "blk.0." + inner[stem[4:]] if stem.startswith("h.0.") else names[stem]
            tensors.append((stem + "." + end, a.shape[::-1], 0, a.tobytes()))
        tensors += [(k, v.shape[::-1], 0, v.tobytes()) for k, v in more.items()]
        u32 = lambda n: struct.pack("<I", n)
        kv = {"general.architecture": (8, text(b"gpt2")), "gpt2.block_count": (4, u32(1)), "gpt2.context_length": (4, u32(2)), "gpt2.embedding_length": (4, u32(2)),
              "gpt2.feed_forward_length": (4, u32(8)), "gpt2.attention.head_count": (4, u32(1)), "gpt2.attention.layer_norm_epsilon": (6, struct.pack("<f", 1e-5))}
        kv |= dict(values)
        return gguf_file([(k, t, d) for k, (t, d) in kv.items() if k not in without], tensors)

    u32 = lambda n: struct.pack("<I", n)
    put("model_file", "gguf", model())
    put("model_file", "biases.gguf", model(bias=True))
    changes = {
        "architecture": {"general.architecture": (8, text(b"llama"))}, "split": {"split.count": (2, b"\2\0")}, "split-1": {"split.count": (2, b"\1\0")},
        "head-kv": {"gpt2.attention.head_count_kv": (4, u32(2))}, "forward": {"gpt2.feed_forward_length": (4, u32(7))}, "epsilon": {"gpt2.attention.layer_norm_epsilon": (6, u32(0x7FC00000))},
        "vocab-size": {"gpt2.vocab_size": (4, u32(3))}, "vocab-size-2": {"gpt2.vocab_size": (4, u32(2))}, "type": {"gpt2.block_count": (6, u32(1))}, "zero": {"gpt2.block_count": (4, u32(0))},
        "negative": {"gpt2.block_count": (5, u32(0xFFFFFFFF))},
    }
    vocab = {"tokenizer.ggml.model": (8, text(b"gpt2")), "tokenizer.ggml.pre": (8, text(b"gpt-2")), "tokenizer.ggml.tokens": (9, texts(b"a", b"b", b"ab")), "tokenizer.ggml.merges": (9, texts(b"a b"))}
    types = "tokenizer.ggml.token_type"
    changes |= {
        "vocab": vocab, "vocab-model": vocab | {"tokenizer.ggml.model": (8, text(b"llama"))}, "vocab-no": {"tokenizer.ggml.model": (8, text(b"no_vocab"))},
        "vocab-model-type": vocab | {"tokenizer.ggml.model": (4, u32(1))}, "vocab-pre": vocab | {"tokenizer.ggml.pre": (8, text(b"what"))}, "vocab-pre-type": vocab | {"tokenizer.ggml.pre": (4, u32(1))},
        "vocab-no-pre": {k: v for k, v in vocab.items() if "pre" not in k}, "vocab-no-tokens": {k: v for k, v in vocab.items() if "tokens" not in k}, "vocab-no-merges": {k: v for k, v in vocab.items() if "merges" not in k},
        "vocab-types": vocab | {types: (9, ints(5, "i", 1, 3, 5))}, "vocab-types-few": vocab | {types: (9, ints(5, "i", 1, 1))}, "vocab-types-wrong": vocab | {types: (9, ints(5, "i", 1, 9, 1))},
        "vocab-types-text": vocab | {types: (9, texts(b"a"))}, "vocab-types-user": vocab | {types: (9, ints(5, "i", 2, 4, 6))},
        "vocab-ends": vocab | {"tokenizer.ggml.bos_token_id": (4, u32(1)), "tokenizer.ggml.eos_token_id": (4, u32(2))}, "vocab-end-type": vocab | {"tokenizer.ggml.eos_token_id": (8, text(b"a"))},
        "vocab-end-beyond": vocab | {"tokenizer.ggml.eos_token_id": (4, u32(7))},
        "vocab-merge": vocab | {"tokenizer.ggml.merges": (9, texts(b"ab"))}, "vocab-merge-unknown": vocab | {"tokenizer.ggml.merges": (9, texts(b"a c"))}, "vocab-merge-three": vocab | {"tokenizer.ggml.merges": (9, texts(b"a b c"))},
        "vocab-long": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b", b"ab", b"c"))}, "vocab-twice": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"a", b"ab"))},
        "vocab-not-mapped": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b ", b"ab"))}, "vocab-pad": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b", b"[PAD2]")), types: (9, ints(5, "i", 1, 1, 5))},
        "vocab-empty": vocab | {"tokenizer.ggml.tokens": (9, texts(b"a", b"b", b""))},
        "kind-char": vocab | {"tg.tokenizer.kind": (8, text(b"char"))}, "kind-bytes": vocab | {"tg.tokenizer.kind": (8, text(b"bytes"))}, "kind-other": vocab | {"tg.tokenizer.kind": (8, text(b"x"))}, "kind-type": vocab | {"tg.tokenizer.kind": (4, u32(1))},
    }
    for name, change in changes.items():
        data = model(change, whole=name in ("vocab", "vocab-ends", "kind-bytes", "vocab-size"))
        put("model_file", name + ".gguf", data)
        put("gguf", name + ".gguf", data)
    # rows of whole blocks, 4 bits of each value
    quarter = lambda name, *shape: (name, shape, 2, (b"\x00\x2c" + bytes(range(16))) * (int(np.prod(shape)) // 32))
    tensors = [quarter("token_embd.weight", 32, 1), ("position_embd.weight", (32, 1), 0, bytes(128))]
    tensors += [quarter("blk.0.attn_qkv.weight", 32, 96), quarter("blk.0.attn_output.weight", 32, 32), quarter("blk.0.ffn_up.weight", 32, 128), quarter("blk.0.ffn_down.weight", 128, 32)]
    numbers = {"block_count": 1, "context_length": 1, "embedding_length": 32, "feed_forward_length": 128, "attention.head_count": 1}
    values = [("general.architecture", 8, text(b"gpt2"))] + [("gpt2." + k, 4, u32(v)) for k, v in numbers.items()] + [("gpt2.attention.layer_norm_epsilon", 6, struct.pack("<f", 1e-5))]
    bundle("blocks", {"x": gguf_file(values, tensors)}, FIRST, way("gguf", "q8_0"))
    for name in "gpt2.block_count", "gpt2.attention.head_count", "gpt2.attention.layer_norm_epsilon", "general.architecture":
        put("model_file", "no-%s.gguf" % name, model(without=[name], whole=False))
    w = weights()
    put("model_file", "head.gguf", model(**{"output.weight": w["wte.weight"]}))
    put("model_file", "other-head.gguf", model(**{"output.weight": w["wte.weight"] + 1}))
    put("model_file", "head-shape.gguf", model(**{"output.weight": w["wpe.weight"]}))
    put("model_file", "more.gguf", model(**{"what": w["wte.weight"]}))
