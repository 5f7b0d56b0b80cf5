#!/usr/bin/env python3
"""Random twins of other families, as GGUF files, must be the same models as in transformers.

    families_gguf.py BIN [FAMILY]...    BIN: the directory of the tools

Each twin of tests/judges/families.py is written as its converter in llama.cpp does: the names, the order of the rows
of q and k, Gemma's norms with 1 added, Llama 3's scaling as divisors; with matrices of q, k and v apart, or in one.
Where tg reads the family from Hugging Face's directory too, logits and attention probabilities must have the same
bits from both; all are compared with transformers in double precision, by the mean difference.  Twins with rows of whole
blocks are also written as q8_0, and compared with a float32 file of the values that the package gguf decodes.
Prints a line for each family; exits with 1 if one says DIFFERS.
"""
import math
import os
import sys
import tempfile

import gguf
import numpy as np
import torch
import transformers

import families
from families import SHAPES, TOKENS, in_double, ours, run, sizes, twin

LIMIT = 2  # times transformers' float32; both are means, as the largest differences are of a few sensitive tokens
FLOOR = 1e-7


def gemma(i, s):
    """Its converter writes neither the base of rotation nor a head."""
    return transformers.GemmaConfig(**dict(s, tie_word_embeddings=True), rope_parameters=families.rope(0, 10000.0))


def gemma2(i, s):
    return transformers.Gemma2Config(
        **dict(s, tie_word_embeddings=True), sliding_window=[7, 20][i % 2], query_pre_attn_scalar=s["head_dim"],
        attn_logit_softcapping=[2.0, 50.0][i % 2], final_logit_softcapping=[3.0, 30.0][i % 2],
        rope_parameters=families.rope(0, 10000.0))


def gemma3(i, s):
    s = dict(s, num_hidden_layers=[2, 7, 6][i % 3])
    linear = {"rope_type": "linear", "factor": 8.0} if i % 2 else {"rope_type": "default"}
    return transformers.Gemma3TextConfig(
        **s, sliding_window=[7, 20][i % 2], query_pre_attn_scalar=s["head_dim"],
        layer_types=["full_attention" if (n + 1) % 6 == 0 else "sliding_attention" for n in range(s["num_hidden_layers"])],
        rope_parameters={"full_attention": {"rope_theta": 1000.0, **linear},
                         "sliding_attention": {"rope_theta": 25.0, "rope_type": "default"}})


def olmo2(i, s):
    s = dict(s, hidden_size=s["num_attention_heads"] * s["head_dim"])
    del s["head_dim"]
    return transformers.Olmo2Config(**s, rms_norm_eps=1e-6, rope_parameters=families.rope(i % 2, 50.0))


def olmo3(i, s):
    s = dict(s, hidden_size=s["num_attention_heads"] * s["head_dim"], num_hidden_layers=[4, 5][i % 2])
    del s["head_dim"]
    default = {"rope_theta": 40.0, "rope_type": "default"}
    return transformers.Olmo3Config(**s, rms_norm_eps=1e-6, sliding_window=[5, 19][i % 2],
                                    rope_parameters={"full_attention": default, "sliding_attention": default})


def gpt_neox(i, s):
    part = [1.0, 0.25, 0.5][i % 3]
    D = math.lcm(s["head_dim"], 8)
    return transformers.GPTNeoXConfig(
        num_hidden_layers=s["num_hidden_layers"], num_attention_heads=s["num_attention_heads"],
        hidden_size=s["num_attention_heads"] * D, intermediate_size=s["intermediate_size"],
        vocab_size=s["vocab_size"], max_position_embeddings=128, use_parallel_residual=True, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": part})


def phi3(i, s):
    return families.phi3(i, dict(s, hidden_size=s["num_attention_heads"] * s["head_dim"]))


def stablelm(i, s):
    """Its converter does not write the base of rotation."""
    c = families.stablelm(i, dict(s, tie_word_embeddings=False))
    c.hidden_act = "silu"
    c.rope_parameters = {**families.rope(i % 2, 10000.0), "partial_rotary_factor": c.rope_parameters["partial_rotary_factor"]}
    return c


def smollm3(i, s):
    """Every fourth layer does not rotate: llama.cpp knows it, the file does not say it."""
    s = dict(s, num_hidden_layers=[4, 5, 9, 8][i % 4])
    return transformers.SmolLM3Config(**s, attention_bias=False, pad_token_id=0, rope_parameters=families.rope(i % 2, 60.0))


def without_windows(family):
    """A twin of families.py that its architecture in GGUF can say."""
    def config(i, s):
        c = families.FAMILIES[family](i, s)
        c.hidden_act = "silu"
        if getattr(c, "layer_types", None):
            c.use_sliding_window, c.sliding_window = False, None
            c.layer_types = ["full_attention"] * c.num_hidden_layers
        return c
    return config


# whose files and directories hold the same bits
SAME = ("llama", "qwen2", "qwen3", "smollm3", "gpt_neox", "olmo2", "phi3", "stablelm")
FAMILIES = {**{f: without_windows(f) for f in SAME[:3]}, "smollm3": smollm3, "gemma": gemma, "gemma2": gemma2, "gemma3": gemma3, "olmo2": olmo2, "olmo3": olmo3, "gpt_neox": gpt_neox, "phi3": phi3, "stablelm": stablelm}
PAIRS = ("llama", "smollm3")  # whose converter turns the rows of q and k
TYPES = {"mistral": "llama", "gemma3_text": "gemma3", "olmo3": "olmo2", "gpt_neox": "gptneox"}

NAMES = [("model.embed_tokens", "token_embd"), ("gpt_neox.embed_in", "token_embd"), ("embed_out", "output"),
         ("lm_head", "output"), ("model.norm", "output_norm"), ("gpt_neox.final_layer_norm", "output_norm"),
         ("model.layers.", "blk."), ("gpt_neox.layers.", "blk."), ("self_attn.q_norm", "attn_q_norm"),
         ("self_attn.k_norm", "attn_k_norm"), ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"),
         ("self_attn.qkv_proj", "attn_qkv"), ("mlp.gate_up_proj", "ffn_up"), ("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"), ("attention.query_key_value", "attn_qkv"),
         ("attention.dense", "attn_output"), ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"),
         ("mlp.down_proj", "ffn_down"), ("mlp.dense_h_to_4h", "ffn_up"), ("mlp.dense_4h_to_h", "ffn_down"),
         ("input_layernorm", "attn_norm"), ("pre_feedforward_layernorm", "ffn_norm"),
         ("post_feedforward_layernorm", "post_ffw_norm")]


def renamed(name, architecture):
    after = {"gemma2": "post_attention_norm", "gemma3": "post_attention_norm", "olmo2": "post_attention_norm"}.get(architecture, "ffn_norm")
    for theirs, short in [*NAMES, ("post_attention_layernorm", after)]:
        name = name.replace(theirs, short)
    return name


def permuted(x, heads):
    """From halves of a head to pairs."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def tensors(model, architecture, fused):
    c = model.config
    out = {}
    for name, x in model.state_dict().items():
        if name in ("lm_head.weight", "embed_out.weight") and c.tie_word_embeddings:
            continue
        x, name = x.float().numpy(), renamed(name, architecture)
        if architecture in PAIRS and ".attn_q." in name:
            x = permuted(x, c.num_attention_heads)
        if architecture in PAIRS and ".attn_k." in name:
            x = permuted(x, c.num_key_value_heads)
        if architecture == "gptneox" and ".attn_qkv." in name:
            x = x.reshape(c.num_attention_heads, 3, -1, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            x = x + np.float32(1)
        out[name] = np.ascontiguousarray(x)
    for end in ("weight", "bias") if fused else ():
        for n in range(c.num_hidden_layers):
            parts = [out.pop(f"blk.{n}.attn_{p}.{end}", None) for p in "qkv"]
            if parts[0] is not None:
                out[f"blk.{n}.attn_qkv.{end}"] = np.concatenate(parts)
    return out


def divisors(config, rope):
    """As the converter of Llama computes them: in float32."""
    d = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    out = []
    for f in 1.0 / (rope["rope_theta"] ** (torch.arange(0, d, 2, dtype=torch.float32) / d)):
        turns = rope["original_max_position_embeddings"] / (2 * math.pi / f)
        s = min(max((turns - low) / (high - low), 0), 1)
        out.append(1 / ((1 - s) / rope["factor"] + s))
    return np.array([float(x) for x in out], dtype=np.float32)


def begin(path, model, architecture):
    c, w = model.config, gguf.GGUFWriter(path, architecture)
    rope = c.rope_parameters
    w.add_block_count(c.num_hidden_layers)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_vocab_size(c.vocab_size)
    if architecture == "gptneox":
        D = c.hidden_size // c.num_attention_heads
        w.add_rope_dimension_count(int(rope["partial_rotary_factor"] * D))
        w.add_parallel_residual(True)
        w.add_layer_norm_eps(c.layer_norm_eps)
        return w
    w.add_head_count_kv(c.num_key_value_heads)
    if architecture == "stablelm":
        w.add_rope_dimension_count(int(rope["partial_rotary_factor"] * (c.hidden_size // c.num_attention_heads)))
        w.add_parallel_residual(False)
        w.add_layer_norm_eps(c.layer_norm_eps)
    else:
        w.add_layer_norm_rms_eps(c.rms_norm_eps)
    if architecture == "phi3":
        w.add_rope_dimension_count(int(rope["partial_rotary_factor"] * c.hidden_size) // c.num_attention_heads)
        w.add_sliding_window(c.sliding_window or 0)
        w.add_rope_scaling_orig_ctx_len(c.original_max_position_embeddings)
    elif getattr(c, "head_dim", None):
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
    if "full_attention" in rope:
        w.add_sliding_window(c.sliding_window)
        w.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    if c.model_type == "olmo3":
        w.add_sliding_window_pattern([t == "sliding_attention" for t in c.layer_types])
    if architecture == "gemma2":
        w.add_attn_logit_softcapping(c.attn_logit_softcapping)
        w.add_final_logit_softcapping(c.final_logit_softcapping)
        w.add_sliding_window(c.sliding_window)
    if architecture not in ("gemma", "gemma2", "stablelm"):
        w.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "linear":
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "llama3":
        w.add_tensor("rope_freqs.weight", divisors(c, rope))
    return w


def write(path, model, fused=False, turn=lambda w, name, x: w.add_tensor(name, x)):
    architecture = TYPES.get(model.config.model_type, model.config.model_type)
    w = begin(path, model, architecture)
    for name, x in tensors(model, architecture, fused).items():
        turn(w, name, x)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def as_q8_0(w, name, x):
    kind = gguf.GGMLQuantizationType.Q8_0
    if x.ndim == 2 and x.shape[1] % 32 == 0:
        w.add_tensor(name, gguf.quants.quantize(x, kind), raw_dtype=kind)
    else:
        w.add_tensor(name, x)


def as_decoded(w, name, x):
    kind = gguf.GGMLQuantizationType.Q8_0
    if x.ndim == 2 and x.shape[1] % 32 == 0:
        x = gguf.quants.dequantize(gguf.quants.quantize(x, kind), kind)
    w.add_tensor(name, x)


def distance(got, want):
    return max(np.abs(g - w).mean() for g, w in zip(got, want))


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b))


def judge(family):
    worst, bad, blocks = 0.0, 0, 0
    for i, shape in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as where:
            model = twin(FAMILIES[family](i, sizes(shape)), i)
            ids = torch.randint(0, shape[6], (1, TOKENS), generator=torch.Generator().manual_seed(i))
            got = ours(write(os.path.join(where, "twin.gguf"), model, fused=i % 3 == 2), ids, where)
            checks = {}
            if family in SAME:
                model.save_pretrained(os.path.join(where, "twin"))
                checks["Hugging Face's directory"] = same(got, ours(os.path.join(where, "twin"), ids, where))
            if model.config.hidden_size % 32 == 0:
                blocks += 1
                paths = [write(os.path.join(where, f"{n}.gguf"), model, turn=t)
                         for n, t in (("q8_0", as_q8_0), ("decoded", as_decoded))]
                checks["decoded blocks"] = same(*(ours(path, ids, where) for path in paths))
            theirs, want = run(model, ids), run(in_double(model, torch.float32), ids)
            assert [g.shape for g in got] == [x.shape for x in want], (family, i)
            mine, peer = distance(got, want), distance(theirs, want)
            checks[f"transformers: {mine:.1e} off, its float32 {peer:.1e}"] = mine <= LIMIT * peer + FLOOR
            worst = max(worst, mine)
            for name in (n for n, ok in checks.items() if not ok):
                bad += 1
                print(f"{family} {i} {shape}: other numbers than {name}")
    print(f"{family}: {len(SHAPES)} twins, {blocks} also in blocks, at most {worst:.1e} from transformers: "
          f"{'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or FAMILIES]))
