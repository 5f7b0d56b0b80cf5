#!/usr/bin/env python3
"""The log-probabilities, ranks, entropies and logits of tg-eval, and of tg-sample --logprobs, against transformers
in double precision.

    eval.py [BIN]     BIN: the directory of the tools, if they are not on PATH

Models of several shapes, with weights large enough that each of them matters.  The windows follow the
definition in tg-eval(1).  Prints a line per model, with the largest differences of the logits from those
in double precision: tg's, and those of transformers itself in float32.  Exits 1 if tg's are more than
twice as large, or if anything else does not agree.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
TEXT = ("Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my "
        "purse, and nothing particular to interest me on shore, I thought I would sail about a little. ") * 2

#        options of tg-init,                                              window, stride
MODELS = [
    ("--n-layer 1 --n-head 1 --n-embd 16 --n-ctx 64",                        64, 64),
    ("--n-layer 2 --n-head 2 --n-embd 24 --n-ctx 32 --activation gelu",      32, 16),
    ("--n-layer 3 --n-head 5 --n-embd 35 --n-ctx 48 --tied no",              48, 1),
    ("--n-layer 2 --n-head 4 --n-embd 64 --n-ctx 128 --vocab-size 300",     100, 60),
    ("--n-layer 2 --n-head 25 --n-embd 50 --n-ctx 16 --layer-norm-epsilon 0.001", 7, 5),
    ("--n-layer 4 --n-head 12 --n-embd 96 --n-ctx 512",                     512, 512),
]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def make_model(path, options):
    """A model of tg-init with other weights; returns its arrays."""
    run("tg-init", *options.split(), "-o", path)
    with np.load(path) as z:
        arrays = {name: z[name] for name in z.files}
    rng = np.random.default_rng(1)
    for name, a in arrays.items():
        if a.dtype != np.float32:
            continue
        scale = 0.3 if a.ndim == 1 else 1.5 / np.sqrt(a.shape[-1] if name.startswith(("wte", "wpe", "lm_head"))
                                                      else a.shape[0])
        mean = 1 if name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight")) else 0
        arrays[name] = (mean + scale * rng.standard_normal(a.shape)).astype(np.float32)
    np.savez(path, **arrays)
    return arrays


def transformers_model(arrays):
    def get(name):
        return arrays["config/" + name].item()
    config = GPT2Config(vocab_size=get("vocab_size"), n_positions=get("n_ctx"), n_embd=get("n_embd"),
                        n_layer=get("n_layer"), n_head=get("n_head"),
                        activation_function=get("activation").decode(),
                        layer_norm_epsilon=get("layer_norm_epsilon"), tie_word_embeddings=bool(get("tied")),
                        attn_implementation="eager",
                        bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config).eval()
    state = {("lm_head.weight" if name == "lm_head.weight" else "transformer." + name): torch.tensor(a)
             for name, a in arrays.items() if a.dtype == np.float32}
    if get("tied"):
        state["lm_head.weight"] = state["transformer.wte.weight"]
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(".attn.bias" in m or "masked_bias" in m for m in missing), (missing, unexpected)
    return model


def definition(model, ids, window, stride):
    """The logits after each token: from the first window that has it."""
    rows, begin = [], 0
    with torch.no_grad():
        while len(rows) < len(ids):
            out = model(torch.tensor([ids[begin:begin + window]])).logits[0].double().numpy()
            rows.extend(out[len(rows) - begin:])
            begin += stride
    return np.array(rows)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def read_table(*command):
    lines = [line.split("\t") for line in run(*command).decode().splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def compare(table, log_probs, ids, near):
    """The largest difference of a table's values; how many ranks and alternatives are wrong, except where logits
    are closer than `near`."""
    at = log_probs[np.arange(len(ids)), ids]
    tokens = log_probs[:, :256]
    difference = max(
        np.abs(np.array([float(row["logprob"]) for row in table]) - at).max(),
        np.abs(np.array([float(row["entropy"]) for row in table])
               + (np.exp(log_probs) * log_probs).sum(-1)).max(),
        np.abs(np.array([float(row["logprob_1"]) for row in table]) - tokens.max(-1)).max())
    wrong_ranks = sum(not (row > x + near).sum() <= int(line["rank"]) <= (row >= x - near).sum() - 1
                      for line, row, x in zip(table, tokens, at))
    wrong_top = sum(abs(row[int(line["id_%d" % (k + 1)])] - np.sort(row)[-1 - k]) > near
                    for line, row in zip(table, tokens) for k in range(3))
    return difference, wrong_ranks, wrong_top


def check_sampled(model, path, n_ctx, near):
    """Generate until the context is full, and predict the same tokens with transformers."""
    prompt = TEXT[:5]
    table = read_table("tg-sample", "-m", path, "-p", prompt, "-n", str(n_ctx - len(prompt)), "--top", "3")
    ids = list(prompt.encode()) + [int(row["id"]) for row in table]
    log_probs = log_softmax(definition(model, ids, n_ctx, n_ctx))
    assert len(ids) == n_ctx and [int(row["t"]) for row in table] == list(range(len(prompt), n_ctx))
    return compare(table, log_probs[len(prompt) - 1:-1], np.array(ids[len(prompt):]), near)


def check(path, options, window, stride):
    model = transformers_model(make_model(path, options))
    ids = list(TEXT.encode())
    plan = ["-m", path, "-c", str(window), "-s", str(stride), "-p", TEXT]
    single = definition(model, ids, window, stride)
    want = definition(model.double(), ids, window, stride)

    run("tg-eval", *plan, "--logits", "-o", path + ".logits.npz")
    with np.load(path + ".logits.npz") as z:
        assert list(z["tokens/00000000"]) == ids
        got = z["logits/00000000"].astype(np.float64)
    ours, theirs = np.abs(got - want).max(), np.abs(single - want).max()

    table = read_table("tg-eval", *plan, "--top", "3")
    assert [int(row["id"]) for row in table] == ids and table[0]["logprob"] == ""
    log_probs = log_softmax(want[:-1])
    targets = np.array(ids[1:])
    at = log_probs[np.arange(len(targets)), targets]
    near = 2 * max(ours, theirs)
    difference, wrong_ranks, wrong_top = compare(table[1:], log_probs, targets, near)
    sampled = check_sampled(model, path, model.config.n_positions, near)
    difference = max(difference, sampled[0])
    wrong_ranks += sampled[1]
    wrong_top += sampled[2]

    result = dict(zip(*(line.split("\t") for line in run("tg-eval", *plan, "--tsv").decode().splitlines())))
    loss = -at.mean()
    difference = max(difference, abs(float(result["loss"]) - loss),
                     abs(float(result["bits_per_byte"]) - loss / np.log(2)),
                     abs(float(result["perplexity"]) / np.exp(loss) - 1))
    ok = ours <= 2 * theirs and difference <= 4 * theirs + 1e-8 and not wrong_ranks and not wrong_top
    print(f"{'ok' if ok else 'NOT OK':6} {ours:9.2e} {theirs:9.2e} {difference:9.2e} {wrong_ranks:5} {wrong_top:5}  "
          f"{options} -c {window} -s {stride}")
    return ok


def main():
    if len(sys.argv) > 1:
        os.environ["PATH"] = sys.argv[1] + os.pathsep + os.environ["PATH"]
    print("       largest errors of        wrong")
    print("       logits    theirs    else ranks  top  model")
    with tempfile.TemporaryDirectory() as directory:
        results = [check(os.path.join(directory, "model.npz"), *model) for model in MODELS]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
