"""Models of the families after GPT-2 in the files of other programs, and SentencePiece's vocabularies (make_corpus.py)."""
import math

from corpus_files import *

SPACE = "\u2581"
SIZES = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "hidden_size": 4, "intermediate_size": 3, "vocab_size": 5,
         "max_position_embeddings": 4}
FOUR_NORMS = "gemma2", "gemma3_text", "gemma3"
# what is added to SIZES; each is also without what its class assumes anyway
CONFIGS = {
    "llama": {}, "mistral": {"sliding_window": 2}, "smollm3": {"no_rope_layer_interval": 1}, "qwen2": {"use_sliding_window": False}, "qwen3": {},
    "gemma": {}, "gemma2": {"sliding_window": 2, "query_pre_attn_scalar": 3}, "gemma3_text": {"sliding_window": 2, "query_pre_attn_scalar": 2}, "olmo2": {},
    "gpt_neox": {"num_key_value_heads": 2, "rotary_pct": 1.0}, "phi3": {"sliding_window": 2}, "stablelm": {"partial_rotary_factor": 1.0}, "nanochat": {},
}
LINEAR = {"rope_type": "linear", "factor": 2.0}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 3}
FULL, SLIDING = "full_attention", "sliding_attention"
# further members of a config
CHANGES = {
    "llama": {"linear": {"rope_scaling": LINEAR}, "llama3": {"rope_scaling": LLAMA3}, "old-linear": {"rope_scaling": {"type": "linear", "factor": 2}}, "default": {"rope_parameters": {"rope_type": "default", "rope_theta": 50}},
              "yarn": {"rope_scaling": {"rope_type": "yarn", "factor": 2}}, "no-factor": {"rope_scaling": {"rope_type": "linear"}}, "no-low": {"rope_scaling": {"rope_type": "llama3", "factor": 2}},
              "part": {"partial_rotary_factor": 0.5}, "types": {"rope_parameters": {FULL: {}}}, "no-epsilon": {"rms_norm_eps": 0}, "no-heads": {"num_attention_heads": 0, "head_dim": None},
              "no-kv-heads": {"num_key_value_heads": 0}, "odd-heads": {"num_attention_heads": 3, "num_key_value_heads": 2}, "odd-head": {"head_dim": 3}, "head-of-1": {"head_dim": 1}, "null-heads": {"num_key_value_heads": None, "head_dim": None},
              "relu": {"hidden_act": "relu"}, "swish": {"hidden_act": "swish"}, "quantised": {"quantization_config": {"bits": 4}}, "ends": {"bos_token_id": 1, "eos_token_id": [2, 3]}, "ends-beyond": {"bos_token_id": 5, "eos_token_id": None},
              "mlp-bias": {"mlp_bias": True}, "text-heads": {"num_attention_heads": "2"}, "no-layers": {"num_hidden_layers": 0}, "many-layers": {"num_hidden_layers": 99999}},
    "mistral": {"null-window": {"sliding_window": None}, "window-0": {"sliding_window": 0}, "wide": {"sliding_window": 9}, "types": {"layer_types": [SLIDING]}, "types-few": {"layer_types": []}, "types-full": {"layer_types": [FULL]},
                "types-other": {"layer_types": ["chunked_attention"]}, "type-long": {"layer_types": ["x" * 300]}, "types-wrong": {"layer_types": [1]}, "64-layers": {"num_hidden_layers": 64}, "65-layers": {"num_hidden_layers": 65}},
    "smollm3": {"list": {"no_rope_layers": [0]}, "list-few": {"no_rope_layers": []}, "interval-0": {"no_rope_layer_interval": 0}, "window": {"use_sliding_window": True, "sliding_window": 2}, "65-layers": {"num_hidden_layers": 65},
                "list-65": {"num_hidden_layers": 65, "no_rope_layers": [1] * 64 + [0]}, "list-64": {"num_hidden_layers": 65, "no_rope_layers": [1] * 63 + [0, 1]}},
    "qwen2": {"window": {"use_sliding_window": True, "sliding_window": 2, "max_window_layers": 0}, "late": {"use_sliding_window": True, "sliding_window": 2}, "theta": {"rope_theta": 1e6}, "bias": {"attention_bias": True}},
    "qwen3": {"window": {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0}, "bias": {"attention_bias": True}},
    "gemma": {"gelu": {"hidden_act": "gelu"}, "both": {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu"}, "both-sides": {"use_bidirectional_attention": True}, "untied": {"tie_word_embeddings": False}},
    "gemma2": {"caps": {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}, "no-caps": {"attn_logit_softcapping": None, "final_logit_softcapping": None}, "cap-0": {"attn_logit_softcapping": 0}, "scalar-0": {"query_pre_attn_scalar": 0},
               "null-window": {"sliding_window": None}, "silu": {"hidden_activation": "silu"}, "default-scalar": {"query_pre_attn_scalar": 256, "head_dim": 256, "num_hidden_layers": 2}},
    "gemma3_text": {"cap": {"attn_logit_softcapping": 2.0}, "pattern": {"sliding_window_pattern": 2}, "pattern-0": {"sliding_window_pattern": 0}, "local": {"rope_local_base_freq": 50.0},
                    "parameters": {"rope_parameters": {FULL: {"rope_theta": 100.0, **LINEAR}, SLIDING: {"rope_type": "default", "rope_theta": 20}}}, "local-scaled": {"rope_parameters": {SLIDING: LINEAR}}, "scaled": {"rope_scaling": {"rope_type": "linear", "factor": 8}}},
    "olmo2": {"limit-linear": {"rope_scaling": LINEAR}, "bias": {"attention_bias": True}},
    "gpt_neox": {"part": {"rotary_pct": 0.5}, "none": {"rotary_pct": 0}, "over": {"rotary_pct": 2}, "tanh": {"hidden_act": "gelu_new"}, "series": {"use_parallel_residual": False}, "no-bias": {"attention_bias": False},
                 "parameters": {"rope_parameters": {"rope_type": "default", "rope_theta": 50, "partial_rotary_factor": 1.0}}, "base": {"rotary_emb_base": 50}},
    "phi3": {"part": {"partial_rotary_factor": 0.5, "head_dim": 4}, "over": {"partial_rotary_factor": 2}, "longrope": {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [2.0]}}, "su": {"rope_scaling": {"type": "su"}},
             "null-window": {"sliding_window": None}, "bias": {"attention_bias": True}, "parameters": {"rope_parameters": {"rope_type": "default", "rope_theta": 50, "partial_rotary_factor": 1.0}}},
    "stablelm": {"parallel": {"use_parallel_residual": True}, "norms": {"qk_layernorm": True}, "qkv-bias": {"use_qkv_bias": True}, "linear": {"rope_scaling": LINEAR}, "quarter": {"partial_rotary_factor": 0.25}},
    "nanochat": {"no-caps": {"final_logit_softcapping": None}, "cap-0": {"final_logit_softcapping": 0}, "bias": {"attention_bias": True}, "silu": {"hidden_act": "silu"}},
}
# those that have tensors, and are written
WHOLE = "qkv-bias", "bias", "caps", "linear", "list", "llama3", "mlp-bias", "no-bias", "no-caps", "parameters", "pattern", "window"


def kept(name):
    """Names with limit- in them have it at their beginning (tests/fuzz/minimize)."""
    return "limit-" + name.replace("limit-", "") if "limit-" in name else name


def config(type, **changes):
    c = {"model_type": type, "tie_word_embeddings": True, **SIZES, **CONFIGS.get(type, {}), **changes}
    if type == "gpt_neox":
        del c["num_key_value_heads"], c["head_dim"]
    return c


def joined(w, first, parts, name):
    """Tensors one after another in the first one's place."""
    out = {}
    for key, a in w.items():
        if first in key:
            out[key.replace(first, name)] = np.concatenate([w[key.replace(first, part)] for part in parts])
        elif not any(part in key for part in parts):
            out[key] = a
    return out


def weights_of(type, biases=(), tied=True, seed=5, **changes):
    """Tensors by the names of transformers; biases: of "qkv", "out", "mlp"."""
    c = SIZES | CONFIGS[type] | changes
    H, KV, D, C, F, V = (c[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size", "intermediate_size", "vocab_size"))
    rng = np.random.default_rng(seed)
    w = {}

    def linear(name, *shape, bias=False):
        w[name + ".weight"] = rng.normal(size=shape).astype("f4")
        if bias:
            w[name + ".bias"] = rng.normal(size=shape[0]).astype("f4")

    def norm(name, n, bias=type == "stablelm"):
        linear(name, n)
        if bias:
            w[name + ".bias"] = np.zeros(n, "f4")

    if type == "gpt_neox":
        linear("gpt_neox.embed_in", V, C)
        for l in range(c["num_hidden_layers"]):
            b = "gpt_neox.layers.%d." % l
            norm(b + "input_layernorm", C, True)
            linear(b + "attention.query_key_value", 3 * H * D, C, bias="qkv" in biases)
            linear(b + "attention.dense", C, H * D, bias="out" in biases)
            norm(b + "post_attention_layernorm", C, True)
            linear(b + "mlp.dense_h_to_4h", F, C, bias=True)
            linear(b + "mlp.dense_4h_to_h", C, F, bias=True)
        norm("gpt_neox.final_layer_norm", C, True)
        if not tied:
            linear("embed_out", V, C)
        return w
    linear("model.embed_tokens", V, C)
    for l in range(c["num_hidden_layers"]):
        b = "model.layers.%d." % l
        if type != "olmo2":
            norm(b + "input_layernorm", C)
        for name, n in ("q", H * D), ("k", KV * D), ("v", KV * D):
            linear(b + "self_attn.%s_proj" % name, n, C, bias="qkv" in biases)
        if type in ("qwen3", "gemma3_text", "olmo2"):
            norm(b + "self_attn.q_norm", H * D if type == "olmo2" else D)
            norm(b + "self_attn.k_norm", KV * D if type == "olmo2" else D)
        linear(b + "self_attn.o_proj", C, H * D, bias="out" in biases)
        norm(b + "post_attention_layernorm", C)
        if type in FOUR_NORMS:
            norm(b + "pre_feedforward_layernorm", C)
        for name, shape in ("gate", (F, C)), ("up", (F, C)), ("down", (C, F)):
            linear(b + "mlp.%s_proj" % name, *shape, bias="mlp" in biases)
        if type in FOUR_NORMS + ("olmo2",):
            norm(b + "post_feedforward_layernorm", C)
    norm("model.norm", C)
    if not tied:
        linear("lm_head", V, C)
    if type == "nanochat":
        w = {k.replace("up_proj", "fc1").replace("down_proj", "fc2"): a for k, a in w.items() if "norm" not in k and "gate_proj" not in k}
    if type == "phi3":
        w = joined(joined(w, "self_attn.q_proj", ["self_attn.%s_proj" % x for x in "qkv"], "self_attn.qkv_proj"), "mlp.gate_proj", ["mlp.gate_proj", "mlp.up_proj"], "mlp.gate_up_proj")
    return w


def bf16(w):
    return {k: (a.view("u4") >> 16).astype("u2") for k, a in w.items()}


# ---- Hugging Face's


def checkpoints_of_families():
    for i, (type, more) in enumerate(CONFIGS.items()):
        biases = {"qwen2": ("qkv",), "gpt_neox": ("qkv", "out")}.get(type, ())
        untied = i % 2 == 0
        files = {"config.json": config(type, tie_word_embeddings=not untied), "model.safetensors": safetensors(weights_of(type, biases, not untied))}
        put("hf", type + ".json", json.dumps(files["config.json"]).encode())
        put("hf", type + "-defaults.json", json.dumps({"model_type": type, **{k: SIZES[k] for k in SIZES if "_h" not in k or k == "num_hidden_layers"}, "num_attention_heads": 2, "hidden_size": 512}).encode())
        for j, to in enumerate(["npz", "safetensors", "gguf", "llmc", "hf"]):
            bundle("%s-to-%s" % (type, to), files, way=way(to, ["f32", "f16", "bf16", "q8_0"][(i + j) % 4], lossy=j % 2 == i % 2))
        for to in "gguf", "hf":
            bundle("%s-to-%s-f32" % (type, to), files, way=way(to, lossy=True))
        for name, change in CHANGES[type].items():
            put("hf", kept("%s-%s.json" % (type, name)), json.dumps(config(type, **change)).encode())
            all = {"mlp-bias": ("mlp",), "bias": ("qkv", "out"), "qkv-bias": ("qkv",), "no-bias": ()}.get(name, biases)
            if name in WHOLE:
                bundle("%s-%s" % (type, name), {"config.json": config(type, **change), "model.safetensors": safetensors(weights_of(type, all))}, way=way(["hf", "gguf"][len(name) % 2], lossy=True))
    put("hf", "no-sizes.json", b'{"model_type": "llama"}')
    put("hf", "gemma3-only.json", b'{"model_type": "gemma3_text"}')
    part = config("gemma3_text")
    del part["model_type"]
    both = {"model_type": "gemma3", "text_config": part}
    put("hf", "gemma3.json", json.dumps(both).encode())
    put("hf", "gemma3-no-part.json", b'{"model_type": "gemma3"}')
    w = weights_of("gemma3_text")
    images = {"vision_tower.x": np.zeros(2, "f4"), "multi_modal_projector.y": np.zeros(1, "f4")}
    bundle("gemma3-images", {"config.json": both, "model.safetensors": safetensors({"language_model." + k: a for k, a in w.items()} | images)})
    bundle("gemma3-images-5", {"config.json": both, "model.safetensors": safetensors({k.replace("model.", "model.language_model.", 1): a for k, a in w.items()} | {"model." + k: a for k, a in images.items()})})
    bundle("gemma3-images-alone", {"config.json": config("gemma3_text"), "model.safetensors": safetensors(w | images)})

    def llama(name, change=lambda w: w, ask=0, type="llama", **more):
        c = config(type, **more)
        bundle("llama-" + name, {"config.json": c, "model.safetensors": safetensors(change(weights_of(type, **{k: v for k, v in more.items() if k in SIZES})))}, ask, way("hf"))

    first = "model.layers.0.self_attn."
    x = np.ones((5, 4), "f4")
    llama("frequencies", lambda w: w | {first + "rotary_emb.inv_freq": x})
    llama("surplus", lambda w: w | {"what": x})
    llama("surplus-lossy", lambda w: w | {"what": x}, LOSSY)
    llama("missing", lambda w: {k: a for k, a in w.items() if k != first + "v_proj.weight"})
    llama("no-embedding", lambda w: {k: a for k, a in w.items() if "embed" not in k})
    llama("shape", lambda w: w | {first + "k_proj.weight": x})
    llama("dimensions", lambda w: w | {"model.norm.weight": x})
    llama("integers", lambda w: w | {"model.norm.weight": np.zeros(4, "i4")})
    llama("layer-beyond", lambda w: w | {"model.layers.1.mlp.up_proj.weight": np.zeros((3, 4), "f4")})
    llama("head-told-tied", lambda w: w | {"lm_head.weight": x}, tie_word_embeddings=True)
    llama("head-same", lambda w: w | {"lm_head.weight": w["model.embed_tokens.weight"]}, tie_word_embeddings=True)
    llama("head-missing", tie_word_embeddings=False)
    llama("map", ask=MAP)
    llama("heads", ask=2 * HEADS)
    llama("other-heads", ask=HEADS)
    llama("gelu", ask=GELU)
    llama("two-layers", num_hidden_layers=2)
    llama("not-finite", lambda w: w | {"model.norm.weight": np.array([1, np.inf, 1, 1], "f4")})
    llama("bf16", bf16)
    llama("f8", lambda w: {k: a.astype("f8") for k, a in w.items()})
    bundle("gemma-bf16", {"config.json": config("gemma"), "model.safetensors": safetensors(bf16(weights_of("gemma")))}, way=way("hf", "bf16"))
    bundle("gemma-f16", {"config.json": config("gemma"), "model.safetensors": safetensors({k: a.astype("f2") for k, a in weights_of("gemma").items()})}, way=way("hf", "f16"))
    neox = weights_of("gpt_neox", ("qkv", "out"))
    b = "gpt_neox.layers.0.attention."
    bundle("neox-masks", {"config.json": config("gpt_neox"), "model.safetensors": safetensors(neox | {b + "bias": np.zeros((1, 1), "f4"), b + "masked_bias": np.zeros(1, "f4"), b + "rotary_emb.inv_freq": np.zeros(1, "f4")})})
    bundle("neox-apart", {"config.json": config("gpt_neox"), "model.safetensors": safetensors({k: a for k, a in neox.items() if "query_key" not in k} | {b + n + ".weight": np.ones((4, 4), "f4") for n in ("query", "key", "value")} | {b + n + ".bias": np.ones(4, "f4") for n in ("query", "key", "value")})})
    bundle("neox-both", {"config.json": config("gpt_neox"), "model.safetensors": safetensors(neox | {b + "query.weight": np.ones((4, 4), "f4")})})


def beginnings():
    """Llama with a tokenizer, and what begins a text."""
    model = {"config.json": config("llama", vocab_size=24, bos_token_id=1), "model.safetensors": safetensors(weights_of("llama", vocab_size=24))}
    single = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    after = [{"SpecialToken": {"id": "</s>", "type_id": 0}}]
    template = lambda *parts: {"type": "TemplateProcessing", "single": list(parts)}
    processors = {"none": None, "begin": template(*single), "end": template(*single, *after), "two": template(single[0], *single), "unknown": template(*after, single[1]),
                  "sequence": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template(*single)]}, "no-id": template({"SpecialToken": {}}), "many": template(*single * 20), "other": {"type": "ByteLevel"}}
    for name, processor in processors.items():
        bundle("bos-" + name, model | {"tokenizer.json": spm_json(post_processor=processor)})
        put("tokenizer_json", "spm-bos-%s.json" % name, spm_json(post_processor=processor))
    settings = {"text": {"add_bos_token": True, "bos_token": "<s>"}, "object": {"add_bos_token": True, "bos_token": {"content": "<s>"}}, "off": {"add_bos_token": False}, "id": {"add_bos_token": True},
                "unknown": {"add_bos_token": True, "bos_token": "x"}, "none": {}, "wrong": b"["}
    for name, setting in settings.items():
        bundle("bos-settings-" + name, model | {"tokenizer.model": spm_model(False), "tokenizer_config.json": setting})
    bundle("llama2c-alone", {"tokenizer.bin": llama2c([b" a", b"a", b" "])})
    bundle("spm-alone", {"tokenizer.model": spm_model(True)}, vocab=192)


# ---- llama.cpp's

ARCHITECTURES = {"llama": "llama", "smollm3": "smollm3", "qwen2": "qwen2", "qwen3": "qwen3", "gemma": "gemma", "gemma2": "gemma2", "gemma3": "gemma3_text", "olmo2": "olmo2", "gptneox": "gpt_neox", "phi3": "phi3", "stablelm": "stablelm"}
NAMES_OF = [("model.embed_tokens", "token_embd"), ("gpt_neox.embed_in", "token_embd"), ("embed_out", "output"), ("lm_head", "output"), ("model.norm", "output_norm"), ("gpt_neox.final_layer_norm", "output_norm"),
            ("model.layers.", "blk."), ("gpt_neox.layers.", "blk."), ("self_attn.q_norm", "attn_q_norm"), ("self_attn.k_norm", "attn_k_norm"), ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"),
            ("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"), ("attention.query_key_value", "attn_qkv"), ("self_attn.qkv_proj", "attn_qkv"), ("mlp.gate_up_proj", "ffn_up"), ("attention.dense", "attn_output"), ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"),
            ("mlp.down_proj", "ffn_down"), ("mlp.dense_h_to_4h", "ffn_up"), ("mlp.dense_4h_to_h", "ffn_down"), ("input_layernorm", "attn_norm"), ("pre_feedforward_layernorm", "ffn_norm"), ("post_feedforward_layernorm", "post_ffw_norm")]


def fused(w):
    """Q, k and v one after another in a tensor."""
    return joined(w, ".attn_q.", [".attn_%s." % x for x in "qkv"], ".attn_qkv.")


def gguf_text(t):
    return struct.pack("<Q", len(t)) + t


def u32(n):
    return 4, struct.pack("<I", n)


def f32(x):
    return 6, struct.pack("<f", x)


def gguf_texts(*ts):
    return 9, struct.pack("<IQ", 8, len(ts)) + b"".join(map(gguf_text, ts))


def gguf_model(architecture, values=(), without=(), turn=lambda w: w, biases=(), whole=True, tied=True, types={"f4": 0, "f2": 1, "u2": 30, "f8": 28, "i4": 26}, **changes):
    """values: for keys, (type, bytes); turn changes the tensors."""
    type = ARCHITECTURES[architecture]
    c = SIZES | CONFIGS[type] | changes
    after = "post_attention_norm" if type in FOUR_NORMS + ("olmo2",) else "ffn_norm"
    w = {}
    for name, a in (weights_of(type, biases, tied, **changes) if whole else {"model.embed_tokens.weight": np.zeros((5, c["hidden_size"]), "f4")}).items():
        for theirs, short in [*NAMES_OF, ("post_attention_layernorm", after)]:
            name = name.replace(theirs, short)
        w[name] = a
    key = lambda name: architecture + "." + name
    epsilon = "layer_norm" if type in ("gpt_neox", "stablelm") else "layer_norm_rms"
    kv = {"general.architecture": (8, gguf_text(architecture.encode())), key("block_count"): u32(c["num_hidden_layers"]), key("context_length"): u32(c["max_position_embeddings"]),
          key("embedding_length"): u32(c["hidden_size"]), key("feed_forward_length"): u32(c["intermediate_size"]), key("attention.head_count"): u32(c["num_attention_heads"]),
          key("attention.head_count_kv"): u32(c["num_key_value_heads"]), key("attention.key_length"): u32(c["head_dim"]), key("attention." + epsilon + "_epsilon"): f32(1e-5)}
    if type in ("gpt_neox", "phi3", "stablelm"):
        kv[key("rope.dimension_count")] = u32(2)
    kv |= {key(k) if not k.startswith(("tokenizer.", "general.")) else k: v for k, v in dict(values).items()}
    kept = [(k, *v) for k, v in kv.items() if k not in without and k[len(architecture) + 1:] not in without]
    return gguf_file(kept, [(name, a.shape[::-1], types[a.dtype.str[1:]], a.tobytes()) for name, a in turn(w).items()])


def divisors(D, context, theta=1e4, factor=8.0, low=1.0, high=4.0):
    """What llama.cpp has of Llama 3's scaling."""
    out = []
    for j in range(D // 2):
        turns = context * theta ** (-2 * j / D) / (2 * math.pi)
        s = min(max((turns - low) / (high - low), 0), 1)
        out.append(1 / ((1 - s) / factor + s))
    return np.array(out, "f4")


def ggufs_of_families():
    squared = {"num_key_value_heads": 2}
    whole = {"qwen2": ("qkv",), "gptneox": ("qkv", "out")}
    square = ("qwen2", "olmo2")
    for architecture in ARCHITECTURES:
        biases = whole.get(architecture, ())
        tied = architecture not in ("olmo2", "gptneox", "stablelm")
        put("model_file", architecture + ".gguf", gguf_model(architecture, biases=biases, tied=tied))
        put("gguf", architecture + ".gguf", gguf_model(architecture, biases=biases, tied=tied))
        if architecture not in ("gptneox", "phi3"):
            put("model_file", architecture + "-fused.gguf", gguf_model(architecture, turn=fused, biases=biases, tied=False, **squared))
        put("model_file", architecture + "-untied.gguf", gguf_model(architecture, biases=biases, tied=False, num_hidden_layers=2))
        put("model_file", architecture + "-bf16.gguf", gguf_model(architecture, biases=biases, tied=tied, turn=bf16, num_hidden_layers=2))
        put("model_file", architecture + "-window.gguf", gguf_model(architecture, {"attention.sliding_window": u32(2)}, biases=biases, tied=tied, num_hidden_layers=2))
        put("model_file", architecture + "-cap.gguf", gguf_model(architecture, {"attn_logit_softcapping": f32(2), "final_logit_softcapping": f32(3)}, biases=biases, tied=tied))
    for key in "expert_count", "nextn_predict_layers", "attention.clamp_kqv", "attention.max_alibi_bias", "attention.scale", "embedding_scale", "residual_scale", "logit_scale", "rope.scaling.attn_factor":
        put("model_file", "feature-%s.gguf" % key, gguf_model("llama", {key: f32(2)}, whole=False))
    put("model_file", "feature-bool.gguf", gguf_model("gptneox", {"use_parallel_residual": (7, b"\0")}, whole=False))
    put("model_file", "feature-causal.gguf", gguf_model("llama", {"attention.causal": (7, b"\1"), "expert_count": (10, bytes(8))}))
    put("model_file", "feature-text.gguf", gguf_model("llama", {"logit_scale": (8, gguf_text(b"1"))}, whole=False))
    put("model_file", "feature-array.gguf", gguf_model("llama", {"logit_scale": gguf_texts(b"1")}, whole=False))
    bools = lambda *v: (9, struct.pack("<IQ", 7, len(v)) + bytes(v))
    layers = {"num_hidden_layers": 2}
    changes = {
        "no-heads": {"attention.head_count": u32(0)}, "kv-heads": {"attention.head_count_kv": u32(3)}, "value-length": {"attention.value_length": u32(3)}, "rope-length": {"rope.dimension_count": u32(1)},
        "head-of-1": {"attention.key_length": u32(1), "attention.head_count_kv": u32(2)}, "linear": {"rope.scaling.type": (8, gguf_text(b"linear")), "rope.scaling.factor": f32(2)}, "scale-linear": {"rope.scale_linear": f32(4)}, "scaling-none": {"rope.scaling.type": (8, gguf_text(b"none")), "rope.scaling.factor": f32(2)},
        "yarn": {"rope.scaling.type": (8, gguf_text(b"yarn"))}, "theta": {"rope.freq_base": f32(500)}, "window": {"attention.sliding_window": u32(2)}, "ends": {"tokenizer.ggml.bos_token_id": u32(1), "tokenizer.ggml.eos_token_id": u32(2)},
        "end-beyond": {"tokenizer.ggml.eos_token_id": u32(9)}, "wide-window": {"attention.sliding_window": u32(4)}, "vocab-none": {"tokenizer.ggml.model": (8, gguf_text(b"none"))},
    }
    for name, change in changes.items():
        put("model_file", "llama-%s.gguf" % name, gguf_model("llama", change))
    for name in "block_count", "attention.head_count", "feed_forward_length":
        put("model_file", "llama-no-%s.gguf" % name, gguf_model("llama", without=[name]))
    put("model_file", "llama-least.gguf", gguf_model("llama", without=["attention.head_count_kv", "attention.key_length"], num_key_value_heads=2))
    put("model_file", "llama-no-embedding.gguf", gguf_model("llama", turn=lambda w: {}))
    put("model_file", "llama-missing.gguf", gguf_model("llama", turn=lambda w: {k: a for k, a in w.items() if "ffn_up" not in k}))
    put("model_file", "llama-twice.gguf", gguf_model("llama", turn=lambda w: w | {k: a for k, a in fused(w).items() if "qkv" in k}))
    put("model_file", "llama-biases.gguf", gguf_model("llama", biases=("qkv", "out", "mlp")))
    put("model_file", "llama-fused-biases.gguf", gguf_model("llama", biases=("qkv", "out"), turn=fused, **squared))
    put("model_file", "llama-f16.gguf", gguf_model("llama", turn=lambda w: {k: a.astype("f2") if a.ndim == 2 else a for k, a in w.items()}, **layers))
    put("model_file", "smollm3-layers.gguf", gguf_model("smollm3", num_hidden_layers=5))
    for n in 67, 68:
        put("model_file", "limit-smollm3-%d-layers.gguf" % n, gguf_model("smollm3", whole=False, num_hidden_layers=n))
    put("model_file", "stablelm-parallel.gguf", gguf_model("stablelm", turn=lambda w: {k: a for k, a in w.items() if "ffn_norm" not in k}))
    put("model_file", "stablelm-biases.gguf", gguf_model("stablelm", biases=("qkv",), tied=False))
    put("model_file", "phi3-long.gguf", gguf_model("phi3", turn=lambda w: w | {"rope_factors_long.weight": np.ones(1, "f4"), "rope_factors_short.weight": np.ones(1, "f4")}))
    put("model_file", "neox-apart.gguf", gguf_model("gptneox", biases=("qkv", "out"), tied=False, turn=lambda w: {k.replace("qkv", part): x for k, a in w.items() for part, x in (zip("qkv", np.split(a, 3)) if "qkv" in k else [("qkv", a)])}))
    windows = {
        "pattern": {"attention.sliding_window_pattern": u32(1)}, "limit-pattern-0": {"attention.sliding_window_pattern": u32(0)}, "list": {"attention.sliding_window_pattern": bools(1, 0)}, "list-short": {"attention.sliding_window_pattern": bools(1)},
        "list-long": {"attention.sliding_window_pattern": bools(0, 1, 1)}, "list-texts": {"attention.sliding_window_pattern": gguf_texts(b"a", b"b")}, "swa": {"rope.freq_base_swa": f32(50)}, "none": {"attention.sliding_window": u32(0)},
    }
    for name, change in windows.items():
        for architecture in "gemma2", "gemma3":
            put("model_file", kept("%s-window-%s.gguf" % (architecture, name)), gguf_model(architecture, {"attention.sliding_window": u32(2), **change}, **layers))
    put("model_file", "gemma3-66-layers.gguf", gguf_model("gemma3", {"attention.sliding_window": u32(2)}, whole=False, num_hidden_layers=66))
    # a scale of its own, in a model with as many layers
    small = {"num_attention_heads": 1, "num_key_value_heads": 1, "hidden_size": 2, "intermediate_size": 1}
    put("model_file", "gemma2-46-layers.gguf", gguf_model("gemma2", whole=False, num_hidden_layers=46, **small))
    rope = {"one-between": divisors(16, 256), "two-between": divisors(16, 200), "none-between": divisors(4, 700), "plain": np.ones(1, "f4"), "linear": np.full(1, 2, "f4"), "other": np.array([1, 2, 3, 8], "f4"),
            "less": np.array([1, 0.5], "f4"), "none-whole": np.array([8, 8.00001], "f4"), "all-whole": np.array([1, 1, 1.0000001], "f4"), "zero": np.array([1, 0], "f4"), "not-finite": np.array([1, np.nan, 8], "f4")}
    for name, x in rope.items():
        put("model_file", "rope-%s.gguf" % name, gguf_model("llama", turn=lambda w: w | {"rope_freqs.weight": x}, whole=len(x) < 8, head_dim=2 * len(x), num_attention_heads=1))
    one = dict(num_attention_heads=1, hidden_size=1, intermediate_size=1)
    for name in "one-between", "two-between":
        put("model_file", "rope-whole-%s.gguf" % name, gguf_model("llama", turn=lambda w: w | {"rope_freqs.weight": rope[name]}, head_dim=16, **one))
    put("model_file", "rope-count.gguf", gguf_model("llama", turn=lambda w: w | {"rope_freqs.weight": np.ones(2, "f4")}))
    put("model_file", "rope-twice.gguf", gguf_model("llama", {"rope.scaling.factor": f32(2)}, turn=lambda w: w | {"rope_freqs.weight": np.ones(1, "f4")}))
    put("model_file", "rope-integers.gguf", gguf_model("llama", turn=lambda w: w | {"rope_freqs.weight": np.ones(1, "i4")}))
    # vocabularies of SentencePiece
    scores = lambda *v: (9, struct.pack("<IQ", 6, len(v)) + struct.pack("<%df" % len(v), *v))
    kinds = lambda *v: (9, struct.pack("<IQ", 5, len(v)) + struct.pack("<%di" % len(v), *v))
    t = "tokenizer.ggml."
    vocab = {t + "model": (8, gguf_text(b"llama")), t + "tokens": gguf_texts(b"<unk>", b"a", b"b", b"ab", b"[PAD4]"), t + "scores": scores(0, -1, -2, -1, 0), t + "token_type": kinds(2, 1, 1, 1, 5)}
    without = lambda key: {k: v for k, v in vocab.items() if k != t + key}
    for name, values in {"": vocab, "-no-types": without("token_type"), "-no-scores": without("scores"), "-no-tokens": without("tokens"), "-scores-few": vocab | {t + "scores": scores(0, 1)}, "-scores-texts": vocab | {t + "scores": gguf_texts(b"a")},
                         "-types-few": vocab | {t + "token_type": kinds(2)}, "-type-7": vocab | {t + "token_type": kinds(7, 1, 1, 1, 1)}, "-byte": vocab | {t + "token_type": kinds(2, 6, 1, 1, 5)}, "-no-prefix": vocab | {t + "add_space_prefix": (7, b"\0")},
                         "-user": vocab | {t + "tokens": gguf_texts(b"<unk>", b"a", b"b", b"a b", b"c"), t + "token_type": kinds(2, 1, 3, 4, 3)}, "-bos": vocab | {t + "add_bos_token": (7, b"\1"), t + "bos_token_id": u32(2), t + "token_type": kinds(2, 1, 3, 1, 5)}}.items():
        put("model_file", "spm%s.gguf" % name, gguf_model("llama", values))
    for name, data in {"spm": b"\xD0\0<unk>\na\nb\nab\n\xe2\x96\x81\n\xe2\x96\x81a\n", "spm-types": b"\xC1\x02<unk>\na\nb\nab\n\xe2\x96\x81\n", "spm-user": b"\xD3\x0ba b\n<unk>\nb\na\nab\nb \n\xe2\x96\x81\n[PAD7]\n",
                       "spm-bytes": b"\xE2\x04" + b"".join(b"<0x%02X>\n" % b for b in range(256)) + b"a\nb\nab\n", "spm-padded": b"\xD3\x01<x0A>\na\nab\n[PAD6]\n", "spm-unused": b"\xD2\x05a\nb\n[PAD2]\nab\n[PAD4]\n"}.items():
        put("gguf_vocab", name, data)


# ---- SentencePiece's


def spm_json(**changes):
    """As transformers writes it of a tokenizer.model, with a few of the bytes."""
    tokens = ["<unk>", "<s>"] + ["<0x%02X>" % b for b in range(16)] + ["a", "b", SPACE, "ab", SPACE + "a", "aba"]
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
             "vocab": {t: i for i, t in enumerate(tokens)}, "merges": ["a b", "%s a" % SPACE, ["ab", "a"]]}
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, t in enumerate(tokens[:2])]
    prefix = [{"type": "Prepend", "prepend": SPACE}, {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "Sequence", "normalizers": prefix}, "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model}
    for key, value in changes.items():
        (model if key in model else whole)[key] = value
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def number(n):
    return bytes([n & 127 | 128]) + number(n >> 7) if n > 127 else bytes([n])


def field(k, b):
    return number(k << 3 | 2) + number(len(b)) + b


def piece(text, score, kind):
    return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + number(kind))


def spm_model(with_bytes, prefix=1, more="", trainer=b"", normalizer=b"", begin=b""):
    pieces = [("<unk>", 0, 2), ("<s>", 0, 3)] + [("<0x%02X>" % b, 0, 6) for b in range(256) if with_bytes]
    pieces += [("a", -9, 1), ("b", -9, 1), (SPACE, -8, 1), ("ab", -1, 1), (SPACE + "a", -2, 1), ("aba", -3, 5), ("<u>", 0, 4)]
    pieces += [(SPACE + SPACE, -4, 1)] + ([(more, 0, 1)] if more else [])
    return begin + b"".join(piece(*p) for p in pieces) + field(2, b"\x18\2\x98\2" + bytes([with_bytes]) + trainer) + field(
        3, field(1, b"identity") + b"\x18" + bytes([prefix]) + b"\x20\0" + normalizer)


def llama2c(texts):
    texts = [b"<unk>", b"\n<s>\n", b"\n</s>\n"] + texts
    return struct.pack("<I", 8) + b"".join(struct.pack("<fI", -i, len(t)) + t for i, t in enumerate(texts))


def spm_models():
    """The pieces of tokenizer.model and tokenizer.bin, and the short notation of tests/fuzz/fuzz_spm.c."""
    def model(name, *args, **more):
        put("spm", name, spm_model(*args, begin=b"\2", **more))

    model("model", 0, 1)
    model("model-bytes", 1, 0)
    model("model-suffix", 0, 1, trainer=b"\xC0\1\1")
    model("model-charsmap", 0, 1, normalizer=field(2, b"x"))
    model("model-extra-spaces", 0, 1, normalizer=b"\x20\1")
    model("model-no-escape", 0, 1, normalizer=b"\x28\0")
    model("model-setting-type", 0, 1, normalizer=b"\x1A\0")
    model("model-twice", 0, 1, "ab")
    for kind in 0, 1, 3, 4, 5:
        model("model-type-%d" % kind, 0, 1, trainer=b"\x18" + bytes([kind]))
    model("model-wide", 0, 1, trainer=b"\x09" + bytes(8))
    plain = b"\2" + spm_model(0, 1)
    put("spm", "model-denormalizer", plain + field(5, field(2, b"x")))
    put("spm", "model-no-denormalizer", plain + field(5, b""))
    put("spm", "model-self-test", plain + field(4, b"x") + field(99, b"y"))
    put("spm", "model-other-wire", plain + b"\x10\1")
    put("spm", "model-group", plain + b"\x33\x34")
    put("spm", "model-long-number", plain + b"\x80" * 11)
    put("spm", "model-beyond", plain + b"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1")
    put("spm", "model-cut", plain + b"\x0A\x7F")
    put("spm", "model-cut-32", plain + b"\x0A\1\x15")
    put("spm", "model-cut-64", plain + b"\x31\1")
    put("spm", "model-no-trainer", b"\2" + piece("a", 0, 1) + field(3, b""))
    put("spm", "model-no-normalizer", b"\2" + piece("a", 0, 1) + field(2, b"\x18\2"))
    put("spm", "model-no-pieces", b"\2" + field(2, b"\x18\2") + field(3, b"\x20\0"))
    put("spm", "model-piece-type", b"\2" + piece("a", 0, 9))
    put("spm", "model-piece-byte", b"\2" + piece("<0xXX>", 0, 6))
    put("spm", "model-bytes-not-set", plain + piece("<0x41>", 0, 6))
    put("spm", "llama2c", b"\0" + llama2c([b" a", b"a", b" "]))
    put("spm", "llama2c-bytes", b"\0" + llama2c([b"<0x%02X>" % b for b in range(256)] + [b" a", b"a", b" "]))
    put("spm", "llama2c-cut", b"\0" + llama2c([b"a"])[:-1])
    put("spm", "llama2c-cut-length", b"\0" + llama2c([]) + b"\0\0\0\0\1")
    put("spm", "llama2c-beyond", b"\0" + llama2c([]) + b"\0\0\0\0\5\0\0\0a")
    put("spm", "llama2c-long", b"\0" + llama2c([b"x" * 520]))
    put("spm", "pieces", bytes([15, 0, 1, 1, 0, 0, 1, 1, 1, 0, 5, 2, 0, 1, 6, 0, 2, 0, 0, 4, 2, 3, 0, 1, 0, 0, 9, 1, 3, 0, 3, 2, 3, 0, 0, 0, 0])
        + bytes([0, 1, 0, 1, 8, 0, 1, 0, 3, 9, 10, 11, 4, 5, 6] * 20))
    put("spm", "ties", bytes([9, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 0, 1, 2, 1, 0, 0, 1, 3, 0, 1, 0, 0, 0, 0]) + bytes([0, 1, 1, 0] * 90))
    put("spm", "unknown", bytes([5, 0, 1, 1, 0, 0, 1, 2, 2, 7, 0, 0, 0]) + bytes([0, 1, 2, 7, 9, 5, 0, 3] * 40))


def spm_tokenizers():
    """SentencePiece's in tokenizer.json."""
    meta = lambda scheme, **more: {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": False, **more}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    user = {"id": 20, "content": "ab", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    vocab = {"<unk>": 0, "<0x00>": 1, "a": 2, "b": 3, "ab": 4, "ba": 5, "aba": 6, SPACE: 7, "": 8}
    small = {"vocab": vocab, "unk_token": "<unk>", "added_tokens": []}
    files = {
        "prepend": {}, "metaspace-always": {"normalizer": None, "pre_tokenizer": meta("always")}, "metaspace-first": {"normalizer": None, "pre_tokenizer": meta("first")}, "metaspace-never": {"normalizer": None, "pre_tokenizer": meta("never")},
        "metaspace-other": {"normalizer": None, "pre_tokenizer": meta("x")}, "metaspace-splits": {"normalizer": None, "pre_tokenizer": meta("first", split=True)}, "metaspace-replacement": {"normalizer": None, "pre_tokenizer": meta("first", replacement="_")},
        "metaspace-after": {"normalizer": replace, "pre_tokenizer": meta("first")}, "replace": {"normalizer": replace}, "split": {"normalizer": replace, "pre_tokenizer": split}, "split-alone": {"normalizer": None, "pre_tokenizer": split},
        "replace-regex": {"normalizer": replace | {"pattern": {"Regex": " "}}}, "prepend-other": {"normalizer": {"type": "Prepend", "prepend": "x"}}, "nfc": {"normalizer": {"type": "NFC"}}, "no-spaces": {"normalizer": None},
        "byte-level": {"pre_tokenizer": {"type": "ByteLevel"}}, "merge-unknown": small | {"merges": ["a x"]}, "merge-none": small | {"merges": ["b b"]}, "merge-byte": small | {"merges": ["a b", "<0x00> a"]}, "small": small | {"merges": ["a b", "b a", "ab a"]},
        "ties": small | {"merges": ["b a", "a b", "a ba", "ab a"]}, "user": small | {"merges": ["a b"], "added_tokens": [user | {"id": 4}]}, "user-space": small | {"merges": [], "added_tokens": [user | {"id": 9, "content": SPACE + "x"}]},
        "user-space-normalized": small | {"merges": [], "added_tokens": [user | {"id": 9, "content": SPACE + "x", "normalized": True}]}, "special": small | {"merges": [], "added_tokens": [user | {"id": 9, "content": "<s>", "special": True}]},
        "no-unknown": small | {"merges": [], "unk_token": None}, "wide": small | {"vocab": {"<0x00>": 0, "\u00e9": 1, "\U0001F600": 2, "\u00e9\U0001F600": 3}, "merges": [["\u00e9", "\U0001F600"]]},
    }
    for name, change in files.items():
        put("tokenizer_json", "spm-%s.json" % name, spm_json(**change))


def models_of_llama2c():
    """Version 2: integers of 8 bits, whose groups divide every matrix, and do not."""
    C, F, L, H, KV, V, T = sizes = 4, 6, 1, 2, 1, 6, 4
    matrices = [(V, C), (C, C), (C // 2, C), (C // 2, C), (C, C), (F, C), (C, F), (F, C)]
    for group in 1, 2, 4, 8, 0, 5:
        header = (struct.pack("<Ii7iBi", 0x616B3432, 2, *sizes, 1, group)).ljust(256, b"\0")
        body = b"".join(bytes(range(a * b)) + np.ones(a * b // max(group, 1), "<f4").tobytes() for a, b in matrices)
        for target in "llmc", "model_file":
            put(target, "llama2c-groups-%d" % group, header + np.ones(3 * C, "<f4").tobytes() + body)


def families():
    checkpoints_of_families()
    models_of_llama2c()
    beginnings()
    ggufs_of_families()
    spm_models()
    spm_tokenizers()
