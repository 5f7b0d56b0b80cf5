#!/usr/bin/env python3
"""What tg-convert --to hf writes of other families must be, in transformers, the model that it was here.

    families_write.py BIN [CLASS]...    BIN: the directory of the tools; CLASS: a "model_type", all by default

For each class, random models of random configs, as archives that NumPy writes.  tg-convert makes a directory of
each, transformers loads it, in double precision, without a warning and with every weight where it belongs, and its
logits are compared with those that tg-eval takes of the archive (LIMIT, of the largest value: transformers has
rotation, softmax and norms in float32 even then).  The archive that tg-convert makes of the directory must have the
same settings and weights, bit for bit, except where the directory says the same in another way (spelled()).  Prints a
line for each class; exits with 1 if one says DIFFERS.

A Gemma whose scale of the embedding is rounded to bf16 must be refused in float32, and written in bf16.  Settings are
far from what any class assumes: a key that is lost shows in the logits.
"""
import io
import logging
import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

transformers.logging.disable_progress_bar()

LIMIT = 1e-5
TOKENS = 48
MODELS = 3

SCALINGS = [
    dict(rope_scaling="none", rope_factor=1.0, rope_low_freq=1.0, rope_high_freq=1.0, rope_ctx=1),
    dict(rope_scaling="linear", rope_factor=2.5, rope_low_freq=1.0, rope_high_freq=1.0, rope_ctx=1),
    dict(rope_scaling="llama3", rope_factor=4.0, rope_low_freq=1.0, rope_high_freq=4.0, rope_ctx=32),
]


def layers(r, n):
    """Some layers, but neither all nor none if there are two."""
    return sum(1 << i for i in range(n) if i % 2 == r.randrange(2)) or 1


def body(r, i, divides=False):
    """What the families of Llama's kind have; a class changes some of it."""
    H, KV = r.choice([(4, 2), (6, 2), (3, 3), (4, 1), (6, 3)])
    C = H * r.randrange(3, 8) + (0 if divides else r.randrange(2))
    return dict(n_layer=r.randrange(2, 5), n_head=H, n_embd=C, n_ctx=64, vocab_size=r.randrange(60, 260),
                layer_norm_epsilon=r.choice([0.003, 0.02]), activation=r.choice(["silu", "gelu_new", "gelu"]),
                tied=r.randrange(2), n_kv_head=KV, head_dim=2 * r.randrange(2, 7), n_inner=r.randrange(10, 60),
                rope_theta=r.choice([20.0, 300.5]), qkv_bias=0, out_bias=0, mlp_bias=0, qk_norm=0,
                **SCALINGS[i % 3], rope_dim=0, rope_local_theta=0.0, unrotated_layers=0, window=0, window_layers=0,
                attn_scale=0.0, attn_cap=0.0, norm_offset=0.0, embed_scale=1.0)


def llama(r, i):
    c = body(r, i, divides=True)
    c["mlp_bias"] = i % 2
    c["qkv_bias"], c["out_bias"] = [(0, 0), (1, 1), (1, 0)][i % 3]
    if i == 0:
        c["activation"] = "silu"
    return "llama", c


def mistral(r, i):
    c = dict(body(r, i), activation="silu")
    if i > 0:
        c.update(window=r.randrange(5, 20), window_layers=2**64 - 1)
    else:
        c["n_embd"] = 4 * c["n_head"] + 1  # which Llama's own class refuses
    return "llama", c


def smollm3(r, i):
    c = body(r, i)
    c.update(unrotated_layers=layers(r, c["n_layer"]), qkv_bias=i % 2, out_bias=i % 2)
    if i == 2:
        c.update(window=9, window_layers=layers(r, c["n_layer"]))
    return "llama", c


def qwen2(r, i):
    c = dict(body(r, i), qkv_bias=1)
    if i == 0:
        c["activation"] = "silu"
    else:
        c.update(window=7, window_layers=layers(r, c["n_layer"]) if i == 1 else (2**64 - 2))
    return "qwen2", c


def qwen3(r, i):
    c = dict(body(r, i), qk_norm=1, qkv_bias=i == 1, out_bias=i == 1)
    if i == 0:
        c["activation"] = "silu"
    else:
        c.update(window=7, window_layers=layers(r, c["n_layer"]) if i == 1 else 2**64 - 1)
    return "qwen3", c


def as_gemma(c):
    return dict(c, activation="gelu_new", norm_offset=1.0, embed_scale=c["n_embd"] ** 0.5)


def gemma(r, i):
    return "gemma", dict(as_gemma(body(r, i)), qkv_bias=i == 1, out_bias=i == 1)


def without(c, *names):
    return {k: v for k, v in c.items() if k not in names}


MORE = ("qkv_bias", "out_bias", "mlp_bias", "rope_dim", "unrotated_layers")


def gemma2(r, i):
    c = body(r, i, divides=True)
    c = dict(as_gemma(c), window=8, window_layers=[layers(r, c["n_layer"]), 0, 1][i], activation=c["activation"],
             attn_scale=[0.0, 7 ** -0.5, 11 ** -0.5][i], attn_cap=[2.5, 0.0, 5.0][i],
             final_logit_softcapping=[0.0, 1.5, 3.0][i])
    return "gemma2", without(c, *MORE)


def gemma3(r, i):
    c = body(r, i, divides=True)
    c = dict(as_gemma(c), window=8, window_layers=layers(r, c["n_layer"]), activation=c["activation"], qk_norm=1,
             attn_scale=[0.0, 7 ** -0.5, 3 ** -0.5][i], rope_local_theta=[0.0, 7.0, 11.5][i])
    return "gemma3", without(c, *MORE)


def olmo2(r, i):
    if transformers.__version__.startswith("4."):
        i %= 2  # it refuses "llama3"
    return "olmo2", without(dict(body(r, i), qk_norm=1), *MORE)


def neox(r, i):
    c = body(r, i, divides=True)
    D = 2 * r.randrange(3, 8)
    c.update(n_embd=c["n_head"] * D, rope_dim=[0, 2, D - 4][i], qkv_bias=i != 1, out_bias=i == 0)
    return "gpt_neox", without(c, "n_kv_head", "head_dim", "mlp_bias", "qk_norm", "rope_local_theta",
                               "unrotated_layers", "window", "window_layers", "attn_scale", "attn_cap",
                               "norm_offset", "embed_scale")


def phi3(r, i):
    c = body(r, 0)
    c.update(rope_dim=[0, 2, c["head_dim"]][i])
    if i > 0:
        c.update(window=[0, 1, 13][i], window_layers=2**64 - 1)
    return "phi3", c


def stablelm(r, i):
    c = body(r, i, divides=True)
    D = 2 * r.randrange(3, 8)
    c.update(n_embd=c["n_head"] * D, rope_dim=[0, 2, D - 4][i], qkv_bias=i == 1)
    return "stablelm", without(c, "head_dim", "out_bias", "mlp_bias", "qk_norm", "rope_local_theta", "unrotated_layers",
                               "window", "window_layers", "attn_scale", "attn_cap", "norm_offset", "embed_scale")


def nanochat(r, i):
    c = body(r, i, divides=True)
    c.update(activation=["relu2", "silu", "relu2"][i], qk_norm=1, qkv_bias=i == 1, out_bias=i == 1,
             final_logit_softcapping=[15.0, 0.0, 2.5][i])
    return "nanochat", without(c, "mlp_bias", "rope_dim", "rope_local_theta", "unrotated_layers", "window", "window_layers",
                               "attn_scale", "attn_cap", "norm_offset", "embed_scale")


CLASSES = {"llama": llama, "mistral": mistral, "smollm3": smollm3, "qwen2": qwen2, "qwen3": qwen3, "gemma": gemma,
           "gemma2": gemma2, "gemma3_text": gemma3, "olmo2": olmo2, "gpt_neox": neox,
           "phi3": phi3, "stablelm": stablelm, "nanochat": nanochat}


# ---- the archive


def shapes(family, c):
    """The tensors, in the order of the archive; one dimension: a norm, or a bias."""
    C, F, V, H = c["n_embd"], c["n_inner"], c["vocab_size"], c["n_head"]
    D = c.get("head_dim", C // H)
    Q, KV = H * D, c.get("n_kv_head", H) * D
    neox, has_biases = family == "gpt_neox", family in ("gpt_neox", "stablelm")
    has = {"qkv": c["qkv_bias"] if "qkv_bias" in c else 0, "out": c.get("out_bias"), "mlp": c.get("mlp_bias"),
           "always": 1}

    def linear(name, out, inner, bias):
        yield name + ".weight", (out, inner)
        if has[bias]:
            yield name + ".bias", (out,)

    def norm(name, n):
        yield name + ".weight", (n,)
        if has_biases:
            yield name + ".bias", (n,)

    def llama_block(b):
        if family != "olmo2":
            yield from norm(b + "input_layernorm", C)
        for x, n in (("q", Q), ("k", KV), ("v", KV)):
            yield from linear(f"{b}self_attn.{x}_proj", n, C, "qkv")
        if c.get("qk_norm"):
            yield from norm(b + "self_attn.q_norm", Q if family == "olmo2" else D)
            yield from norm(b + "self_attn.k_norm", KV if family == "olmo2" else D)
        yield from linear(b + "self_attn.o_proj", C, Q, "out")
        yield from norm(b + "post_attention_layernorm", C)
        if family in ("gemma2", "gemma3"):
            yield from norm(b + "pre_feedforward_layernorm", C)
        yield from linear(b + "mlp.gate_proj", F, C, "mlp")
        yield from linear(b + "mlp.up_proj", F, C, "mlp")
        yield from linear(b + "mlp.down_proj", C, F, "mlp")
        if family in ("gemma2", "gemma3", "olmo2"):
            yield from norm(b + "post_feedforward_layernorm", C)

    def nanochat_block(b):
        for x, n in (("q", Q), ("k", KV), ("v", KV)):
            yield from linear(f"{b}self_attn.{x}_proj", n, C, "qkv")
        yield from linear(b + "self_attn.o_proj", C, Q, "out")
        yield b + "mlp.fc1.weight", (F, C)
        yield b + "mlp.fc2.weight", (C, F)

    def neox_block(b):
        yield from norm(b + "input_layernorm", C)
        for x in ("query", "key", "value"):
            yield from linear(b + "attention." + x, C, C, "qkv")
        yield from linear(b + "attention.dense", C, C, "out")
        yield from norm(b + "post_attention_layernorm", C)
        yield from linear(b + "mlp.dense_h_to_4h", F, C, "always")
        yield from linear(b + "mlp.dense_4h_to_h", C, F, "always")

    yield "gpt_neox.embed_in.weight" if neox else "model.embed_tokens.weight", (V, C)
    for layer in range(c["n_layer"]):
        b = ("gpt_neox" if neox else "model") + f".layers.{layer}."
        yield from {"gpt_neox": neox_block, "nanochat": nanochat_block}.get(family, llama_block)(b)
    if family != "nanochat":
        yield from norm("gpt_neox.final_layer_norm" if neox else "model.norm", C)
    if not c["tied"]:
        yield "embed_out.weight" if neox else "lm_head.weight", (V, C)


def setting(name, value):
    if name in ("unrotated_layers", "window_layers"):
        return np.uint64(value)
    if isinstance(value, str):
        return np.bytes_(value)
    return np.float64(value) if isinstance(value, float) else np.int64(value)


def write_archive(path, family, c, seed):
    draw = np.random.default_rng(seed)
    arrays = {"kind": np.bytes_("model"), "version": np.int64(1), "config/family": np.bytes_(family)}
    arrays.update({"config/" + k: setting(k, v) for k, v in c.items()})
    arrays.update({"tokenizer/kind": np.bytes_("ids"), "tokenizer/vocab_size": np.int64(c["vocab_size"])})
    for name, shape in shapes(family, c):
        x = draw.standard_normal(shape)
        if len(shape) == 2:
            x /= shape[1] ** 0.5
        else:
            x = 0.2 * x + (1 - c.get("norm_offset", 0) if "norm" in name and name.endswith("weight") else 0)
        arrays[name] = x.astype(np.float32)
    np.savez(path, **arrays)


# ---- the comparison


def tg(tool, *arguments):
    done = subprocess.run([os.path.join(sys.argv[1], "tg-" + tool), *arguments], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def ours(path, ids, where):
    logits = os.path.join(where, "logits.npz")
    tg("eval", "-m", path, "--ids", " ".join(map(str, ids)), "--logits", "-o", logits, "--force")
    with np.load(logits) as a:
        return a["logits/00000000"].reshape(len(ids), -1).astype(np.float64)


def theirs(path, ids, complaints):
    """The logits; what transformers says while it loads is a complaint."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger("transformers").addHandler(handler)
    try:
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.float64, attn_implementation="eager", output_loading_info=True)
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0].numpy()
    finally:
        logging.getLogger("transformers").removeHandler(handler)
    complaints += [f"{k}: {sorted(map(str, v))}" for k, v in info.items() if v]
    complaints += said.getvalue().strip().splitlines()
    return type(model).__name__, logits


def spelled(arrays):
    """Settings and weights, with one spelling where an archive has several: a directory keeps no bits of layers that
    the model lacks, no window that no layer has and no difference between zeros and no bias, but sizes and bases
    even where the archive says that they are the usual ones, and the square of the scale."""
    a = {k: arrays[k] for k in arrays.files}
    if "config/window_layers" in a:
        a["config/window_layers"] = a["config/window_layers"] & np.uint64((1 << int(a["config/n_layer"])) - 1)
        a["config/window"] = a["config/window"] * (a["config/window_layers"] > 0)
    if a.get("config/rope_dim") == a.get("config/head_dim", a["config/n_embd"] // a["config/n_head"]):
        a["config/rope_dim"] = np.zeros_like(a["config/rope_dim"])  # all
    if a.get("config/rope_local_theta") == 0 and a["config/family"] == b"gemma3":
        a["config/rope_local_theta"] = a["config/rope_theta"]
    if "config/attn_scale" in a:
        a["config/attn_scale"] = np.round(a["config/attn_scale"], 15)
    zeros = [k for k in a if k.endswith(("o_proj.bias", "dense.bias")) and not a[k].any()]
    for k in zeros:
        a["config/out_bias"] = np.zeros_like(a["config/out_bias"])
        del a[k]
    return a


def check_again(archive, directory, where, complaints):
    again = os.path.join(where, "again.npz")
    tg("convert", directory, "-o", again, "--force")
    with np.load(archive) as a, np.load(again) as b:
        a, b = spelled(a), spelled(b)
    if a.keys() != b.keys():
        complaints.append(f"read again, it has other arrays: {sorted(a.keys() ^ b.keys())}")
    complaints += [f"read again, {k} is another" for k in sorted(a.keys() & b.keys())
                   if a[k].tobytes() != b[k].tobytes()]


def as_bf16(x):
    return torch.tensor(x).to(torch.bfloat16)


def check_scale(archive, directory, where, ids, complaints):
    """A Gemma of bf16 has sqrt(C) rounded to it: it is refused in another type, and transformers multiplies with it."""
    rounded, again = os.path.join(where, "rounded.npz"), os.path.join(where, "again.npz")
    with np.load(archive) as a:
        exact = float(a["config/embed_scale"])
        scale = float(as_bf16(exact))
        np.savez(rounded, **dict(a, **{"config/embed_scale": np.float64(scale)}))
    got = subprocess.run([os.path.join(sys.argv[1], "tg-convert"), rounded, "--to", "hf", "-o", directory, "--force"],
                         stderr=subprocess.PIPE, text=True)
    if np.float32(scale) != np.float32(exact) and (got.returncode != 2 or "--dtype bf16" not in got.stderr):
        complaints.append(f"in float32 it is not refused, or not with this type's name: {got.stderr}")
    tg("convert", rounded, "--to", "hf", "--dtype", "bf16", "-o", directory, "--force")
    tg("convert", directory, "-o", again, "--force")
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype="auto")
    with torch.no_grad():
        mine = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[0][0]
    with np.load(again) as a:
        if float(a["config/embed_scale"]) != scale:
            complaints.append(f"read again, its scale is {a['config/embed_scale']}, not {scale}")
        if not torch.equal(mine, as_bf16(a["model.embed_tokens.weight"][ids] * np.float32(scale))):
            complaints.append("in bf16, the vectors of tokens are others")


def judge(name):
    worst, bad, model_class = 0.0, 0, None
    for i in range(MODELS):
        r = random.Random(f"{name} {i}")
        family, c = CLASSES[name](r, i)
        complaints = []
        with tempfile.TemporaryDirectory() as where:
            archive, directory = os.path.join(where, "model.npz"), os.path.join(where, "hf")
            write_archive(archive, family, c, i)
            tg("convert", archive, "--to", "hf", "-o", directory)
            ids = [r.randrange(c["vocab_size"]) for _ in range(TOKENS)]
            mine = ours(archive, ids, where)
            model_class, want = theirs(directory, ids, complaints)
            check_again(archive, directory, where, complaints)
            if name.startswith("gemma"):
                check_scale(archive, directory, where, ids, complaints)
        off = np.abs(mine - want).max() / max(1, np.abs(want).max())
        worst = max(worst, off)
        if off > LIMIT or complaints:
            bad += 1
            print(f"{name} {i}: logits are {off:.2e} off {c}", *complaints, sep="\n    ")
    print(f"{name}: {MODELS} models as {model_class}, logits at most {worst:.1e} off: {'DIFFERS' if bad else 'ok'}",
          flush=True)
    return bad


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(CLASSES):
        sys.exit(__doc__)
    sys.exit(any([judge(name) for name in sys.argv[2:] or CLASSES]))
