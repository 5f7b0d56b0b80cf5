"""The first inputs of the fuzzers that other programs make, in OUT/TARGET/:

    python3 tests/fuzz/make_corpus.py BIN OUT

BIN has the tools.  It needs NumPy, and safetensors and gguf for their files.  `make fuzz-corpus` runs it, lets
the fuzzers add to it, and keeps the fewest inputs that reach the same edges.
"""
from corpus_families import families
from corpus_files import *
from corpus_models import checkpoints, ggufs
from corpus_wrong import dumps, encoders, fields_changed, runs, texts, token_files, vocabularies


def archives():
    x = np.arange(4, dtype="<f4").reshape(2, 2)
    arrays = {"kind": np.array(b"seed"), "x": x, "empty": np.zeros((0, 3), "<i2")}
    kinds("archive", arrays)
    dict_of = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
    heads = {
        "version2": npy(x, version=(2, 0)),
        "fortran": npy(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
        "fortran-row": npy(np.zeros((1, 3), order="F")),
        "long-header": npy(x, header=(dict_of % ("<f4", "False", "(2, 2)")).encode().ljust(9999) + b"\n"),
        "too-long-header": npy(x, header=(dict_of % ("<f4", "False", "(2, 2)")).encode().ljust(10299) + b"\n"),
        "8-dimensions": npy(np.zeros((1,) * 8, "u1")),
        "9-dimensions": npy(np.zeros((1,) * 9, "u1")),
        "10-dimensions": npy(np.zeros((1,) * 10, "u1")),
        "order-of-keys": npy(x, header=b"{'shape': (2, 2), 'fortran_order': False, 'descr': '<f4'}\n"),
        "big-endian": npy(x.astype(">f4")),
        "objects": npy(np.zeros(1), header=(dict_of % ("|O", "False", "(1,)")).encode() + b"\n"),
        "huge": npy(np.zeros(0), header=(dict_of % ("<f4", "False", "(4611686018427387904, 4)")).encode() + b"\n"),
        "structured": npy(np.zeros(1, [("a", "<i4")])),
        "no-numpy": b"not an array",
    }
    for name, data in heads.items():
        put("archive", name + ".npz", archive({"x": data}, method=zipfile.ZIP_DEFLATED))
        if len(data) < 300:
            put("archive", name + "-stored.npz", archive({"x": data}))
    put("archive", "zeros.npz", archive({"x": np.zeros(130000, "u1")}, method=zipfile.ZIP_DEFLATED))
    put("archive", "two.npz", archive({"x": x}) + archive({"y": x}, stream=True))
    put("archive", "names.npz", archive({"../x": x}))
    put("archive", "duplicate.npz", archive({"x": x})[:-22] + archive({"x": x}))
    put("archive", "gzip", b"\x1f\x8b\x08\x00" + bytes(20))
    whole = archive({"x": x})
    for n in 20, 60, len(whole) - 30, len(whole) - 5:
        put("archive", "cut-%d.npz" % n, whole[:n])
    wrong = bytearray(whole)
    wrong[150] ^= 1
    put("archive", "wrong-crc.npz", bytes(wrong))


def tools():
    with tempfile.TemporaryDirectory() as d:
        text = b"To be, or not to be: abcab abc\n" * 20
        sizes = ["--n-layer", "1", "--n-head", "2", "--n-embd", "2", "--n-ctx", "4"]
        run("tg-bpe", "-o", "bpe.npz", "--vocab-size", "264", cwd=d, data=text)
        run("tg-init", "-o", "bytes.npz", *sizes, cwd=d)
        (pathlib.Path(d) / "tokens.npz").write_bytes(run("tg-tokenize", cwd=d, data=b"abc \xff\0z"))
        (pathlib.Path(d) / "tokens16.npz").write_bytes(run("tg-tokenize", "--tokenizer", "bpe.npz", cwd=d, data=text[:62]))
        run("tg-attn-dump", "-m", "bytes.npz", "-p", "abc", "-o", "dump.npz", cwd=d)
        repack("vocab", d + "/bpe.npz")
        repack("vocab", d + "/tokens16.npz", "tokens-")
        repack("token_file", d + "/tokens.npz")
        repack("token_file", d + "/tokens16.npz", "bpe-")
        repack("prompt", d + "/tokens.npz")
        repack("dump", d + "/dump.npz")
        put("prompt", "text", text[:300])
        put("prompt", "long", b"abc ab abcab\n" * 90)
        for target in ["model_file"]:
            repack(target, d + "/bytes.npz")
            # weights that make attention differ from a mean
            with zipfile.ZipFile(d + "/bytes.npz") as z:
                arrays = {name[:-4]: np.load(io.BytesIO(z.read(name))) for name in z.namelist()}
            loud = {name: a * np.float32(30) if a.dtype == "f4" and a.ndim == 2 else a for name, a in arrays.items()}
            put(target, "loud.npz", archive(loud, stream=True, method=zipfile.ZIP_DEFLATED))
            for to, name in ("gguf", "m.gguf"), ("llmc", "m.bin"), ("hf", "hf"):
                run("tg-convert", "--to", to, "-o", name, "bytes.npz", cwd=d)
                path = pathlib.Path(d) / name
                put(target, name if path.is_file() else "model.safetensors", (path if path.is_file() else path / "model.safetensors").read_bytes())
                if path.is_dir():
                    put("hf", "config.json", (path / "config.json").read_bytes())
                    put("safetensors", "model.safetensors", (path / "model.safetensors").read_bytes()[:8000])
                subprocess.run(["rm", "-rf", str(path)], check=True)


def tokenizers():
    digits = {"type": "Digits", "individual_digits": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    put("tokenizer_json", "plain.json", tokenizer())
    put("tokenizer_json", "no-merges-needed.json", tokenizer(ignore_merges=True))
    put("tokenizer_json", "nfc.json", tokenizer(normalizer={"type": "NFC"}))
    put("tokenizer_json", "pairs.json", tokenizer(merges=[["a", "b"], ["ab", "ab"]]))
    put("tokenizer_json", "digits.json", tokenizer(pre_tokenizer={"type": "Sequence", "pretokenizers": [digits, level]}))


def others():
    try:
        from safetensors.numpy import save
        put("safetensors", "library.safetensors", save({"a": np.arange(3, dtype="f2"), "b": np.zeros((2, 2), "i8")}, {"format": "np"}))
        put("safetensors", "empty.safetensors", save({}))
    except ImportError:
        print("no safetensors", file=sys.stderr)
    try:
        import gguf
        with tempfile.TemporaryDirectory() as d:
            w = gguf.GGUFWriter(d + "/x.gguf", "gpt2")
            w.add_context_length(4)
            w.add_array("tokenizer.ggml.tokens", ["a", "b"])
            w.add_tensor("a", np.arange(32, dtype="f4"))
            w.add_tensor("b", gguf.quants.quantize(np.ones((2, 32), "f4"), gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            w.write_header_to_file()
            w.write_kv_data_to_file()
            w.write_tensors_to_file()
            w.close()
            put("gguf", "library.gguf", pathlib.Path(d, "x.gguf").read_bytes())
    except ImportError:
        print("no gguf", file=sys.stderr)
    import pickle
    for protocol in 2, 3, 4, 5:
        put("pickle", "protocol-%d" % protocol, pickle.dumps({"itos": {0: "a", 1: "\u00e9"}, "l": [1, 2.5, None, True, -70000, (1, 2, 3, 4)], "n": 1 << 40}, protocol))
        put("plain_vocab", "meta-%d.pkl" % protocol, pickle.dumps({"itos": {0: "a", 1: "b"}, "stoi": {"a": 0, "b": 1}, "vocab_size": 2}, protocol))
    for name, value in {"list": [1, 2], "tuple": ("a",), "dict": {0: "a"}, "bytes": b"a", "none": None, "real": 1.5}.items():
        put("plain_vocab", "meta-%s.pkl" % name, pickle.dumps({"itos": {0: value}}, 4))
    put("pickle", "long", b"\x80\x04\x8d" + struct.pack("<Q", 3) + b"abc.")
    put("json", "deep", b"[" * 60 + b"]" * 60)
    put("json", "deeper", b"[" * 200 + b"]" * 200)
    put("json", "text", b'{"a": [1, -2.5e+3, {}, [], null, true, false], "b": "x\\u0041\\uD83D\\uDE00\\n\\"\xc3\xa9"}')
    put("hf", "index.json", b'{"metadata": {"total_size": 8}, "weight_map": {"a": "a.safetensors", "b": "sub/b.safetensors"}}')
    put("gguf_vocab", "special", b"\x06\x18a\nb\nab\nc\n\na b\n")
    put("gguf_vocab", "specials", b"\x06\x20a\nb\nab\n<e>\nx\n<|s|>\nd\n\na b\n")
    put("options", "all", b"-q\n--slow\n-ofile\n--add\nx\n-n\n1.5M\n--seed=18446744073709551615\n-r.5\n--color\nyes\n-ftsv\n--tied=off\n--\n-a")
    put("options", "wrong", b"--nosuch\n--c=1\n-n0\n--seed=-1\n--rate=inf\n--color=blue\n-o\n--quick=1\n-\n-")
    put("options", "two-dashes", b"-\n-")


def logs():
    titles = b"step\tloss\tval_loss\tlr\tgrad_norm\ttokens_per_s\ttime_s\n"
    line = b"1\t5.545177\t5.540000\t1.0e-04\t1.2\t30000\t0.010\n"
    put("log", "empty", titles)
    put("log", "steps", titles + line + b"2\t5.5\t\t1e-4\t1\t3e4\t0.02\n1000000000000\t0\t0\t\n")
    put("log", "cut", titles + line + line[:20])
    put("log", "short", titles + b"1\t5.5\n")
    put("log", "no-loss", titles + b"1\t\t\t\n")
    put("log", "negative", titles + b"1\t-5.5\t\t\n")
    put("log", "infinite", titles + b"1\tinf\t1e999\t\n")
    put("log", "step-0", titles + b"0\t1\t1\t\n")
    put("log", "step-half", titles + b"1.5\t1\t1\t\n")
    put("log", "step-large", titles + b"1000000000001\t1\t1\t\n")
    put("log", "nul", titles + b"1\t1\t1\t\0\n2\t1\0\t1\t\n")
    put("log", "1023-bytes", titles + b"1\t1\t1\t" + b"x" * 1017)
    put("log", "1024-bytes", titles + b"1\t1\t1\t" + b"x" * 1018)
    put("log", "no-titles", b"")


def limits():
    """As much as a build with tests/fuzz/limits.h reads, and one more."""
    for n in 100, 101:
        names = ["%d" % i for i in range(n)]
        put("archive", "%d-arrays.npz" % n, archive({name: bare(np.zeros(1, "u1")) for name in names}, method=zipfile.ZIP_DEFLATED))
        put("safetensors", "%d-tensors" % n, safetensors({name: np.zeros(0, "f4") for name in names}))
        put("name_map", "%d-names" % n, "".join("%s -\n" % name for name in names).encode())
    for n in 16, 17:
        put("hf", "%d-files.json" % n, json.dumps({"weight_map": {"%d" % i: "f%d" % i for i in range(n)}}).encode())
    for n in 512, 513:
        token = b"a" * n
        lines = [bytes([i]) for i in range(256)] + ([b"a" * (1 << i) for i in range(1, 10)] if n == 512 else [token])
        put("tiktoken", "token-of-%d" % n, b"".join(base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(lines)))
        put("tokenizer_json", "token-of-%d.json" % n, tokenizer(vocab={"a": 0, "b": 1, "a" * (n - 1): 2, token.decode(): 3}, merges=[["a" * (n - 1), "a"]]))
    put("name_map", "1024-bytes", b"a -\n" + b"#" * 1019 + b"\n")
    put("name_map", "1025-bytes", b"a -\n" + b"#" * 1020 + b"\n")
    for n in 8000, 8001:
        put("tokenizer_json", "%d-bytes.json" % n, tokenizer().ljust(n))


archives()
tools()
limits()
logs()
tokenizers()
others()
families()
checkpoints()
ggufs()
dumps()
token_files()
encoders()
runs()
texts()
vocabularies()
fields_changed()
