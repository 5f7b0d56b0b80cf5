#!/usr/bin/env python3
"""tg-patch on random twins of each family must have transformers' numbers, in double precision with hooks.

    patch.py BIN [FAMILY]...    BIN: the directory of the tools

The twins are those of lens.py.  Of each family, each combination of a site, what a patch covers, a metric and a
direction is met once, by one of the twins, in an order that chance has made: all patches, and what --attribution
estimates, which torch's autograd gives here.  So is each kind of ablation, with and without lists, by each metric.

Where a site is, hooks() says.  Metrics are as far away as their difference, divided by the largest logit of the runs
for a difference of logits, by 1 for others, or by the largest metric if it is larger.  An effect, which is a quotient
of metrics, is compared after multiplication with its denominator; if it is above 1, that denominator's error is
multiplied with it too, and the difference is divided by it.  Likewise with ablations.  Prints a line for each family;
exits with 1 if one says DIFFERS, which a distance above LIMIT is.
"""
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # twins are small: threads would wait for each other

import torch  # noqa: E402

import families  # noqa: E402
from families import SHAPES, saved_twin  # noqa: E402
from lens import parts_of  # noqa: E402

LIMIT = 1e-5
TOKENS = 9
PAIRS = 3  # of --ablate mean, and others with --pairs
LETTERS = 94  # tokens that prompts are made of: the first, each with a character of ASCII

DIVIDED = ("q", "k", "v", "pattern", "z")  # among heads
METRICS = ("diff", "prob", "loss", "kl")
PATCHES = [(site, each, metric, direction) for site in ("x", *DIVIDED, "att", "mlp")
           for each in (("layer", "position", "head", "both") if site in DIVIDED else ("layer", "position"))
           for metric in METRICS for direction in ("denoise", "noise")]
ABLATIONS = list(itertools.product(("zero", "mean", "resample"), (None, "--without", "--keep"), METRICS))


# ---- sites

def before(module, act):
    """Let act(x) take the place of what the module is given."""
    def hook(_, args, kwargs):
        if args:
            return (act(args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": act(kwargs["hidden_states"])}
    return module.register_forward_pre_hook(hook, with_kwargs=True)


@contextlib.contextmanager
def hooks(model, touch):
    """Give each site of each layer to touch(site, layer, x [B,T,heads,...]); what it returns takes x's place.

        x         what a block is given
        q, k, v   what transformers' attention function is given: normed, rotated; not yet repeated for groups
        pattern   the probabilities that it computes: z is their product with the values
        z         what the matrix after attention is given; att is all heads of it
        mlp       what the MLP's last matrix is given, the units
    """
    H = model.config.get_text_config().num_attention_heads

    def at(site, layer, heads=1):
        return lambda x: touch(site, layer, x.unflatten(-1, (heads, -1))).flatten(-2)

    handles = []
    for l, b in enumerate(parts_of(model).blocks):
        handles += [before(b.block, at("x", l)), before(b.out, at("z", l, H)), before(b.down, at("mlp", l))]
    source = sys.modules[type(model).__module__]
    plain = source.eager_attention_forward

    def attention(module, query, key, value, *rest, **options):  # [B,heads,T,D]
        l = module.layer_idx
        query, key, value = (touch(site, l, x.transpose(1, 2)).transpose(1, 2)
                             for site, x in (("q", query), ("k", key), ("v", value)))
        z, p = plain(module, query, key, value, *rest, **options)
        shared = value.repeat_interleave(H // value.shape[1], dim=1)
        assert torch.allclose((p @ shared).transpose(1, 2), z, rtol=1e-12, atol=1e-12)
        p = touch("pattern", l, p.transpose(1, 2)).transpose(1, 2)
        return (p @ shared).transpose(1, 2), p

    source.eager_attention_forward = attention
    try:
        yield
    finally:
        source.eager_attention_forward = plain
        for handle in handles:
            handle.remove()


# ---- runs

def run(model, ids, touch):
    """The logits after the last token [B,V]."""
    torch.nn.functional.softmax = families.softmax_of(model)
    with hooks(model, touch):
        return model(ids, use_cache=False).logits[:, -1]


class Kept:
    """A run of a prompt: its logits [V], and [T,heads,...] of each site and layer; with their gradients, if it is
    given a metric."""

    def __init__(self, model, ids, metric=None):
        self.at, self.gradient = {}, {}

        def keep(site, layer, x):
            if metric is not None:
                x.retain_grad()
            self.at[site, layer] = x
            return x

        with torch.set_grad_enabled(metric is not None):
            logits = run(model, ids[None], keep)
            if metric is not None:
                metric(logits).sum().backward()
        self.logits = logits[0].detach()
        for name, x in self.at.items():
            self.at[name] = x[0].detach()
            if metric is not None:
                self.gradient[name] = torch.zeros_like(x[0]) if x.grad is None else x.grad[0]


def everything(index):
    return slice(None) if index is None else index


def patched(model, ids, cases, source):
    """The logits [n,V] after each case: a list of edits (site, layer, head, position; None: all) by what is kept, or,
    if that is None, by zeros."""
    def edit(site, layer, x):
        x = x.clone()
        for row, case in zip(x, cases):
            for of, l, h, t in case:
                if (of, l) == (site, layer):
                    row[everything(t), everything(h)] = source[of, l][everything(t), everything(h)] if source else 0
        return x

    with torch.no_grad():
        return run(model, ids.expand(len(cases), -1), edit)


def estimated(base, source, cases, start):
    """The metric of the base run, and to first order what each case changes."""
    values = []
    for [(site, l, h, t)] in cases:
        change = (source[site, l] - base.at[site, l]) * base.gradient[site, l]
        values.append(start + change[everything(t), everything(h)].sum())
    return torch.stack(values)


def metric_of(kind, answer, wrong, clean):
    """Of logits [n,V]; clean: those of the clean run."""
    def measure(logits):
        log_p, r = logits.log_softmax(-1), clean.log_softmax(-1)
        return {"diff": lambda: logits[:, answer] - logits[:, wrong], "prob": lambda: log_p[:, answer].exp(),
                "loss": lambda: -log_p[:, answer], "kl": lambda: (r.exp() * (r - log_p)).sum(-1)}[kind]()
    return measure


# ---- prompts

def letters(token):
    """The text of a token: a character, or more for those that are in no prompt."""
    return chr(33 + token) if token < LETTERS else "!" + letters(token - LETTERS)


def write_tokenizer(path, V):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {letters(v): v for v in range(V)}, "merges": []}
    with open(os.path.join(path, "tokenizer.json"), "w") as f:
        json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                   "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": model}, f)


class Pair:
    def __init__(self, model, chance, V):
        n = min(V, LETTERS)
        self.ids = torch.tensor([[chance.randrange(n) for _ in range(TOKENS)] for _ in range(2)])
        for t in chance.sample(range(TOKENS - 1), 4):  # a layer's window may hold the last token alone
            self.ids[1, t] = self.ids[0, t]
        self.ids[1, -1] = (self.ids[0, -1] + 1) % n
        self.answer, self.wrong = chance.sample(range(n), 2)
        self.clean, self.corrupt = (Kept(model, ids) for ids in self.ids)

    def metric(self, kind):
        return metric_of(kind, self.answer, self.wrong, self.clean.logits)

    def options(self, kind):
        spelled = [" ".join(map(str, ids.tolist())) for ids in self.ids]
        answers = {"diff": ["--answer-id", str(self.answer), "--wrong-id", str(self.wrong)], "kl": []}
        return ["--ids", spelled[0], "--corrupt-ids", spelled[1], *answers.get(kind, ["--answer-id", str(self.answer)])]

    def line(self):
        """Of --pairs."""
        return "\t".join("".join(map(letters, ids)) for ids in (*self.ids.tolist(), [self.answer], [self.wrong]))


# ---- comparisons

class Twin:
    def __init__(self, path, family, i, shape):
        self.path = path
        self.model = saved_twin(path, family, i, shape)[1].eval()
        self.L, self.V = shape[0], shape[6]
        write_tokenizer(path, self.V)
        config = self.model.config.get_text_config()
        self.H = config.num_attention_heads
        self.heads = dict.fromkeys(("q", "z", "pattern"), self.H) | dict.fromkeys(
            "kv", getattr(config, "num_key_value_heads", None) or self.H)
        self.chance = random.Random(f"{family} {i}")
        self.pairs = [Pair(self.model, self.chance, self.V) for _ in range(PAIRS)]
        self.worst, self.count, self.far = {}, 0, []

    def lines(self, *options, pairs=None):
        done = subprocess.run(
            [os.path.join(sys.argv[1], "tg-patch"), "-q", "-m", self.path, "-f", "jsonl", *options], text=True,
            input=pairs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"{options}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check(self, kind, options, got, want, scale):
        """Lists of numbers."""
        assert len(got) == len(want), (options, len(got), len(want))
        off = max(abs(a - b) for a, b in zip(got, want)) / scale
        self.worst[kind] = max(self.worst.get(kind, 0), off)
        self.count += len(got)
        if not off <= LIMIT:
            self.far.append(f"{kind} {off:.2e} off: {' '.join(options)}")

    def check_quotients(self, kind, options, got, want, denominator, scale):
        """Quotients with the same denominator, want being their numerators."""
        times = [denominator / max(1, abs(x / denominator)) for x in want]
        self.check(kind, options, [a * f for a, f in zip(got, times)],
                   [b * f / denominator for b, f in zip(want, times)], scale)

    def scale(self, metric, values, pairs):
        least = max(p.clean.logits.abs().max().item() for p in pairs) if metric == "diff" else 1
        return max(least, *(abs(x) for x in values))

    def given(self, metric, many):
        """The pairs of a command, and its options for them and for the metric."""
        if not many:
            return self.pairs[:1], [*self.pairs[0].options(metric), "--metric", metric], None
        text = "".join(p.line() + "\n" for p in self.pairs)
        return self.pairs, ["--pairs", "-", "--no-bos", "--metric", metric], text

    # ---- patches

    def cases(self, site, each):
        heads = range(self.heads[site]) if each in ("head", "both") else [None]
        places = range(TOKENS) if each in ("position", "both") else [None]
        return [[("z" if site == "att" else site, l, h, t)] for l in range(self.L) for h in heads for t in places]

    def values(self, pair, cases, metric, noise, estimate):
        """Of the clean and the corrupt run, and after each case."""
        measure = pair.metric(metric)
        clean, corrupt = (measure(kept.logits[None]) for kept in (pair.clean, pair.corrupt))
        base, source = (pair.clean, pair.corrupt) if noise else (pair.corrupt, pair.clean)
        ids = pair.ids[0 if noise else 1]
        if estimate:
            base = Kept(self.model, ids, measure)
            after = estimated(base, source.at, cases, measure(base.logits[None])[0])
        else:
            after = measure(patched(self.model, ids, cases, source.at))
        return torch.cat([clean, corrupt, after])

    def compare_patches(self, site, each, metric, direction, estimate, many):
        pairs, options, text = self.given(metric, many)
        options += ["--site", site, "--each", each, "--direction", direction, *["--attribution"] * estimate]
        lines = self.lines(*options, pairs=text)
        cases = self.cases(site, each)
        assert [(r["site"], r["layer"], r["head"], r["t"]) for r in lines] == [(site, *c[0][1:]) for c in cases]
        values = [self.values(p, cases, metric, direction == "noise", estimate) for p in pairs]
        clean, corrupt, *after = torch.stack(values).mean(0).tolist()
        scale = self.scale(metric, [clean, corrupt, *after], pairs)
        kind = "estimates" if estimate else "patches"
        self.check("runs", options, [r[name] for r in lines for name in ("clean", "corrupt")],
                   [clean, corrupt] * len(lines), scale)
        self.check(kind, options, [r["metric"] for r in lines], after, scale)
        self.check_quotients("effects", options, [r["effect"] for r in lines], [x - corrupt for x in after],
                             clean - corrupt, scale)

    # ---- ablations

    def compare_ablation(self, ablation, given, metric, many):
        parts = [(l, h) for l in range(self.L) for h in (*range(self.H), "mlp")]
        some = [p for p in parts if self.chance.randrange(3) == 0] or parts[-1:]
        spelled = ",".join(f"{l}.{h}" for l, h in some)
        pairs, options, text = self.given(metric, many or ablation == "mean")
        options += ["--ablate", ablation, *([given, spelled] if given else [])]
        lines = self.lines(*options, pairs=text)
        whole = {"--keep": [p for p in parts if p not in some], "--without": some, None: []}[given]
        ablated = [[], parts, *([whole] if given else []),
                   *(whole + [p] for p in {"--keep": some, "--without": [], None: parts}[given])]
        cases = [[("mlp", l, None, None) if h == "mlp" else ("z", l, h, None) for l, h in a] for a in ablated]
        mean = {name: sum(p.corrupt.at[name] for p in pairs) / len(pairs) for name in pairs[0].corrupt.at}
        values = [p.metric(metric)(patched(self.model, p.ids[0], cases, {
            "zero": None, "mean": mean, "resample": p.corrupt.at}[ablation])) for p in pairs]
        values = torch.stack(values).mean(0).tolist()
        start, none = values[:2]
        scale = self.scale(metric, values, pairs)
        kept = values[2] if given == "--keep" else start
        self.check("ablations", options, [r["metric"] for r in lines], values, scale)
        self.check_quotients("faithfulness", options, [r["faithfulness"] for r in lines], [x - none for x in values],
                             start - none, scale)
        self.check_quotients("changes", options, [r["change"] for r in lines],
                             [x - (kept if n > 2 else start) for n, x in enumerate(values)], start - none, scale)


def compare(family, i, shape, patches, ablations):
    with tempfile.TemporaryDirectory() as where:
        twin = Twin(os.path.join(where, "twin"), family, i, shape)
        for n, patch in enumerate(patches):
            twin.compare_patches(*patch, estimate=False, many=n % 4 == 0)
            if patch[2:] != ("kl", "noise"):  # which has no gradient
                twin.compare_patches(*patch, estimate=True, many=n % 4 == 1)
        for n, ablation in enumerate(ablations):
            twin.compare_ablation(*ablation, many=n % 3 == 0)
    return twin


def report(family, compare_twin):
    """Compare each twin by compare_twin(i, shape), print a line, and return whether it says DIFFERS."""
    worst, count, bad = {}, 0, False
    for i, shape in enumerate(SHAPES):
        twin = compare_twin(i, shape)
        count += twin.count
        for name, x in twin.worst.items():
            worst[name] = max(worst.get(name, 0), x)
        for text in twin.far:
            bad = True
            print(f"{family} {i} {shape}: {text[:300]}")
    print(f"{family}: {len(SHAPES)} twins, {count} numbers, at most off: " +
          ", ".join(f"{n} {x:.1e}" for n, x in worst.items()) + f": {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


def judge(family):
    patches, ablations = PATCHES.copy(), ABLATIONS.copy()
    chance = random.Random(family)
    chance.shuffle(patches)
    chance.shuffle(ablations)
    return report(family, lambda i, shape: compare(family, i, shape, patches[i::len(SHAPES)], ablations[i::len(SHAPES)]))


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or families.FAMILIES]))
