#!/usr/bin/env python3
"""Small checkpoints in the files of other projects, written by these projects' own libraries.

    interop_files.py DIRECTORY [KIND]...    KIND: hf torch llmc gguf npz

Of a model in DIRECTORY/NAME the logits that it must give, in double precision, are in NAME.logits.npy
[T,V], for the T ids of DIRECTORY/ids.npy modulo V, or 300 if V is more (some have 300 tokens and rows without
one); in one with 16 positions for the first 16.  They are those of the weights as they are stored: a
float16 file's are computed from the rounded weights.  DIRECTORY/README lists what was written.
"""
import json
import os
import shutil
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gpt2_f64 import forward, random_ids, random_model  # noqa: E402

T = 24
TOKENS = 300
TEXT = """A small tokenizer learns its merges from a small text. The text says the same words again and again:
the quick brown fox jumps over the lazy dog, the token, the tokens, and the tokenizer. Once upon a time.
Naïve café, 12 × 34 = 408, “quotes”; 你好，世界！ Some spaces:    and a tab:\tend.
""" * 4
listed = []


def note(name, what):
    listed.append(f"{name}\t{what}")


def bf16_bits(x):
    """The upper halves of the float32 numbers nearest to x, ties to even."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)


def bf16_round(x):
    return (bf16_bits(x).astype(np.uint32) << 16).view(np.float32)


def expect(path, config, weights, what, ids=None):
    if ids is None:
        ids = random_ids(0, T, 1 << 30)[: min(T, config["n_ctx"])] % min(config["vocab_size"], TOKENS)
    np.save(path + ".logits.npy", forward(config, weights, ids)[0])
    note(path, what)


# ---- Hugging Face


def hf_config(config, **more):
    from transformers import GPT2Config
    return GPT2Config(**{**dict(
        vocab_size=config["vocab_size"], n_positions=config["n_ctx"], n_embd=config["n_embd"],
        n_layer=config["n_layer"], n_head=config["n_head"], activation_function=config["activation_function"],
        layer_norm_epsilon=config["layer_norm_epsilon"], tie_word_embeddings=config["tied"],
        bos_token_id=config["vocab_size"] - 1, eos_token_id=config["vocab_size"] - 1), **more})


def hf_model(config, weights, dtype=None, **more):
    """transformers' model with these weights; the biases that there are none of are zeros."""
    import torch
    from transformers import GPT2LMHeadModel
    more.setdefault("attn_implementation", "eager")
    model = GPT2LMHeadModel(hf_config(config, **more)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            name = name.removeprefix("transformer.")
            if name in weights:
                p.copy_(torch.from_numpy(np.asarray(weights[name], np.float32)))
            else:
                assert name.endswith(".bias"), name
                p.zero_()
    return model.to(dtype) if dtype else model


def learn_tokenizer(n):
    from tokenizers import ByteLevelBPETokenizer
    t = ByteLevelBPETokenizer()
    t.train_from_iterator([TEXT], vocab_size=n, min_frequency=2, special_tokens=["<|endoftext|>"])
    assert t.get_vocab_size() == n
    return t


def make_hf(out):
    import torch
    from safetensors.numpy import load_file, save_file
    os.makedirs(out, exist_ok=True)
    tokenizer = learn_tokenizer(TOKENS)

    def save(name, config, weights, what, dtype=torch.float32, tokens="json", model=None, **options):
        path = f"{out}/{name}"
        model = model or hf_model(config, weights)
        model.to(dtype).save_pretrained(path, **options)
        if tokens == "json":
            tokenizer.save(path + "/tokenizer.json")
        elif tokens == "merges":
            tokenizer.save_model(path)  # vocab.json, merges.txt
        round_ = {torch.float32: lambda a: a, torch.bfloat16: bf16_round,
                  torch.float16: lambda a: a.astype(np.float16)}[dtype]
        expect(path, config, {k: round_(a) for k, a in weights.items()}, what)
        return path

    config, weights = random_model(1)
    save("tied", config, weights, "float32, tokenizer.json")
    save("tied-merges", config, weights, "vocab.json + merges.txt", tokens="merges")
    save("tied-no-tokenizer", config, weights, "no tokenizer", tokens=None)
    save("tied-fp16", config, weights, "float16", torch.float16)
    save("tied-bf16", config, weights, "bfloat16", torch.bfloat16)
    save("sharded", config, weights, "in shards with an index", max_shard_size="40KB")
    save("sharded-bf16", config, weights, "bfloat16 in shards", torch.bfloat16, max_shard_size="30KB")
    save("base", config, weights, "GPT2Model: names without transformer.", model=hf_model(config, weights).transformer)

    # the file that OpenAI's GPT-2 is distributed in: short names, masks in it
    path = save("masks", config, weights, "short names, attn.bias masks")
    old = {k.removeprefix("transformer."): v for k, v in load_file(path + "/model.safetensors").items()}
    for n in range(config["n_layer"]):
        old[f"h.{n}.attn.bias"] = np.tril(np.ones((1, 1, 64, 64), np.float32))
        old[f"h.{n}.attn.masked_bias"] = np.array(-1e4, np.float32)
    save_file(old, path + "/model.safetensors", metadata={"format": "pt"})

    path = save("bin", config, weights, "pytorch_model.bin")
    os.remove(path + "/model.safetensors")
    torch.save(hf_model(config, weights).state_dict(), path + "/pytorch_model.bin")

    config, weights = random_model(2, tied=False)
    save("untied", config, weights, "untied head")
    save("untied-fp16", config, weights, "untied head, float16", torch.float16)
    config, weights = random_model(3, activation="gelu")
    save("erf", config, weights, "exact GELU")
    config, weights = random_model(4, bias=False)
    zeros = hf_model(config, weights)
    full = {k.removeprefix("transformer."): p.detach().numpy() for k, p in zeros.named_parameters()}
    save("zero-bias", config, full, "all biases are zeros", model=zeros)
    config, weights = random_model(5, n_layer=3, n_head=5, n_embd=35, vocab_size=320)
    save("odd", config, weights, "35 channels, 5 heads, 320 rows for 300 tokens")
    config, weights = random_model(6, vocab_size=65)
    save("small-vocab", config, weights, "65 ids, no tokenizer", tokens=None)
    config, weights = random_model(7, n_layer=1, n_head=1, n_embd=8, n_ctx=16)
    save("one-head", config, weights, "one block, one head, 16 positions")

    # What must be refused by name (or supported): the same weights, another computation.
    config, weights = random_model(1)
    for name, change in {
            "inverse-layer": {"scale_attn_by_inverse_layer_idx": True},
            "upcast": {"reorder_and_upcast_attn": True},
            "no-scale": {"scale_attn_weights": False},
            "relu": {"activation_function": "relu"},
            "cross": {"add_cross_attention": True},
            "llama": {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
            "classifier": {"architectures": ["GPT2ForSequenceClassification"]},
            "n-inner": {"n_inner": 100},
            "n-head": {"n_head": 3}}.items():
        path = f"{out}/other-{name}"
        shutil.copytree(f"{out}/tied", path, dirs_exist_ok=True)
        with open(path + "/config.json") as f:
            found = json.load(f)
        with open(path + "/config.json", "w") as f:
            json.dump({**found, **change}, f, indent=2)
        note(path, "asks for something else: " + json.dumps(change))


# ---- PyTorch: nanoGPT's and minGPT's checkpoints


def torch_state(config, weights, lm_head, masks):
    """The state dict of a module that is built as nanoGPT's and minGPT's are."""
    import torch
    from torch import nn
    C = config["n_embd"]

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(C))
            self.bias = nn.Parameter(torch.zeros(C)) if config["bias"] else None

    def linear(ins, outs):
        return nn.Linear(ins, outs, bias=config["bias"])

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_attn, self.c_proj = linear(C, 3 * C), linear(C, C)
            if masks:
                n = config["n_ctx"]
                self.register_buffer("bias", torch.tril(torch.ones(n, n)).view(1, 1, n, n))

    def block():
        return nn.ModuleDict(dict(
            ln_1=Norm(), attn=Attention(), ln_2=Norm(),
            mlp=nn.ModuleDict(dict(c_fc=linear(C, 4 * C), c_proj=linear(4 * C, C)))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = nn.ModuleDict(dict(
                wte=nn.Embedding(config["vocab_size"], C), wpe=nn.Embedding(config["n_ctx"], C),
                h=nn.ModuleList([block() for _ in range(config["n_layer"])]), ln_f=Norm()))
            self.lm_head = nn.Linear(C, config["vocab_size"], bias=False)
            if lm_head == "tied":
                self.transformer.wte.weight = self.lm_head.weight

    model = Model()
    with torch.no_grad():
        for name, p in model.named_parameters():
            name = name.removeprefix("transformer.")
            if name == "lm_head.weight" and config["tied"]:
                name = "wte.weight"
            a = torch.from_numpy(weights[name])
            # Linear keeps [out,in]
            p.copy_(a.T if a.dim() == 2 and not name.startswith(("wte", "wpe", "lm_head")) else a)
    return model


def make_torch(out):
    import torch
    os.makedirs(out, exist_ok=True)

    def nanogpt(name, config, weights, prefix="", what="", half=None, masks=False):
        model = torch_state(config, weights, "tied", masks)
        optimizer = torch.optim.AdamW(
            [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
             {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}],
            lr=6e-4, betas=(0.9, 0.95))
        before = {k: v.clone() for k, v in model.state_dict().items()}
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step()
        state = model.state_dict()
        with torch.no_grad():
            for k, v in state.items():
                v.copy_(before[k])
        if half:
            state = {k: v.to(half) for k, v in state.items()}
        if prefix:
            for k in list(state):
                state[prefix + k] = state.pop(k)
        model_args = dict(n_layer=config["n_layer"], n_head=config["n_head"], n_embd=config["n_embd"],
                          block_size=config["n_ctx"], bias=config["bias"], vocab_size=config["vocab_size"],
                          dropout=0.0)
        settings = {"out_dir": "out", "eval_interval": 2000, "learning_rate": 6e-4, "dataset": "shakespeare_char",
                    "gradient_accumulation_steps": 40, "init_from": "scratch", "wandb_log": False, "compile": True,
                    "device": "cpu", "dtype": "float32", "beta1": 0.9, **model_args}
        torch.save({"model": state, "optimizer": optimizer.state_dict(), "model_args": model_args, "iter_num": 250,
                    "best_val_loss": torch.tensor(1.4697), "config": settings}, f"{out}/{name}")
        expect(f"{out}/{name}", config, weights, what)

    config, weights = random_model(11, bias=False, activation="gelu")
    nanogpt("nanogpt.pt", config, weights, what="ckpt.pt: no biases, erf, tied")
    nanogpt("nanogpt-compiled.pt", config, weights, "_orig_mod.", what="names begin with _orig_mod.")
    nanogpt("nanogpt-masks.pt", config, weights, masks=True, what="written without flash attention: attn.bias masks")
    rounded = {k: bf16_round(a) for k, a in weights.items()}
    nanogpt("nanogpt-bf16.pt", config, rounded, half=torch.bfloat16, what="bfloat16 weights in a plain dict")
    config, weights = random_model(12, bias=True, activation="gelu", vocab_size=65)
    nanogpt("nanogpt-bias-65.pt", config, weights, what="biases, 65 ids")

    config, weights = random_model(13, tied=False)
    os.makedirs(f"{out}/mingpt", exist_ok=True)
    torch.save(torch_state(config, weights, "own", True).state_dict(), f"{out}/mingpt/model.pt")
    with open(f"{out}/mingpt/config.json", "w") as f:
        json.dump({"system": {"seed": 3407, "work_dir": "./out/chargpt"},
                   "model": {"model_type": None, "n_layer": config["n_layer"], "n_head": config["n_head"],
                             "n_embd": config["n_embd"], "vocab_size": config["vocab_size"],
                             "block_size": config["n_ctx"]}}, f, indent=4)
    expect(f"{out}/mingpt/model.pt", config, weights,
           "state dict: untied, [out,in], masks, tanh; n_head is only in its config.json")

    state = torch_state(config, weights, "own", True).state_dict()
    torch.save(state, f"{out}/legacy.pt", _use_new_zipfile_serialization=False)
    note(f"{out}/legacy.pt", "the old format, not a ZIP: refuse")
    torch.save(torch_state(config, weights, "own", True).lm_head, f"{out}/module.pt")
    note(f"{out}/module.pt", "a pickled module (its class is a global): refuse")
    torch.save({"model": state, "note": torch.nn.Linear(2, 2), "x": 1}, f"{out}/module-inside.pt")
    note(f"{out}/module-inside.pt", "a module besides the state dict: refuse by name")
    torch.save({"a": torch.arange(6).reshape(2, 3), "t": torch.arange(6.0).reshape(2, 3).T, "s": torch.zeros(0),
                "b": torch.tensor([True, False]), "h": torch.ones(3, dtype=torch.float16),
                "d": torch.ones(2, dtype=torch.float64), "n": None, "l": [1, 2.5, "three", (4,), -5, 1 << 40]},
               f"{out}/odd.pt")
    note(f"{out}/odd.pt", "types, a transposed view, an empty tensor, lists and tuples: no model")


# ---- llm.c


def make_llmc(out):
    os.makedirs(out, exist_ok=True)
    config, weights = random_model(21)
    V, L = config["vocab_size"], config["n_layer"]
    Vp = -(-V // 128) * 128
    wte = np.zeros((Vp, config["n_embd"]), np.float32)
    wte[:V] = weights["wte.weight"]
    parts = [wte, weights["wpe.weight"]]
    for kind in ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight",
                 "attn.c_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
                 "mlp.c_proj.weight", "mlp.c_proj.bias"):
        for n in range(L):
            a = weights[f"h.{n}.{kind}"]
            parts.append(a.T if a.ndim == 2 else a)
    parts += [weights["ln_f.weight"], weights["ln_f.bias"]]
    flat = np.concatenate([np.ravel(p) for p in parts]).astype(np.float32)

    def header(*values):
        return struct.pack("<256i", *values, *[0] * (256 - len(values)))

    for name, version, data, rounded in (("model-f32.bin", 3, flat, lambda a: a),
                                         ("model-bf16.bin", 5, bf16_bits(flat), bf16_round)):
        with open(f"{out}/{name}", "wb") as f:
            f.write(header(20240326, version, config["n_ctx"], V, L, config["n_head"], config["n_embd"], Vp))
            f.write(data.tobytes())
        expect(f"{out}/{name}", config, {k: rounded(a) for k, a in weights.items()},
               f"version {version}, {V} ids padded to {Vp}")

    ids = random_ids(5, 1000, V).astype(np.uint16)
    with open(f"{out}/tokens.bin", "wb") as f:
        f.write(header(20240520, 1, len(ids)) + ids.tobytes())
    note(f"{out}/tokens.bin", "1000 ids; also as nanogpt-train.bin, without a header, and tokens.npy")
    ids.tofile(f"{out}/nanogpt-train.bin")
    np.save(f"{out}/tokens.npy", ids)

    # the bytes of each token, in the order of the ids of learn_tokenizer()
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    byte = {**{chr(b): b for b in shown}, **{chr(256 + i): b for i, b in enumerate(hidden)}}
    vocab = sorted(learn_tokenizer(V).get_vocab().items(), key=lambda item: item[1])
    with open(f"{out}/tokenizer.bin", "wb") as f:
        f.write(header(20240328, 2, V, 0))
        for token, _ in vocab:
            text = token.encode() if token == "<|endoftext|>" else bytes(byte[c] for c in token)
            f.write(bytes([len(text)]) + text)
    note(f"{out}/tokenizer.bin", "300 tokens, end of text is 0")


# ---- GGUF

GGUF_NAMES = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output",
              "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
              "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


def gguf_name(name):
    """h.0.ln_1.weight -> blk.0.attn_norm.weight"""
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("h."):
        _, n, stem = stem.split(".", 2)
        return f"blk.{n}.{GGUF_NAMES[stem]}.{kind}"
    return f"{GGUF_NAMES[stem]}.{kind}"


def random_blocks(rng, kind, rows, columns):
    """Bytes of valid blocks: any quants, small scales."""
    import gguf
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    of, size = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    n = rows * columns // of
    blocks = rng.integers(0, 256, (n, size), np.uint8)
    at = {"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "Q2_K": (80, 82), "Q3_K": (108,)}[kind]
    for i in at:  # the float16 factors of a block
        d = (rng.standard_normal(n) * (2e-5 if kind == "Q6_K" else 2e-4)).astype(np.float16)
        blocks[:, i:i + 2] = d.view(np.uint8).reshape(n, 2)
    data = blocks.reshape(rows, -1)
    return data, gguf.quants.dequantize(data, GGMLQuantizationType[kind])


def make_gguf(out):
    import gguf
    from gguf import GGMLQuantizationType as Type
    os.makedirs(out, exist_ok=True)
    tokenizer = learn_tokenizer(TOKENS)

    def write(name, config, weights, kind, what, tokens=True, norms=None, head=True):
        """Matrices are stored as `kind`, vectors and wpe as float32, as llama.cpp's converter does it."""
        rng = np.random.default_rng(7)
        path = f"{out}/{name}"
        w = gguf.GGUFWriter(path, "gpt2")
        w.add_name("tiny")
        w.add_block_count(config["n_layer"])
        w.add_context_length(config["n_ctx"])
        w.add_embedding_length(config["n_embd"])
        w.add_feed_forward_length(4 * config["n_embd"])
        w.add_head_count(config["n_head"])
        w.add_layer_norm_eps(config["layer_norm_epsilon"])
        w.add_file_type({"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q4_K": 15,
                         "Q6_K": 18, "BF16": 32, "Q5_K": 17, "Q2_K": 10, "Q3_K": 12}[kind])
        if tokens:
            vocab = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
            names = [t for t, _ in vocab] + [f"[PAD{i}]" for i in range(len(vocab), config["vocab_size"])]
            w.add_tokenizer_model("gpt2")
            w.add_tokenizer_pre("gpt-2")
            w.add_token_list(names)
            w.add_token_types([3 if t == "<|endoftext|>" else 5 if t.startswith("[PAD") else 1 for t in names])
            merges = json.loads(tokenizer._tokenizer.to_str())["model"]["merges"]
            w.add_token_merges([" ".join(m) if isinstance(m, list) else m for m in merges])
            w.add_bos_token_id(0)
            w.add_eos_token_id(0)
        stored = {}
        for key, a in weights.items():
            matrix = a.ndim == 2
            if matrix and not key.startswith(("wte", "wpe", "lm_head")):
                a = np.ascontiguousarray(a.T)
            as_ = kind if matrix and not key.startswith("wpe") else "F32"
            if as_ == "F32":
                data, value = a, a
            elif as_ == "F16":
                data = value = a.astype(np.float16)
            elif as_.endswith("_K"):
                data, value = random_blocks(rng, as_, *a.shape)
            else:
                data = gguf.quants.quantize(a, Type[as_])
                value = gguf.quants.dequantize(data, Type[as_])
            w.add_tensor(gguf_name(key), data, raw_dtype=None if as_ in ("F32", "F16") else Type[as_])
            stored[key] = value.T if matrix and not key.startswith(("wte", "wpe", "lm_head")) else value
            if kind not in ("F32", "F16", "BF16") and matrix:
                os.makedirs(f"{path}.tensors", exist_ok=True)
                np.save(f"{path}.tensors/{gguf_name(key)}.npy", value)
        if config["tied"] and head:
            w.add_tensor("output.weight", *first_tensor(w, "token_embd.weight"))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        expect(path, config, stored, what)

    def first_tensor(w, name):
        info = w.tensors[0][name]
        return info.tensor, None, info.dtype

    config, weights = random_model(31)
    write("f32.gguf", config, weights, "F32", "output.weight is a copy of token_embd.weight")
    write("f32-no-output.gguf", config, weights, "F32", "tied, no output.weight", head=False)
    write("f32-no-tokens.gguf", config, weights, "F32", "no tokenizer", tokens=False)
    for kind in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"):
        write(f"{kind.lower()}.gguf", config, weights, kind, "NAME.tensors has the values of its blocks")
    config, weights = random_model(32, tied=False)
    write("untied-f16.gguf", config, weights, "F16", "untied")
    config, weights = random_model(33, vocab_size=320)
    write("padded-f32.gguf", config, weights, "F32", "20 tokens [PADn] of type 5 (unused)")
    config, weights = random_model(34, n_layer=1, n_head=4, n_embd=256)
    for kind in ("Q4_K", "Q6_K", "Q5_K", "Q2_K", "Q3_K"):
        write(f"{kind.lower()}.gguf", config, weights, kind, "random blocks; a reader may refuse Q2_K, Q3_K, Q5_K")


# ---- .npz with other names


def make_npz(out):
    os.makedirs(out, exist_ok=True)
    config, weights = random_model(41)
    np.savez(f"{out}/plain.npz", **weights)
    expect(f"{out}/plain.npz", config, weights, "Hugging Face's names, no config: 2 heads")

    def rename(name):
        return name.replace("h.", "block_", 1).replace(".", "/") if name.startswith("h.") else "top/" + name

    np.savez(f"{out}/named.npz", **{rename(k): a for k, a in weights.items()})
    with open(f"{out}/named.map", "w") as f:
        f.writelines(f"{rename(k)} {k}\n" for k in weights)
    expect(f"{out}/named.npz", config, weights, "other names; named.map has THEIRS OURS per line: 2 heads")

    split = {}
    for k, a in weights.items():
        if ".attn.c_attn." in k:
            for part, b in zip("qkv", np.split(a, 3, axis=-1)):
                split[k.replace("c_attn", part + "_proj")] = b
        else:
            split[k] = a
    np.savez(f"{out}/split-qkv.npz", **split)
    expect(f"{out}/split-qkv.npz", config, weights, "attn.q_proj, k_proj, v_proj instead of c_attn: 2 heads")


KINDS = {"hf": make_hf, "torch": make_torch, "llmc": make_llmc, "gguf": make_gguf, "npz": make_npz}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out, kinds = sys.argv[1], sys.argv[2:] or list(KINDS)
    os.makedirs(out, exist_ok=True)
    ids = random_ids(0, T, 1 << 30)
    with open(f"{out}/ids.txt", "w") as f:
        print(*ids % TOKENS, file=f)
    np.save(f"{out}/ids.npy", ids)
    with open(f"{out}/text.txt", "w", encoding="utf-8") as f:
        f.write(TEXT)
    for kind in kinds:
        KINDS[kind](f"{out}/{kind}")
        with open(f"{out}/{kind}/README", "w") as f:
            f.writelines(line.replace(f"{out}/", "", 1) + "\n" for line in listed if line.startswith(f"{out}/{kind}/"))


if __name__ == "__main__":
    main()
