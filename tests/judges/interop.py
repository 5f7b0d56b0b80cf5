#!/usr/bin/env python3
"""tg and the libraries of other projects must agree about the same model.

    interop.py BIN [--quick] [SECTION]...    BIN: the directory of the tools

Sections: numbers, files, exports, greedy, bits, hostile.  Prints tables; exits with 1 if a line says DIFFERS.

numbers   attention probabilities and logits of random models, against transformers in double precision;
          transformers' own eager float32 is measured likewise, and tg may be no further away
files     the checkpoints of interop_files.py, in each project's own files: the logits that -m FILE gives
exports   what tg-convert writes from them, read by transformers and gguf: the same tensors, the same logits
greedy    200 tokens, each the most probable: tg-sample, llama.cpp on the exported GGUF, transformers on the
          exported directory
bits      files that are converted and converted back are the same, bit for bit
hostile   malformed files (hostile.py); minutes, and not with --quick
"""
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np  # noqa: E402
import torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from gpt2_f64 import forward, random_ids, random_model  # noqa: E402
from interop_files import GGUF_NAMES, TOKENS, hf_model, learn_tokenizer  # noqa: E402

TOOLS = None
QUICK = False
bad = 0


def tg(tool, *arguments):
    return subprocess.run([os.path.join(TOOLS, "tg-" + tool), *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def spell(ids):
    return " ".join(map(str, ids))


def verdict(ok):
    global bad
    bad += not ok
    return "ok" if ok else "DIFFERS"


def write_npz(path, config, weights):
    """Our archive, written by NumPy: the only file that can say that there are no biases."""
    settings = {**{k: config[k] for k in ("n_layer", "n_head", "n_embd", "n_ctx", "vocab_size")},
                "layer_norm_epsilon": np.float64(config["layer_norm_epsilon"]),
                "activation": np.bytes_(config["activation_function"]), "layer_norm_weight": 1,
                "layer_norm_bias": config["bias"], "linear_bias": config["bias"], "tied": config["tied"],
                "head_bias": 0}
    arrays = {"kind": np.bytes_("model"), "version": np.int64(1)}
    for name, value in settings.items():
        arrays["config/" + name] = np.int64(value) if isinstance(value, (int, bool)) else value
    arrays["tokenizer/kind"] = np.bytes_("ids")
    arrays["tokenizer/vocab_size"] = np.int64(config["vocab_size"])
    np.savez(path, **arrays, **weights)


# ---- numbers

# blocks, heads, channels, positions, ids, tied, biases, activation
CONFIGS = [
    (1, 1, 16, 64, 300, True, True, "gelu_new"),
    (2, 2, 32, 64, 300, True, True, "gelu_new"),
    (2, 1, 13, 64, 257, False, True, "gelu"),
    (2, 3, 33, 80, 300, False, True, "gelu"),
    (3, 5, 35, 64, 321, True, False, "gelu"),
    (4, 4, 64, 128, 512, False, False, "gelu_new"),
    (2, 9, 81, 64, 1000, False, False, "gelu_new"),
    (2, 7, 91, 100, 65, True, True, "gelu_new"),
    (12, 12, 96, 64, 2000, True, True, "gelu_new"),
    (6, 6, 384, 128, 65, True, False, "gelu"),
    (2, 12, 768, 128, 5003, True, True, "gelu_new"),
    (2, 16, 1024, 128, 3000, False, True, "gelu_new"),
    (1, 20, 1280, 64, 1000, True, True, "gelu"),
    (1, 25, 1600, 64, 1000, True, True, "gelu_new"),
]
ORDINARY = 2e-6  # the largest difference of a probability
LIKE = 1.05      # two programs that round equally well differ by this much, in either direction


class Error:
    """Differences from the truth: the largest, and the root of the mean square."""

    def __init__(self):
        self.largest = self.squares = self.n = 0

    def add(self, found, truth):
        assert found.shape == truth.shape, (found.shape, truth.shape)
        d = np.abs(found.astype(np.float64) - truth)
        self.largest = max(self.largest, d.max())
        self.squares += (d * d).sum()
        self.n += d.size

    @property
    def rms(self):
        return (self.squares / self.n) ** 0.5


def run_theirs(model, ids):
    with torch.no_grad():
        out = model(torch.tensor(ids)[None], output_attentions=True)
    return [a[0].double().numpy() for a in out.attentions], out.logits[0].double().numpy()


def run_ours(model, ids, n_layer, directory):
    dump, logits = directory + "/dump.npz", directory + "/logits.npz"
    tg("attn-dump", "-m", model, "--ids", spell(ids), "--stage", "probs", "-o", dump)
    tg("eval", "-m", model, "--ids", spell(ids), "--logits", "-o", logits)
    with np.load(dump) as d, np.load(logits) as z:
        return [d[f"h.{n}.probs"][0] for n in range(n_layer)], z["logits/00000000"]


def numbers(directory):
    print("Differences from transformers in double precision.  Each: largest, root of the mean square.\n"
          f"A line is ok if tg's root of the mean square is at most {LIKE:g} of theirs, and no probability differs by more\n"
          f"than {ORDINARY:g} or, where theirs differ by more, than theirs.\n")
    print("blocks heads width   T    ids tied biases GELU  probabilities: tg     transformers float32  "
          "logits: tg            transformers float32")
    configs = CONFIGS[:3] if QUICK else CONFIGS
    for seed, (L, H, C, T, V, tied, bias, activation) in enumerate(configs):
        config, weights = random_model(100 + seed, L, H, C, T, V, tied, bias, activation)
        model = f"{directory}/model"
        theirs = hf_model(config, weights)
        if bias:
            theirs.save_pretrained(model)
        else:
            model += ".npz"
            write_npz(model, config, weights)
        errors = [Error() for _ in range(4)]
        prompts = [random_ids(1000 * seed + i, T, V) for i in range(16 if C < 100 else 6)]
        own = [run_theirs(theirs, ids) for ids in prompts]
        theirs.double()
        for ids, (their_probs, their_logits) in zip(prompts, own):
            true_probs, true_logits = run_theirs(theirs, ids)
            probs, logits = run_ours(model, ids, L, directory)
            for n in range(L):
                errors[0].add(probs[n], true_probs[n])
                errors[1].add(their_probs[n], true_probs[n])
            errors[2].add(logits, true_logits)
            errors[3].add(their_logits, true_logits)
        p, q, r, s = errors
        ok = p.rms <= LIKE * q.rms and r.rms <= LIKE * s.rms and p.largest <= max(ORDINARY, q.largest)
        print(f"{L:6} {H:5} {C:5} {T:3} {V:6} {'yes' if tied else 'no':4} {'yes' if bias else 'no':6} "
              f"{'tanh' if activation == 'gelu_new' else 'erf':4} ", end=" ")
        print("  ".join(f"{e.largest:.2e}, {e.rms:.2e}" for e in errors), "", verdict(ok), flush=True)


# ---- files

# What a model's own rounding may add to its logits, whose standard deviation is 1 to 5.
ROUNDING = 3e-5


def samples(directory):
    """The samples: their paths, relative to directory/files; made once."""
    files = f"{directory}/files"
    if not os.path.exists(files):
        subprocess.run([sys.executable, os.path.join(HERE, "interop_files.py"), files], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = []
    for where, _, names in os.walk(files):
        found += [os.path.relpath(os.path.join(where, n), files)[:-11] for n in names if n.endswith(".logits.npy")]
    return files, sorted(found)


# Formats that do not tell all that the model needs.
ASK = {"npz/plain.npz": ["--heads", 2], "npz/named.npz": ["--heads", 2, "--map", "{}/npz/named.map"],
       "npz/split-qkv.npz": ["--heads", 2, "--fuse-qkv"], "torch/mingpt/model.pt": ["--heads", 2]}


REFUSED = {"gguf/q2_k.gguf": "q2_k", "gguf/q3_k.gguf": "q3_k"}


def files(directory):
    where, names = samples(directory)
    ids = np.load(f"{where}/ids.npy")
    for name in names:
        truth = np.load(f"{where}/{name}.logits.npy")
        model = f"{where}/{name}"
        try:
            if name in ASK:
                tg("convert", *[str(a).replace("{}", where) for a in ASK[name]], model, "-o", f"{directory}/m.npz")
                model = f"{directory}/m.npz"
            tg("eval", "-m", model, "--ids", spell(ids[: len(truth)] % min(TOKENS, truth.shape[1])), "--logits", "-o",
               f"{directory}/logits.npz")
        except subprocess.CalledProcessError as e:
            text = e.stderr.decode().strip()
            if REFUSED.get(name, "?") in text:
                text = "refused"
            print(f"{name:30} {text}  {verdict(text == 'refused')}")
            continue
        with np.load(f"{directory}/logits.npz") as z:
            found = z["logits/00000000"]
        largest = np.abs(found - truth).max()
        print(f"{name:30} logits differ by {largest:.1e} at most  {verdict(largest < ROUNDING)}")


# ---- exports

EXACT = 1e-10  # the same weights, computed in double precision twice


def logits_of_directory(path, ids):
    """transformers' logits of a directory, in double precision."""
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float64, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(torch.tensor(ids)[None]).logits[0].numpy()


def logits_of_gguf(path, ids):
    """The logits of the tensors that gguf finds in a file, in double precision."""
    import gguf
    reader = gguf.GGUFReader(path)

    def field(name):
        return reader.fields["gpt2." + name].parts[-1][0]

    config = dict(n_layer=int(field("block_count")), n_head=int(field("attention.head_count")),
                  n_embd=int(field("embedding_length")), layer_norm_epsilon=float(field("attention.layer_norm_epsilon")))
    weights = {}
    for t in reader.tensors:
        name, a = t.name, gguf.quants.dequantize(t.data, t.tensor_type)
        ours = OURS_OF_GGUF[name.split(".")[-2]]
        if name.startswith("blk."):
            ours = f"h.{name.split('.')[1]}.{ours}"
        square = a.ndim == 2 and ours not in ("wte", "wpe", "lm_head")
        weights[f"{ours}.{name.split('.')[-1]}"] = a.T if square else a
    return forward(config, weights, ids)[0]


OURS_OF_GGUF = {theirs: ours for ours, theirs in GGUF_NAMES.items()}

# from a sample, to a format, with these options; the sample with the logits that it must give
EXPORTS = [("hf/tied", "hf", [], "hf/tied"), ("hf/untied", "hf", [], "hf/untied"), ("hf/erf", "hf", [], "hf/erf"),
           ("hf/tied", "hf", ["--dtype", "bf16"], "hf/tied-bf16"), ("hf/tied", "hf", ["--dtype", "f16"], "hf/tied-fp16"),
           ("hf/odd", "hf", [], "hf/odd"), ("torch/nanogpt.pt", "hf", [], "torch/nanogpt.pt"),
           ("torch/mingpt/model.pt", "hf", ["--heads", 2], "torch/mingpt/model.pt"),
           ("gguf/untied-f16.gguf", "hf", [], "gguf/untied-f16.gguf"), ("gguf/q4_k.gguf", "hf", [], "gguf/q4_k.gguf"),
           ("llmc/model-f32.bin", "hf", [], "llmc/model-f32.bin"), ("npz/plain.npz", "hf", ["--heads", 2], "npz/plain.npz"),
           ("hf/tied", "gguf", [], "hf/tied"), ("hf/untied", "gguf", [], "hf/untied"),
           ("gguf/f16.gguf", "gguf", ["--dtype", "f16"], "gguf/f16.gguf"),
           ("gguf/bf16.gguf", "gguf", ["--dtype", "bf16"], "gguf/bf16.gguf"),
           ("gguf/f32.gguf", "gguf", ["--dtype", "q8_0"], "gguf/q8_0.gguf"),
           ("llmc/model-f32.bin", "gguf", [], "llmc/model-f32.bin")]


def exports(directory):
    where, _ = samples(directory)
    ids = np.load(f"{where}/ids.npy")
    for source, to, options, like in EXPORTS:
        truth = np.load(f"{where}/{like}.logits.npy")
        target = f"{directory}/exported.gguf" if to == "gguf" else f"{directory}/exported-{source.replace('/', '-')}"
        name = f"{source} --to {to} {spell(options)}"
        try:
            tg("convert", f"{where}/{source}", "--to", to, *options, "-o", target)
        except subprocess.CalledProcessError as e:
            print(f"{name:45} {e.stderr.decode().strip()}  {verdict(False)}")
            continue
        found = (logits_of_gguf if to == "gguf" else logits_of_directory)(target, ids[: len(truth)] % min(TOKENS, truth.shape[1]))
        largest = np.abs(found[:, : truth.shape[1]] - truth).max()
        print(f"{name:45} logits differ by {largest:.1e} at most  {verdict(largest < EXACT)}")
    exported_types(directory, where)
    exported_tokenizers(directory, where)


def exported_types(directory, where):
    """GGUF's types, as gguf rounds to them, in a file that llama.cpp reads."""
    import gguf

    def tensors(path):
        return {t.name: (t.tensor_type, t.data.tobytes()) for t in gguf.GGUFReader(path).tensors}

    def logits(path):
        model = llama(path, 64, logits_all=True)
        model.eval(PROMPT)
        return np.array(model.scores[: len(PROMPT)])

    for dtype in ("f32", "f16", "bf16", "q8_0"):
        target, theirs = f"{directory}/{dtype}.gguf", f"{where}/gguf/{dtype}.gguf"
        tg("convert", f"{where}/gguf/f32.gguf", "--to", "gguf", "--dtype", dtype, "-o", target)
        same = tensors(target) == tensors(theirs)
        print(f"GGUF, {dtype}: the tensors are those that gguf writes  {verdict(same)}")
        print(f"GGUF, {dtype}: llama.cpp's logits are the same  {verdict(np.array_equal(logits(target), logits(theirs)))}")


def exported_tokenizers(directory, where):
    from tokenizers import Tokenizer
    with open(f"{where}/text.txt", encoding="utf-8") as f:
        text = f.read()
    truth = Tokenizer.from_file(f"{where}/hf/tied/tokenizer.json").encode(text).ids
    for source in ("hf/tied", "hf/tied-merges", "gguf/f32.gguf"):
        target = f"{directory}/tokens-{source.replace('/', '-')}"
        tg("convert", f"{where}/{source}", "--to", "hf", "-o", target)
        found = Tokenizer.from_file(target + "/tokenizer.json").encode(text).ids
        print(f"{source}, tokenizer.json: {len(found)} tokens  {verdict(found == truth)}")
        tg("convert", f"{where}/{source}", "--to", "gguf", "-o", target + ".gguf")
        found = llama(target + ".gguf", 64, vocab_only=True).tokenize(text.encode(), add_bos=False, special=False)
        print(f"{source}, GGUF, read by llama.cpp: {len(found)} tokens  {verdict(found == truth)}")


# ---- greedy

PROMPT = [5, 7, 11, 13, 17, 19, 23, 29]
GENERATED = 200


def llama(path, context, **options):
    import llama_cpp
    return llama_cpp.Llama(path, n_ctx=context, n_batch=64, type_k=0, type_v=0, flash_attn=False, n_threads=1, verbose=False,
                           **options)


def greedy(directory):
    from transformers import AutoModelForCausalLM
    tokenizer = learn_tokenizer(TOKENS)
    for seed, tied in ((1, True), (2, False)):
        config, weights = random_model(200 + seed, 3, 4, 64, 256, TOKENS, tied)
        weights["wpe.weight"] *= 6  # so that the most probable token changes from place to place
        start = f"{directory}/start-{seed}"
        hf_model(config, weights).save_pretrained(start)
        tokenizer.save(start + "/tokenizer.json")
        tg("convert", start, "-o", f"{directory}/greedy.npz")
        write_npz(f"{directory}/ids.npz", config, weights)
        ours = [int(i) for i in tg("sample", "-m", f"{directory}/ids.npz", "--ids", spell(PROMPT), "-g", "-n", GENERATED).split()]
        ours = ours[-GENERATED:]

        tg("convert", f"{directory}/greedy.npz", "--to", "gguf", "--force", "-o", f"{directory}/greedy.gguf")
        model = llama(f"{directory}/greedy.gguf", config["n_ctx"], logits_all=False)
        model.eval(PROMPT)
        theirs = []
        while len(theirs) < GENERATED:
            theirs.append(model.sample(temp=0, top_k=1, repeat_penalty=1))
            model.eval(theirs[-1:])
        same = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), GENERATED)
        print(f"{'tied' if tied else 'untied'}: llama.cpp's {same} of {GENERATED} tokens are the same  {verdict(ours == theirs)}")

        tg("convert", f"{directory}/greedy.npz", "--to", "hf", "-o", f"{directory}/greedy-{seed}")
        model = AutoModelForCausalLM.from_pretrained(f"{directory}/greedy-{seed}", dtype=torch.float32).eval()
        with torch.no_grad():
            out = model.generate(torch.tensor([PROMPT]), max_new_tokens=GENERATED, min_new_tokens=GENERATED, do_sample=False,
                                 eos_token_id=None, pad_token_id=0)
        theirs = out[0, len(PROMPT):].tolist()
        same = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), GENERATED)
        print(f"{'tied' if tied else 'untied'}: transformers' {same} of {GENERATED} tokens are the same, "
              f"{len(set(ours))} of them different ones  {verdict(ours == theirs)}")


# ---- bits

# A file, the options to convert it to .npz, and those to convert it back.
ROUNDS = [("llmc/model-f32.bin", [], ["--to", "llmc"]), ("llmc/model-bf16.bin", [], ["--to", "llmc", "--dtype", "bf16"]),
          ("llmc/tokens.bin", ["--vocab-size", TOKENS], ["--to", "llmc-tokens"]),
          ("llmc/nanogpt-train.bin", ["--from", "uint16", "--vocab-size", TOKENS], ["--to", "uint16"])]
# Directories, whose tensors must be the same.
TENSORS = [("hf/tied", []), ("hf/untied", []), ("hf/tied-fp16", ["--dtype", "f16"]), ("hf/tied-bf16", ["--dtype", "bf16"])]


def bits(directory):
    from safetensors.torch import load_file
    where, _ = samples(directory)
    for name, there, back in ROUNDS:
        tg("convert", f"{where}/{name}", *there, "-o", f"{directory}/there.npz")
        tg("convert", f"{directory}/there.npz", *back, "-o", f"{directory}/back")
        with open(f"{where}/{name}", "rb") as a, open(f"{directory}/back", "rb") as b:
            print(f"{name:30} {verdict(a.read() == b.read())}")
    for name, options in (("nanogpt.pt", []), ("nanogpt-compiled.pt", []), ("mingpt/model.pt", ["--heads", 2])):
        tg("convert", *options, f"{where}/torch/{name}", "-o", f"{directory}/there.npz")
        state = torch.load(f"{where}/torch/{name}", weights_only=True)
        state = {k.removeprefix("_orig_mod.").removeprefix("transformer."): v for k, v in state.get("model", state).items()}
        with np.load(f"{directory}/there.npz") as z:
            found = {k: z[k] for k in z if k.endswith((".weight", ".bias"))}
        same = all(np.array_equal(a, state[k].T if a.ndim == 2 and ".c_" in k else state[k]) for k, a in found.items())
        print(f"{'torch/' + name:30} {len(found)} tensors are those that PyTorch reads  {verdict(same)}")
    for name, back in TENSORS:
        tg("convert", f"{where}/{name}", "-o", f"{directory}/there.npz")
        target = f"{directory}/back-{name.replace('/', '-')}"
        tg("convert", f"{directory}/there.npz", "--to", "hf", *back, "-o", target)
        a, b = load_file(f"{where}/{name}/model.safetensors"), load_file(target + "/model.safetensors")
        same = a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in a)
        print(f"{name:30} {len(a)} tensors  {verdict(same)}")
        tg("convert", target, "-o", f"{directory}/again.npz")
        with open(f"{directory}/there.npz", "rb") as a, open(f"{directory}/again.npz", "rb") as b:
            print(f"{name:30} model.npz, exported and read again  {verdict(a.read() == b.read())}")


# ---- hostile


def hostile(directory):
    where, _ = samples(directory)
    ended = subprocess.run([sys.executable, os.path.join(HERE, "hostile.py"), TOOLS, where], check=False)
    print(verdict(ended.returncode == 0))


SECTIONS = {"numbers": numbers, "files": files, "exports": exports, "greedy": greedy, "bits": bits, "hostile": hostile}


def main():
    global TOOLS, QUICK
    arguments = [a for a in sys.argv[1:] if a != "--quick"]
    QUICK = "--quick" in sys.argv
    if not arguments or not set(arguments[1:]) <= set(SECTIONS):
        sys.exit(__doc__)
    TOOLS = arguments[0]
    with tempfile.TemporaryDirectory() as directory:
        for name in arguments[1:] or [s for s in SECTIONS if not (QUICK and s == "hostile")]:
            print(f"== {name}")
            SECTIONS[name](directory)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
