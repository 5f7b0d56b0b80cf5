#!/usr/bin/env python3
"""Random twins of other families, made by transformers, must have the same numbers here.

    families.py BIN [FAMILY]...    BIN: the directory of the tools

For each twin: the logits and every layer's attention probabilities, here and by transformers in float32, each
compared with transformers in double precision.  tg may be LIMIT times as far away as transformers' float32, and
what rounding of float32 explains anyway is allowed (FLOOR).  Prints a line for each family; exits with 1 if one
says DIFFERS.

Norms and biases are random, since fresh ones are 1 and 0; bases of rotation are small, so that positions matter.
"""
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
FLOOR = 4e-7  # of the largest value
TOKENS = 48

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
                                    mlp_bias=i % 5 == 4, rope_parameters=rope(i, [50.0, 10000.0][i % 2]))


def mistral(i, s):
    return transformers.MistralConfig(**s, sliding_window=None, rope_parameters=rope(0, 30.0))


def qwen2(i, s):
    s = dict(s, head_dim=None, hidden_size=s["num_attention_heads"] * s["head_dim"])
    return transformers.Qwen2Config(**{k: v for k, v in s.items() if v is not None}, rope_parameters=rope(i, 40.0))


def qwen3(i, s):
    return transformers.Qwen3Config(**s, attention_bias=False, rope_parameters=rope(i, 100.0))


FAMILIES = {"llama": llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3}


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


def frequencies(config):
    """In double precision, since transformers has them in float32 even in a model in double precision."""
    r = config.rope_parameters
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


def in_double(model):
    model = model.double()
    f = frequencies(model.config)

    def forward(x, position_ids, *_):
        angles = torch.cat([position_ids[..., None].double() * f] * 2, -1)
        return angles.cos(), angles.sin()

    next(m for n, m in model.named_modules() if n.endswith("rotary_emb")).forward = forward
    return model


def run(model, ids):
    with torch.no_grad():
        out = model(ids, output_attentions=True)
    return [out.logits[0].double().numpy(), *(a[0].double().numpy() for a in out.attentions)]


def ours(path, ids, where):
    spelled = " ".join(str(int(i)) for i in ids[0])
    tools = os.path.join(sys.argv[1], "tg-")
    logits, dump = os.path.join(where, "logits.npz"), os.path.join(where, "dump.npz")
    subprocess.run([tools + "eval", "-q", "-m", path, "--ids", spelled, "--logits", "-o", logits, "--force"], check=True)
    subprocess.run([tools + "attn-dump", "-q", "-m", path, "--ids", spelled, "--stage", "probs", "-o", dump, "--force"],
                   check=True)
    with np.load(logits) as a, np.load(dump) as b:
        arrays = [a["logits/00000000"].reshape(len(ids[0]), -1)]
        names = sorted((n for n in b.files if n.endswith("probs")), key=lambda n: int("".join(filter(str.isdigit, n))))
        arrays += [np.nan_to_num(b[n]).reshape(b[n].shape[-3:]) for n in names]
    return [x.astype(np.float64) for x in arrays]


def distance(got, want):
    return max(np.abs(g - w).max() / max(1, np.abs(w).max()) for g, w in zip(got, want))


def judge(family):
    worst, bad = (0.0, 0.0, 0.0), 0
    for i, shape in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as where:
            model = twin(FAMILIES[family](i, sizes(shape)), i)
            path = os.path.join(where, "twin")
            model.save_pretrained(path)
            ids = torch.randint(0, shape[6], (1, TOKENS), generator=torch.Generator().manual_seed(i))
            theirs, got, want = run(model, ids), ours(path, ids, where), run(in_double(model), ids)
            assert [g.shape for g in got] == [w.shape for w in want], (family, i)
            off = [(distance(got[:1], want[:1]), distance(theirs[:1], want[:1])),
                   (distance(got[1:], want[1:]), distance(theirs[1:], want[1:]))]
            for name, (mine, peer) in zip(("logits", "probabilities"), off):
                if mine > LIMIT * peer + FLOOR:
                    bad += 1
                    print(f"{family} {i} {shape}: {name} are {mine:.2e} off, transformers' float32 {peer:.2e}")
                worst = max(worst, (mine / peer, mine, peer))
    print(f"{family}: {len(SHAPES)} twins, at most {worst[0]:.2f} x transformers' float32 "
          f"({worst[1]:.1e} against {worst[2]:.1e}): {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or FAMILIES]))
