"""GPT-2 in double precision with NumPy, naive on purpose: what the judges of other projects' files expect.

A model is a pair (config, weights): config has Hugging Face's names, weights have them too, without the
prefix "transformer.", and matrices are [in,out].  What a model lacks (biases) is left out of the weights.
"""
import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])

EPSILON = 1e-5


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def layer_norm(x, w, b, epsilon):
    d = x - x.mean(-1, keepdims=True)
    y = d / np.sqrt((d * d).mean(-1, keepdims=True) + epsilon) * w
    return y if b is None else y + b


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def forward(config, weights, ids):
    """The logits [T,V], and a list of each layer's probabilities [H,T,T]."""
    w = {name: np.asarray(a).astype(np.float64) for name, a in weights.items()}
    H, C, T = config["n_head"], config["n_embd"], len(ids)
    epsilon = config.get("layer_norm_epsilon", EPSILON)
    act = {"gelu": gelu, "gelu_new": gelu_new}[config.get("activation_function", "gelu_new")]
    mask = np.tril(np.ones((T, T), dtype=bool))

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w.get(name + ".bias"), epsilon)

    def linear(name, x):
        y = x @ w[name + ".weight"]
        return y + w[name + ".bias"] if name + ".bias" in w else y

    x = w["wte.weight"][ids] + w["wpe.weight"][:T]
    probs = []
    for n in range(config["n_layer"]):
        h = f"h.{n}."
        q, k, v = np.split(linear(h + "attn.c_attn", norm(h + "ln_1", x)), 3, axis=-1)
        q, k, v = (a.reshape(T, H, C // H).transpose(1, 0, 2) for a in (q, k, v))
        scores = np.where(mask, q @ k.transpose(0, 2, 1) / math.sqrt(C // H), -np.inf)
        probs.append(softmax(scores))
        x = x + linear(h + "attn.c_proj", (probs[-1] @ v).transpose(1, 0, 2).reshape(T, C))
        x = x + linear(h + "mlp.c_proj", act(linear(h + "mlp.c_fc", norm(h + "ln_2", x))))
    head = w["lm_head.weight"] if "lm_head.weight" in w else w["wte.weight"]
    return norm("ln_f", x) @ head.T, probs


def random_model(seed, n_layer=2, n_head=2, n_embd=32, n_ctx=64, vocab_size=300, tied=True, bias=True,
                 activation="gelu_new"):
    """Weights that make every part of the model count: nothing is 0 or 1, and attention is not flat."""
    rng = np.random.default_rng(seed)
    config = dict(n_layer=n_layer, n_head=n_head, n_embd=n_embd, n_ctx=n_ctx, vocab_size=vocab_size,
                  activation_function=activation, layer_norm_epsilon=EPSILON, tied=tied, bias=bias)
    C = n_embd

    def normal(std, *shape):
        return (rng.standard_normal(shape) * std).astype(np.float32)

    w = {"wte.weight": normal(0.5, vocab_size, C), "wpe.weight": normal(0.2, n_ctx, C)}

    def norm(name):
        w[name + ".weight"] = 1 + normal(0.2, C)
        if bias:
            w[name + ".bias"] = normal(0.2, C)

    def linear(name, ins, outs, gain):
        w[name + ".weight"] = normal(gain / math.sqrt(ins), ins, outs)
        if bias:
            w[name + ".bias"] = normal(0.2, outs)

    for n in range(n_layer):
        h = f"h.{n}."
        norm(h + "ln_1")
        linear(h + "attn.c_attn", C, 3 * C, 1.3)
        linear(h + "attn.c_proj", C, C, 0.7)
        norm(h + "ln_2")
        linear(h + "mlp.c_fc", C, 4 * C, 1)
        linear(h + "mlp.c_proj", 4 * C, C, 0.7)
    norm("ln_f")
    if not tied:
        w["lm_head.weight"] = normal(0.3, vocab_size, C)
    return config, w


def random_ids(seed, n, vocab_size):
    return np.random.default_rng(seed).integers(0, vocab_size, n)
