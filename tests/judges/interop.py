#!/usr/bin/env python3
"""tg and the libraries of other projects must agree about the same model.

    interop.py BIN [--quick] [SECTION]...    BIN: the directory of the tools

Sections: numbers, files, exports, greedy, bits.  Prints tables; exits with 1 if a line says DIFFERS.

numbers   attention probabilities and logits of random models, against transformers in double precision;
          transformers' own eager float32 is measured likewise, and tg may be no further away
files     the checkpoints of interop_files.py, in each project's own files: the logits that -m FILE gives
exports   what tg-convert writes from them, read by transformers and gguf: the same tensors, the same logits
greedy    200 tokens, each the most probable: tg-sample, llama.cpp on the exported GGUF, transformers on the
          exported directory
bits      files that are converted and converted back are the same, bit for bit
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
from gpt2_f64 import random_ids, random_model  # noqa: E402
from interop_files import TOKENS, hf_model  # noqa: E402

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
        if bias and HF_IN:
            theirs.save_pretrained(model)
        else:
            model += ".npz"
            write_npz(model, config, weights)
        errors = [Error() for _ in range(4)]
        prompts = [random_ids(1000 * seed + i, T, V) for i in range(2 if QUICK else 6)]
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


HF_IN = True
SECTIONS = {"numbers": numbers, "files": files}


def main():
    global TOOLS, QUICK
    arguments = [a for a in sys.argv[1:] if a != "--quick"]
    QUICK = "--quick" in sys.argv
    if not arguments or not set(arguments[1:]) <= set(SECTIONS):
        sys.exit(__doc__)
    TOOLS = arguments[0]
    with tempfile.TemporaryDirectory() as directory:
        for name in arguments[1:] or SECTIONS:
            print(f"== {name}")
            SECTIONS[name](directory)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
