#!/usr/bin/env python3
"""Random twins of other families, made by transformers, must have the same numbers here.

    families.py BIN [FAMILY]...    BIN: the directory of the tools

For each twin: the logits and every layer's attention probabilities, here and by transformers in float32, each
compared with transformers in double precision (in_double() says in which sense).  tg may be LIMIT times as far
away as transformers' float32, and what rounding of float32 explains anyway is allowed (FLOOR).  The largest
difference of a single text is chance to a factor of two, on both sides: means over TEXTS are compared, and with
another limit, WORST, the text that is farthest away.  Then GREEDY tokens after the beginning of a text, each the
most probable: tg-sample's, which has kept keys and values, must be those of passes in double precision over all
tokens (see greedy()).  Prints a line for each family; exits with 1 if one says DIFFERS.  Every other config.json
lacks what the class assumes anyway.

Norms and biases are random, since fresh ones are 1 and 0; bases of rotation are small, so that positions matter.
"""
import copy
import json
import math
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

LIMIT = 1.2
WORST = 2
FLOOR = 4e-7  # of the largest value
TOKENS = 48
TEXTS = 4
PROMPT, GREEDY = 8, 40  # tokens

# L, H, KV, D, C, F, V, tied
SHAPES = [
    (1, 1, 1, 8, 8, 12, 50, True),
    (2, 2, 1, 8, 16, 24, 70, False),
    (2, 6, 2, 8, 24, 40, 71, False),
    (3, 6, 2, 10, 24, 40, 130, True),
    (2, 4, 4, 6, 24, 33, 67, False),
    (2, 8, 1, 4, 40, 56, 257, True),
    (4, 3, 3, 16, 24, 31, 65, False),
    (2, 9, 3, 8, 72, 96, 100, True),
    (3, 4, 2, 12, 32, 48, 63, False),
    (2, 6, 3, 20, 36, 50, 90, True),
    (2, 16, 4, 2, 32, 64, 128, False),
    (3, 5, 1, 14, 35, 70, 111, True),
]


def sizes(shape):
    L, H, KV, D, C, F, V, tied = shape
    return dict(num_hidden_layers=L, num_attention_heads=H, num_key_value_heads=KV, head_dim=D, hidden_size=C,
                intermediate_size=F, vocab_size=V, tie_word_embeddings=tied, max_position_embeddings=128)


def rope(i, theta):
    kinds = [{"rope_type": "default"}, {"rope_type": "linear", "factor": 2.5},
             {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 32}]
    return {"rope_theta": theta, **kinds[i % 3]}


def llama(i, s):
    return transformers.LlamaConfig(**s, rms_norm_eps=[1e-5, 1e-6][i % 2], attention_bias=i % 4 == 3,
                                    mlp_bias=i % 5 == 4, rope_parameters=rope(i, [50.0, 10000.0][i % 2]),
                                    hidden_act=["silu", "silu", "relu2", "gelu"][i % 4])


def windows(i, layers, window="sliding_window"):
    """A window shorter than the text; it is on some layers, by a list in each second twin."""
    kinds = ["full_attention", "sliding_attention"]
    some = {"layer_types": [kinds[(i + n) % 2] for n in range(layers)]} if i % 2 else {}
    return {window: [5, 1, 17, 32][i % 4], **some}


def mistral(i, s):
    window = [None, 9, 31, 2][i % 4]
    return transformers.MistralConfig(**s, sliding_window=window, rope_parameters=rope(0, 30.0))


def qwen2(i, s):
    s = dict(s, head_dim=None, hidden_size=s["num_attention_heads"] * s["head_dim"])
    some = {} if i % 3 == 0 else dict(windows(i, s["num_hidden_layers"]), use_sliding_window=True, max_window_layers=i % 3 - 1)
    return transformers.Qwen2Config(**{k: v for k, v in s.items() if v is not None}, **some,
                                    rope_parameters=rope(i, 40.0))


def qwen3(i, s):
    some = {} if i % 3 == 0 else dict(windows(i, s["num_hidden_layers"]), use_sliding_window=True, max_window_layers=1)
    return transformers.Qwen3Config(**s, **some, attention_bias=False, rope_parameters=rope(i, 100.0))


def smollm3(i, s):
    L = s["num_hidden_layers"]
    some = {"no_rope_layers": [(i + n) % 2 for n in range(L)]} if i % 2 else {"no_rope_layer_interval": 2}
    if i % 3 == 0:
        some.update(use_sliding_window=True, sliding_window=11)
    return transformers.SmolLM3Config(**s, **some, pad_token_id=0, rope_parameters=rope(i, 60.0))


def gemma(i, s):
    return transformers.GemmaConfig(**s, attention_bias=i % 4 == 3, rope_parameters=rope(i, 50.0))


def gemma2(i, s):
    caps = [{}, {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0},
            {"attn_logit_softcapping": None, "final_logit_softcapping": None}][i % 3]
    return transformers.Gemma2Config(**s, **windows(i, s["num_hidden_layers"]), **caps,
                                     query_pre_attn_scalar=[s["head_dim"], 5][i % 2], rope_parameters=rope(i, 50.0))


def gemma3_text(i, s):
    some = windows(i, s["num_hidden_layers"])
    if i % 4 == 2:
        some["sliding_window_pattern"] = 2
    both = {"full_attention": rope(i, 200.0), "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}}
    return transformers.Gemma3TextConfig(**s, **some, query_pre_attn_scalar=[s["head_dim"], 7][i % 2],
                                         rope_parameters=both)


def gemma3(i, s):
    vision = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=28,
                  patch_size=14)
    return transformers.Gemma3Config(text_config=gemma3_text(i, s), vision_config=vision, mm_tokens_per_image=4,
                                     image_token_index=s["vocab_size"] - 1, tie_word_embeddings=s["tie_word_embeddings"])


def olmo2(i, s):
    return transformers.Olmo2Config(**s, rms_norm_eps=[1e-5, 1e-6][i % 2], pad_token_id=0,
                                    rope_parameters=rope(i, 70.0))


def gpt_neox(i, s):
    D = math.lcm(s["head_dim"], 8)
    return transformers.GPTNeoXConfig(
        num_hidden_layers=s["num_hidden_layers"], num_attention_heads=s["num_attention_heads"],
        hidden_size=s["num_attention_heads"] * D, intermediate_size=s["intermediate_size"], vocab_size=s["vocab_size"],
        max_position_embeddings=128, tie_word_embeddings=s["tie_word_embeddings"], attention_bias=i % 4 != 3,
        hidden_act=["gelu", "gelu_new"][i % 2], layer_norm_eps=[1e-5, 1e-3][i % 2],
        rope_parameters={**rope(i, 60.0), "partial_rotary_factor": [0.25, 1.0, 0.5, 0.75][i % 4]})


def part_of(i, D):
    """How much of a head is rotated, an even number of channels."""
    return [1.0, 2 * max(1, D * 3 // 8) / D, 2 * max(1, D // 4) / D, 2 * max(1, D // 8) / D][i % 4]


def phi3(i, s):
    return transformers.Phi3Config(
        **s, rms_norm_eps=[1e-5, 1e-4][i % 2], sliding_window=[None, 9, 31, 2][i // 2 % 4], pad_token_id=None,
        eos_token_id=2, rope_parameters={**rope(0, 40.0), "partial_rotary_factor": part_of(i, s["head_dim"])})


def stablelm(i, s):
    D = math.lcm(s["head_dim"], 2)
    s = dict(s, hidden_size=s["num_attention_heads"] * D)
    del s["head_dim"]
    return transformers.StableLmConfig(
        **s, layer_norm_eps=[1e-5, 1e-3][i % 2], use_qkv_bias=i % 3 == 1, hidden_act=["silu", "gelu"][i % 5 == 4],
        rope_parameters={**rope(i, 50.0), "partial_rotary_factor": part_of(i // 2, D)})


def nanochat(i, s):
    return transformers.NanoChatConfig(
        **s, rms_norm_eps=[1e-6, 1e-3][i % 2], attention_bias=i % 4 == 3, pad_token_id=None,
        final_logit_softcapping=[15.0, 2.0, None][i % 3], hidden_act=["relu2", "relu2", "silu"][i % 3],
        rope_parameters=rope(i, [30.0, 10000.0][i % 2]))


FAMILIES = {f.__name__: f for f in (llama, mistral, smollm3, qwen2, qwen3, gemma, gemma2, gemma3_text, gemma3, olmo2,
                                    gpt_neox, phi3, stablelm, nanochat)}
HALVES = {"gemma": torch.float16, "gemma2": torch.bfloat16}  # every third twin of these is stored so


def twin(config, seed):
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    for p in model.parameters():
        with torch.no_grad():
            if p.ndim == 1:
                p += 0.2 * torch.randn_like(p)
            else:
                p.copy_(torch.randn_like(p) / p.shape[-1] ** 0.5)
    return model


def frequencies(config, layer_type=None):
    r = config.rope_parameters
    r = r[layer_type] if layer_type else r
    d = int((getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
            * r.get("partial_rotary_factor", 1))
    f = float(r["rope_theta"]) ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    if r["rope_type"] == "linear":
        return f / r["factor"]
    if r["rope_type"] == "llama3":
        turns = r["original_max_position_embeddings"] * f / (2 * torch.pi)
        s = ((turns - r["low_freq_factor"]) / (r["high_freq_factor"] - r["low_freq_factor"])).clamp(0, 1)
        return f * ((1 - s) / r["factor"] + s)
    return f


def norm_of(module):
    eps = module.eps if hasattr(module, "eps") else module.variance_epsilon
    one = 1 if type(module).__name__.startswith("Gemma") else 0

    def forward(x):
        gain = module.weight + one if hasattr(module, "weight") else 1
        return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return forward


def in_double(model, stored):
    """What transformers computes in float32 even in a model in double precision: angles, norms, the scale of
    Gemma's embedding (and the softmax, see softmax_of()).  The scale is rounded to 16 bits if the weights are."""
    model = model.double()
    config = model.config.get_text_config()

    def angles(x, position_ids, layer_type=None):
        a = torch.cat([position_ids[..., None].double() * frequencies(config, layer_type)] * 2, -1)
        return a.cos(), a.sin()

    for name, m in model.named_modules():
        if name.endswith("rotary_emb"):
            m.forward = angles
        elif type(m).__name__.endswith("RMSNorm"):
            m.forward = norm_of(m)
        elif hasattr(m, "scalar_embed_scale"):
            exact = torch.tensor(m.scalar_embed_scale, dtype=torch.float64)
            m.embed_scale = exact if stored is torch.float32 else exact.to(stored).double()
    return model


softmax = torch.nn.functional.softmax


def softmax_of(model):
    double = next(model.parameters()).dtype is torch.float64
    return (lambda x, dim, dtype=None: softmax(x, dim)) if double else softmax


def run(model, ids):
    torch.nn.functional.softmax = softmax_of(model)
    with torch.no_grad():
        out = model(ids, output_attentions=True)
    return [out.logits[0].double().numpy(), *(a[0].double().numpy() for a in out.attentions)]


def ours(path, ids, where):
    spelled = " ".join(str(int(i)) for i in ids[0])
    tools = os.path.join(sys.argv[1], "tg-")
    logits, dump = os.path.join(where, "logits.npz"), os.path.join(where, "dump.npz")
    for tool in (["eval", "--logits", "-o", logits], ["attn-dump", "--stage", "probs", "-o", dump]):
        done = subprocess.run([tools + tool[0], "-q", "-m", path, "--ids", spelled, *tool[1:], "--force"],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    with np.load(logits) as a, np.load(dump) as b:
        arrays = [np.concatenate([a[n] for n in sorted(a.files) if n.startswith("logits/")])]
        names = sorted((n for n in b.files if n.endswith("probs")), key=lambda n: int("".join(filter(str.isdigit, n))))
        arrays += [np.nan_to_num(b[n]).reshape(b[n].shape[-3:]) for n in names]
    return [x.astype(np.float64) for x in arrays]


def distance(got, want):
    return max(np.abs(g - w).max() / max(1, np.abs(w).max()) for g, w in zip(got, want))


# What must be in a file, except in Gemma 3's.
MUST = {"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "vocab_size"}


def leave_out_defaults(path, config):
    """Leave out of config.json what the classes assume anyway."""
    name = os.path.join(path, "config.json")
    with open(name) as f:
        text = json.load(f)
    kept = {"model_type"} | (set() if config.model_type.startswith("gemma3") else MUST)
    for part, c in ((text, config), (text.get("text_config", {}), config.get_text_config())):
        assumed = type(c)().to_dict()
        for key in [k for k in part if k not in kept and k in assumed and part[k] == assumed[k]]:
            del part[key]
    with open(name, "w") as f:
        json.dump(text, f)


def rounded(model, stored):
    """In float32, what a file of that type holds of the model.  Frequencies of rotation are not in it."""
    exact = dict(model.named_buffers())
    model = copy.deepcopy(model).to(stored).float()
    for name, b in model.named_buffers():
        if name.endswith("inv_freq"):
            b.copy_(exact[name])
    return model


def saved_twin(path, family, i, shape):
    """Twin i of a family, which it saves: in float32, and in double precision."""
    stored = HALVES.get(family, torch.float32) if i % 3 == 0 else torch.float32
    model = twin(FAMILIES[family](i, sizes(shape)), i)
    copy.deepcopy(model).to(stored).save_pretrained(path)
    if i % 2:
        leave_out_defaults(path, model.config)
    model = rounded(model, stored)
    return model, in_double(copy.deepcopy(model), stored)


def texts(i, V):
    return [torch.randint(0, V, (1, TOKENS), generator=torch.Generator().manual_seed(100 * i + t)) for t in range(TEXTS)]


def greedy(path, double, ids):
    """How many of the tokens of tg-sample are the most probable ones, and of how many: it may stop at the end of a
    text.  A token whose logit is less than the greatest one by no more than rounding explains, is one, too."""
    start = [int(t) for t in ids[0, :PROMPT]]
    done = subprocess.run([os.path.join(sys.argv[1], "tg-sample"), "-q", "-m", path, "--ids", " ".join(map(str, start)), "-g", "-n",
                           str(GREEDY), "--no-prompt"], capture_output=True, text=True, check=True)
    ours = [int(t) for t in done.stdout.split()]
    for n, token in enumerate(ours):
        logits = run(double, torch.tensor([start + ours[:n]]))[0][-1]
        if logits.max() - logits[token] > LIMIT * 4e-6 * max(1, np.abs(logits).max()):
            return n, len(ours)
    return len(ours), len(ours)


def compare(family, i, shape):
    """The distances of tg and of transformers' float32 for each text: [logits or probabilities, whose, text]; and
    what greedy() says."""
    off = np.zeros((2, 2, TEXTS))
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "twin")
        model, double = saved_twin(path, family, i, shape)
        for t, ids in enumerate(texts(i, shape[6])):
            want = run(double, ids)
            for n, got in enumerate((ours(path, ids, where), run(model, ids))):
                assert [g.shape for g in got] == [w.shape for w in want], (family, i)
                off[:, n, t] = distance(got[:1], want[:1]), distance(got[1:], want[1:])
        return off, *greedy(path, double, texts(i, shape[6])[0])


def judge(family):
    worst, bad, generated = {}, 0, 0
    for i, shape in enumerate(SHAPES):
        off, same, n = compare(family, i, shape)
        generated += n
        if same < n:
            bad += 1
            print(f"{family} {i} {shape}: greedy token {same} of {n} is another one")
        for what, (mine, peer) in zip(("logits", "probabilities"), off):
            for of, limit in ((np.mean, LIMIT), (np.max, WORST)):
                a, b = of(mine), of(peer)
                if not a <= limit * b + FLOOR:
                    bad += 1
                    print(f"{family} {i} {shape}: {what} are {a:.2e} off ({of.__name__}), transformers' float32 {b:.2e}")
                worst[of] = max(worst.get(of, (0, 0)), (a, b))
    (mean, its), (most, their) = worst[np.mean], worst[np.max]
    print(f"{family}: {len(SHAPES)} twins, texts at most {mean:.1e} off in the mean (transformers' float32 {its:.1e}), one "
          f"{most:.1e} ({their:.1e}), {generated} greedy tokens: {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or FAMILIES]))
