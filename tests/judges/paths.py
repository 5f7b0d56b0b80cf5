#!/usr/bin/env python3
"""tg-patch --path and circuits of edges on random twins must have transformers' numbers, in double precision.

    paths.py BIN [FAMILY]...    BIN: the directory of the tools

The twins, prompts and distances are those of patch.py.  Of each twin: all edges, estimated to first order (EAP) and by
integrated gradients (EAP-IG), by torch's autograd; some edges by whole runs; and circuits of edges, kept or left out.
Where a norm follows a sublayer, these leave out no edge from a sender to a receiver of its own layer.

A receiver reads something else by a trick: the model runs a batch of the run itself, row 0, and of a row for each
receiver.  This row's stream is row 0's and what is to be read besides; what the receiver computes of it is copied to row
0.  Prints a line for each family; exits with 1 if one says DIFFERS.
"""
import os
import sys
import tempfile

import torch

import families
from lens import frozen, parts_of, weight_of
from patch import Twin, report, run

EDGES = 30  # of each twin, by whole runs
STEPS = 3


# ---- the graph: senders in the order of writing, receivers in that of reading

class Graph:
    def __init__(self, twin):
        self.senders = ["embed"] + [f"{l}.{h}" for l in range(twin.L) for h in (*range(twin.H), "mlp")]
        self.receivers = [(l, site, h) for l in range(twin.L) for site in ("q", "k", "v", "mlp")
                          for h in (range(twin.heads[site]) if site != "mlp" else [None])] + [(twin.L, "logits", None)]
        self.parallel = hasattr(twin.model, "gpt_neox")
        self.H = twin.H

    def before(self, receiver):
        layer, site, _ = receiver
        return self.senders[:1 + layer * (self.H + 1) + (self.H if site == "mlp" and not self.parallel else 0)]

    def edges(self):
        return [(s, r) for r in self.receivers for s in self.before(r)]


def name(receiver):
    layer, site, head = receiver
    return {"logits": "logits", "mlp": f"{layer}.mlp"}.get(site, f"{layer}.{head}.{site}")


# ---- what senders write

def writes_of(twin, layer, site, inputs):
    """{sender: [T,C]} of a sublayer, of its inputs [T,heads,...], with the scale of a norm that follows it."""
    block = parts_of(twin.model).blocks[layer]
    module, after = (block.out, block.after[0]) if site == "z" else (block.down, block.after[1])
    through = weight_of(module).unflatten(1, (inputs.shape[1], -1))  # [C,heads,...]
    written = torch.einsum("thd,chd->htc", inputs, through)
    if after is not None:
        assert module.bias is None
        factors = torch.stack([torch.as_tensor(frozen(after, x)[0]) * frozen(after, x)[1] for x in written.sum(0)])
        written = written * factors
    names = [f"{layer}.{h}" for h in range(len(written))] if site == "z" else [f"{layer}.mlp"]
    return dict(zip(names, written))


def all_writes(twin, kept):
    """Of a whole run: what Kept keeps."""
    written = {"embed": kept["x", 0][:, 0]}
    for l in range(twin.L):
        written |= writes_of(twin, l, "z", kept["z", l]) | writes_of(twin, l, "mlp", kept["mlp", l])
    return written


# ---- runs in which receivers read something else

def reading(twin, ids, reads, start=None):
    """The logits [V] where each receiver of reads, {receiver: what}, reads what(row 0's writes so far) [T,C] besides.
    start: row 0's x of the first block.  What its own layer's senders write, a receiver gets from inputs()."""
    receivers = list(reads)
    so_far = {}

    def touch(site, layer, x):
        x = x.clone()
        if site == "x" and layer == 0 and start is not None:
            x[0, :, 0] = start
        if site == "x" and layer == 0:
            so_far["embed"] = x[0, :, 0]
        for row, r in enumerate(receivers, 1):
            at, kind, head = r
            whole = kind in ("mlp", "logits")  # the row goes on as row 0, except for what it reads in addition
            if layer != min(at, twin.L - 1):
                continue
            if site == "x":
                x[row] = x[0] + reads[r].stream(so_far)[:, None]
            elif site == "z" and whole:
                x[row] = reads[r].inputs(site, layer, x[0])
            elif site == "mlp" and kind == "logits":
                x[row] = reads[r].inputs(site, layer, x[0])
            elif site == kind:
                head = slice(None) if head is None else head
                x[0, :, head] = x[row, :, head]
        if site in ("z", "mlp"):
            so_far.update(writes_of(twin, layer, site, x[0]))
        return x

    logits = run(twin.model, ids.expand(1 + len(receivers), -1), touch)
    output = [row for row, r in enumerate(receivers, 1) if r[1] == "logits"]
    return logits[output[0] if output else 0]


class Given:
    """A receiver reads [T,C] besides."""
    def __init__(self, what):
        self.what = what

    def stream(self, _):
        return self.what

    def inputs(self, site, layer, x):
        return x


class Edges:
    """A receiver reads, of some senders, what they write in the source run and not what they write in this one.  What is
    written in its own layer it gets as other inputs, so that no norm may follow."""
    def __init__(self, twin, senders, source, written):
        self.twin, self.senders, self.source, self.written = twin, senders, source, written

    def stream(self, so_far):
        some = [self.written[s] - so_far[s] for s in self.senders if s in so_far]
        return sum(some) if some else torch.zeros_like(so_far["embed"])

    def inputs(self, site, layer, x):
        x = x.clone()
        for h in range(self.twin.H if site == "z" else 1):
            if (f"{layer}.{h}" if site == "z" else f"{layer}.mlp") in self.senders:
                x[:, h] = self.source.at[site, layer][:, h]
        return x


# ---- comparisons

class Paths(Twin):
    def __init__(self, path, family, i, shape):
        super().__init__(path, family, i, shape)
        self.graph = Graph(self)
        self.pair = self.pairs[0]
        self.normed = parts_of(self.model).blocks[0].after[0] is not None

    def sides(self, noise):
        """The ids and the run that is patched, and the other run."""
        clean, corrupt = self.pair.clean, self.pair.corrupt
        return (self.pair.ids[0], clean, corrupt) if noise else (self.pair.ids[1], corrupt, clean)

    def compare_metrics(self, kind, options, lines, edges, want, metric):
        assert [(r["sender"], r["receiver"]) for r in lines] == [(s, name(r)) for s, r in edges]
        self.check(kind, options, [r["metric"] for r in lines], want, self.scale(metric, want, [self.pair]))

    def estimates(self, measure, noise, steps):
        """Of each edge: the metric of the run that is patched, and the change to first order."""
        ids, base, source = self.sides(noise)
        written = all_writes(self, source.at), all_writes(self, base.at)
        change = {s: written[0][s] - written[1][s] for s in self.graph.senders}
        begin = measure(base.logits[None]).item()
        fractions = [(n + 0.5) / steps for n in range(steps)] if steps else [0]
        values = []
        for r in self.graph.receivers:
            gradient = 0
            for f in fractions:
                what = torch.zeros_like(change["embed"]).requires_grad_()
                start = base.at["x", 0][:, 0] + f * change["embed"]
                measure(reading(self, ids, {r: Given(what)}, start)[None]).sum().backward()
                gradient = gradient + what.grad / len(fractions)
            values += [begin + (gradient * change[s]).sum().item() for s in self.graph.before(r)]
        return values

    def compare_estimates(self, metric, direction, steps):
        options = [*self.pair.options(metric), "--metric", metric, "--direction", direction, "--path", ":", "--attribution",
                   "--steps", str(steps)]
        want = self.estimates(self.pair.metric(metric), direction == "noise", steps)
        self.compare_metrics("integrated" if steps else "estimates", options, self.lines(*options), self.graph.edges(), want,
                             metric)

    def compare_runs(self, metric, direction):
        options = [*self.pair.options(metric), "--metric", metric, "--direction", direction, "--path", ":"]
        lines, edges, measure = self.lines(*options), self.graph.edges(), self.pair.metric(metric)
        ids, base, source = self.sides(direction == "noise")
        some = sorted(self.chance.sample(range(len(edges)), min(EDGES, len(edges))))
        written = all_writes(self, source.at), all_writes(self, base.at)
        with torch.no_grad():
            want = [measure(reading(self, ids, {edges[n][1]: Given(written[0][edges[n][0]] - written[1][edges[n][0]])})[None])
                    .item() for n in some]
        self.compare_metrics("runs", options, [lines[n] for n in some], [edges[n] for n in some], want, metric)

    def compare_circuit(self, metric, given):
        """--without some edges, or --keep of all others: the same run."""
        edges = self.graph.edges()
        within = {(s, r) for s, r in edges if s != "embed" and s.split(".")[0] == str(min(r[0], self.L - 1))}
        ablated = [e for e in edges if self.chance.randrange(2) and not (self.normed and e in within)] or edges[:1]
        named = ablated if given == "--without" else [e for e in edges if e not in ablated]
        options = [*self.pair.options(metric), "--metric", metric, "--ablate", "resample", given,
                   ",".join(f"{s}:{name(r)}" for s, r in named)]
        lines = {r["case"]: r["metric"] for r in self.lines(*options)}
        corrupt, measure = self.pair.corrupt, self.pair.metric(metric)
        written = all_writes(self, corrupt.at)
        reads = {r: Edges(self, {s for s, of in ablated if of == r}, corrupt, written) for _, r in ablated}
        with torch.no_grad():
            want = [measure(x[None]).item() for x in (self.pair.clean.logits, corrupt.logits,
                                                      reading(self, self.pair.ids[0], reads))]
        got = [lines[n] for n in ("model", "none", "circuit" if given == "--keep" else "without")]
        self.check("circuits", options, got, want, self.scale(metric, want, [self.pair]))


def compare(family, i, shape):
    metric = ("diff", "prob", "loss")[i % 3]
    direction = ("denoise", "noise")[i // 3 % 2]
    with tempfile.TemporaryDirectory() as where:
        twin = Paths(os.path.join(where, "twin"), family, i, shape)
        twin.compare_estimates(metric, direction, 0)
        twin.compare_estimates("kl" if i % 2 else metric, direction, STEPS)
        twin.compare_runs(("kl", metric)[i % 2], direction)
        twin.compare_circuit(metric, ("--without", "--keep")[i % 2])
    return twin


def judge(family):
    return report(family, lambda i, shape: compare(family, i, shape))


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or families.FAMILIES]))
