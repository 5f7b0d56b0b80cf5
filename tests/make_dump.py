"""A dump archive for tests, as NumPy writes it; see lib/dump/dump_read.h for the arrays.

make_dump.py FILE [KEY=VALUE]...   T= H= D= B= L= (layers in the archive) N= (of the model)
    example=1 (the worked example: one head, T = 3, C = 4; the rest as it comes)
    layout=bthd|bhtd mask=-1e9|-inf|min seed= stages=q,k,... text=none|letters|words|hostile|FILE

Scores and probabilities are computed in the order of the reference (ascending d, ascending j)
in double precision, and rounded.
"""
import sys

import numpy as np

o = dict(T=5, H=2, D=4, B=1, L=2, N=0, layout="bthd", mask="-1e9", seed=1, text="letters",
         stages="q,k,v,scores,probs,att",
         example=0)
for arg in sys.argv[2:]:
    key, value = arg.split("=", 1)
    assert key in o, key
    o[key] = int(value) if isinstance(o[key], int) else value
if o["example"]:
    o.update(T=3, H=1, D=4, B=1, L=1)
T, H, D, B, L = (o[key] for key in "THDBL")
rng = np.random.default_rng(o["seed"])

WORDS = ("The quick brown fox jumps over the lazy dog, and then sleeps; nobody knows for how long, "
         "unquestionably antidisestablishmentarianism .\\n").split(" ")
HOSTILE = [b"</script>", b"<!--", b"<b onclick=alert(1)>&amp;", b"\x1b[31mred\x07", b"\xff\xfe bad",
           "\u4e2d\u6587".encode(), b'"quote\\', b"a" * 200, b" ", b"\xe2\x80\xae rtl", b"\\x00", b"\t\n"]


def texts():
    if o["text"] == "letters":
        return [bytes([97 + t % 26]) for t in range(T)]
    if o["text"] == "words":
        return [(" " * (t > 0) + WORDS[t % len(WORDS)]).encode() for t in range(T)]
    if o["text"] == "hostile":
        return [HOSTILE[t % len(HOSTILE)] for t in range(T)]
    words = open(o["text"]).read().replace("\n", " \\n ").split(" ")
    return [(" " * (t > 0) + words[t % len(words)]).encode() for t in range(T)]


def attention(q, k, v):
    masked = {"-1e9": -1e9, "-inf": -np.inf, "min": np.finfo(np.float32).min}[o["mask"]]
    scores = np.full((B, H, T, T), masked)
    probs = np.zeros((B, H, T, T))
    for b in range(B):
        for h in range(H):
            full = np.zeros((T, T))
            for d in range(D):
                full += q[b, h, :, d, None].astype(float) * k[b, h, None, :, d].astype(float)
            full /= np.sqrt(float(D))
            for i in range(T):
                row = full[i, : i + 1]
                e = np.exp(row - row.max())
                scores[b, h, i, : i + 1] = row
                probs[b, h, i, : i + 1] = e / np.add.accumulate(e)[-1]
    return scores.astype("f4"), probs.astype("f4"), (probs @ v).astype("f4")


arrays = {"kind": np.bytes_("attention"), "version": np.int64(1), "dump/layout": np.bytes_(o["layout"]),
          "dump/n_layer": np.int64(o["N"] or L), "dump/n_head": np.int64(H), "dump/n_embd": np.int64(H * D),
          "dump/mask": np.bytes_(o["mask"])}
if o["text"] != "none":
    # letters are bytes, which tell their ids; words are in the order of some vocabulary
    arrays["dump/ids"] = np.array([t[0] if o["text"] == "letters" else n for n, t in enumerate(texts())], "i8")
    arrays["dump/text"] = np.array(texts())
for layer in range(L):
    q, k, v = (rng.normal(size=(B, H, T, D)).astype("f4") * s for s in (2, 1, 1))
    if T > 60:  # something to see: a head that looks back, one that looks at the start
        pos = rng.normal(size=(T, D)).astype("f4")
        q[:, 0], k[:, 0] = np.roll(pos, 1, axis=0) * 1.5, pos * 1.5
        if H > 1:
            k[:, 1, 0] += 3 * q[:, 1].mean(axis=1)
            q[:, 1] = q[:, 1] * 0.4 + 1
            k[:, 1, 0] = 3
    if o["example"]:
        q = np.array([[[[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0]]]], "f4")
        k = np.array([[[[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]]]], "f4")
        v = np.array([[[[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0]]]], "f4")
    lay = (lambda x: x.swapaxes(1, 2).copy()) if o["layout"] == "bthd" else (lambda x: x)
    stages = {"q": lay(q), "k": lay(k), "v": lay(v)}
    names = o["stages"].split(",")
    if not stages.keys() >= set(names):  # it takes two seconds of a processor where there are many heads
        scores, probs, att = attention(q, k, v)
        stages.update(scores=scores, probs=probs, att=lay(att))
    for name in names:
        arrays[f"h.{layer}.{name}"] = stages[name]
np.savez(sys.argv[1], **arrays)
