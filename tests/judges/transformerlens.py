#!/usr/bin/env python3
"""What TransformerLens says of random GPT-2 models, in double precision, against tg-lens, tg-patch and tg-attn-dump.

    transformerlens.py BIN    BIN: the directory of the tools

The weights are as they are: no norm is folded, nothing is centred.  (The tools fold nothing either, except
tg-circuit.)  With a TransformerLens before 4.0 the model is its own, HookedTransformer; later it is its hooks in
transformers' model, TransformerBridge.  For some of lens.py's twins of GPT-2 (it runs a patch at a time):

    patterns      attention's probabilities
    lens          its last norm and unembedding of the residual stream before each block
    heads         the difference of two logits by head: stack_head_results, apply_ln_to_stack, and the last norm's
                  gains, which are not folded
    resid_pre ... patches by transformer_lens.patching, from a clean run into a corrupt one

Each is as far away as the largest difference divided by the largest value; of lens and patches, the largest logit.
Prints a line for each, and exits with 1 if one says DIFFERS, above LIMIT.  Without TransformerLens it says so, and
exits with 0.

The file's name is not the package's, which it would hide from itself.
"""
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # twins are small: threads would wait for each other

import numpy as np  # noqa: E402
import torch  # noqa: E402

import families  # noqa: E402
import lens  # noqa: E402,F401  GPT-2 among the families

try:
    import transformer_lens
    from transformer_lens import patching
except ImportError as e:
    print(f"skipped: no TransformerLens: {e}")
    sys.exit(0)

LIMIT = 1e-5
TOKENS = 9
TWINS = (1, 3, 4)

# site, --each and what TransformerLens calls it, and its axes
PATCHES = [("x", "position", "resid_pre", "lt"), ("z", "both", "attn_head_out_by_pos", "lth"),
           ("z", "head", "attn_head_out_all_pos", "lh"), ("q", "both", "attn_head_q_by_pos", "lth"),
           ("k", "both", "attn_head_k_by_pos", "lth"), ("v", "both", "attn_head_v_by_pos", "lth"),
           ("pattern", "head", "attn_head_pattern_all_pos", "lh"),
           ("pattern", "both", "attn_head_pattern_by_pos", "lht"),
           ("att", "position", "attn_out", "lt"), ("mlp", "position", "mlp_out", "lt")]


# ---- TransformerLens

def hooked(path, model):
    """The model with transformers' weights; and how it is made."""
    c = model.config
    try:
        from transformer_lens import HookedTransformer, HookedTransformerConfig
        from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
    except ImportError:
        bridge = transformer_lens.TransformerBridge.boot_transformers(path, hf_model=model, dtype=torch.float64,
                                                                      device="cpu")
        return bridge, "TransformerBridge of transformers' model, no compatibility mode"
    config = HookedTransformerConfig(
        n_layers=c.n_layer, d_model=c.n_embd, n_heads=c.n_head, d_head=c.n_embd // c.n_head, d_vocab=c.vocab_size,
        n_ctx=c.n_positions, act_fn=c.activation_function, normalization_type="LN", eps=c.layer_norm_epsilon,
        dtype=torch.float64, default_prepend_bos=False, device="cpu")
    own = HookedTransformer(config)
    weights = convert_gpt2_weights(model, config)
    missing = own.load_state_dict(weights, strict=False).missing_keys
    assert all(n.endswith(("b_U", "mask", "IGNORE")) for n in missing), missing
    own.unembed.b_U.data.zero_()
    return own, "HookedTransformer, fold_ln=False, center_writing_weights=False, center_unembed=False"


def patched(model, corrupt, cache, name, measure):
    """The metric after each patch."""
    return getattr(patching, f"get_act_patch_{name}")(model, corrupt, cache, measure).numpy()


def by_head(model, cache, position, a, b):
    """[L,H] of logit a less logit b."""
    stack = cache.stack_head_results(layer=-1, pos_slice=position)
    stack = cache.apply_ln_to_stack(stack, layer=-1, pos_slice=position)
    return (stack.squeeze(1) @ (model.ln_final.w * (model.W_U[:, a] - model.W_U[:, b]))).reshape(model.cfg.n_layers, -1)


# ---- tg

def spelled(ids):
    return " ".join(map(str, ids[0].tolist()))


def run(tool, path, *options):
    done = subprocess.run([os.path.join(sys.argv[1], tool), "-q", "-m", path, *options], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{tool} {options}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()] if "--json" in options else None


def array(lines, names, value):
    """[...] of lines, by these of their numbers."""
    out = np.full([1 + max(r[n] for r in lines) for n in names], np.nan)
    for r in lines:
        out[tuple(r[n] for n in names)] = r[value]
    assert not np.isnan(out).any()
    return out


def archive(tool, path, where, *options):
    name = os.path.join(where, "out.npz")
    run(tool, path, *options, "-o", name, "--force")
    with np.load(name) as f:
        return dict(f)


# ---- comparisons

def compare(where, i, shape):
    """Distances by name; and the model's description."""
    path = os.path.join(where, "twin")
    model, how = hooked(path, families.saved_twin(path, "gpt2", i, shape)[1].eval())
    L, V = shape[0], shape[6]
    chance = torch.Generator().manual_seed(i)
    clean, corrupt = torch.randint(0, V, (2, 1, TOKENS), generator=chance)
    a, b = 1, 2 + i
    position = i % TOKENS
    logits, cache = model.run_with_cache(clean)
    scale = logits.abs().max().item()
    off = {}

    def check(name, got, want, scale=None):
        want = np.asarray(want)
        assert got.shape == want.shape, (name, got.shape, want.shape)
        off[name] = np.abs(got - want).max() / (scale or np.abs(want).max())

    dump = archive("tg-attn-dump", path, where, "--ids", spelled(clean), "--stage", "probs")
    check("patterns", np.stack([np.nan_to_num(dump[f"h.{l}.probs"][0]) for l in range(L)]),
          torch.stack([cache["pattern", l][0] for l in range(L)]))
    stream = [cache["resid_pre", l] for l in range(L)] + [cache["resid_post", L - 1]]
    rows = torch.stack([model.unembed(model.ln_final(x))[0] for x in stream])  # [L+1,T,V]
    lines = run("tg-lens", path, "--ids", spelled(clean), "--top", str(V), "--json")
    got = np.empty(rows.shape)
    for r in lines:
        for k in range(1, V + 1):
            got[r["layer"], r["t"], r[f"id_{k}"]] = r[f"logit_{k}"]
    check("lens", got, rows, scale)
    parts = run("tg-lens", path, "--ids", spelled(clean), "--position", str(position), "--attribute-ids", f"{a}-{b}",
                "--json")
    check("heads", array([r for r in parts if r["part"] == "head"], ("layer", "head"), "value"),
          by_head(model, cache, position, a, b))
    names = {"l": "layer", "h": "head", "t": "t"}
    for site, each, name, axes in PATCHES:
        lines = run("tg-patch", path, "--ids", spelled(clean), "--corrupt-ids", spelled(corrupt), "--answer-id", str(a),
                    "--wrong-id", str(b), "--site", site, "--each", each, "--json")
        want = patched(model, corrupt, cache, name, lambda x: x[0, -1, a] - x[0, -1, b])
        check(name, array(lines, [names[x] for x in axes], "metric"), want, scale)
    return off, how


def main():
    patching.tqdm = partial(patching.tqdm, disable=True)
    worst = {}
    for i in TWINS:
        with tempfile.TemporaryDirectory() as where, torch.no_grad():
            torch.nn.functional.softmax = lambda x, dim, dtype=None: families.softmax(x, dim)  # not in float32
            off, how = compare(where, i, families.SHAPES[i])
        for name, x in off.items():
            worst[name] = max(worst.get(name, 0), x)
    print(f"TransformerLens {importlib.metadata.version('transformer_lens')}, {how}; {len(TWINS)} models")
    for name, x in worst.items():
        print(f"{name}: at most {x:.1e} off: {'ok' if x <= LIMIT else 'DIFFERS'}")
    sys.exit(any(not x <= LIMIT for x in worst.values()))


if __name__ == "__main__":
    main()
