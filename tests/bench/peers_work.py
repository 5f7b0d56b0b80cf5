#!/usr/bin/env python3
"""What tests/bench/peers.py measures of PyTorch and llama.cpp: a process that stays alive between turns.

    peers_work.py THREADS product M N K DIRECTION DTYPE mm|linear|packed
    peers_work.py THREADS step MODEL B T DTYPE eager|compiled
    peers_work.py THREADS sample GGUF SEQUENCES
    peers_work.py THREADS prompt GGUF TOKENS
    peers_work.py THREADS lens MODEL TOKENS TOP
    peers_work.py THREADS attribute MODEL TOKENS
    peers_work.py THREADS patch MODEL TOKENS whole|resumed

Prints "ready" when it is warm.  Then, for each line of standard input, a number of seconds, it works for at
least so long and prints the seconds of one product, step or token of each sequence, the MiB that the
process has had in memory at most, and the seconds of processor time that it took.
"""
import os
import resource
import sys
import time

#         vocabulary, context, layers, heads, width
MODELS = {"baby": (256, 64, 4, 4, 128), "mid": (256, 256, 6, 6, 384), "gpt2": (50257, 1024, 12, 12, 768)}
#          vocabulary, layers, heads, heads of keys, width, width of the MLP, whether the head is the embedding
LLAMAS = {"cs336": (10000, 4, 16, 16, 512, 1344, False), "smollm2": (49152, 30, 9, 3, 576, 1536, True)}

TOKENS = 128  # of a sequence, as many as peers.py lets tg-sample generate
LONG = ("lens", "attribute", "patch")  # warm after one run


def product(M, N, K, direction, dtype, how):
    """M x K times K x N, stored as bench.c does: 1 has B transposed, 2 A.  linear has B as nn.Linear has its
    weight; packed has it in oneDNN's own layout, which a weight can have."""
    import torch
    torch.set_grad_enabled(False)
    kind = getattr(torch, dtype)
    a = torch.randn(K, M, dtype=kind).t() if direction == "2" else torch.randn(M, K, dtype=kind)
    b = torch.randn(N, K, dtype=kind).t() if direction == "1" else torch.randn(K, N, dtype=kind)
    c = torch.empty(M, N, dtype=kind)
    weight = b.t().contiguous()
    if how == "mm":
        return lambda: torch.mm(a, b, out=c)
    if how == "linear":
        return lambda: torch.nn.functional.linear(a, weight)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, M)
    return lambda: torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], "")


def attention(**options):
    """Where hooks find queries, keys, values and their result, [B,heads,T,D]."""
    from torch import nn
    from torch.nn import functional as F

    class Attention(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, **options)
    return Attention()


def gpt(V, T, L, H, C):
    """GPT-2, as one writes it with PyTorch's own modules."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(C), nn.LayerNorm(C)
            self.qkv, self.proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
            self.fc, self.fc_proj = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)
            self.attention = attention()

        def forward(self, x):
            B, t, _ = x.shape
            q, k, v = (y.view(B, t, H, C // H).transpose(1, 2) for y in self.qkv(self.ln_1(x)).split(C, dim=2))
            y = self.attention(q, k, v)
            x = x + self.proj(y.transpose(1, 2).reshape(B, t, C))
            return x + self.fc_proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
            self.blocks = nn.Sequential(*(Block() for _ in range(L)))
            self.ln_f = nn.LayerNorm(C)
            self.head = nn.Linear(C, V, bias=False)
            self.head.weight = self.wte.weight

        def begin(self, ids):
            return self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))

        def run(self, x, first=0):
            return self.blocks[first:](x)

        def forward(self, ids, targets):
            logits = self.head(self.ln_f(self.run(self.begin(ids))))
            return F.cross_entropy(logits.view(-1, V), targets.view(-1))

    torch.manual_seed(0)
    return GPT()


def llama(V, L, H, KV, C, F_, tied):
    """Llama, likewise."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    D = C // H

    def rotate(x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.RMSNorm(C, eps=1e-5), nn.RMSNorm(C, eps=1e-5)
            self.q, self.k, self.v = (nn.Linear(C, n * D, bias=False) for n in (H, KV, KV))
            self.o = nn.Linear(C, C, bias=False)
            self.gate, self.up = nn.Linear(C, F_, bias=False), nn.Linear(C, F_, bias=False)
            self.down = nn.Linear(F_, C, bias=False)
            self.attention = attention(enable_gqa=KV < H)

        def forward(self, x, cos, sin):
            B, t, _ = x.shape
            h = self.norm_1(x)
            q, k, v = (w(h).view(B, t, -1, D).transpose(1, 2) for w in (self.q, self.k, self.v))
            q, k = (rotate(y, cos, sin).to(v.dtype) for y in (q, k))
            y = self.attention(q, k, v)
            x = x + self.o(y.transpose(1, 2).reshape(B, t, C))
            h = self.norm_2(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(V, C)
            self.blocks = nn.ModuleList(Block() for _ in range(L))
            self.norm = nn.RMSNorm(C, eps=1e-5)
            self.head = nn.Linear(C, V, bias=False)
            if tied:
                self.head.weight = self.wte.weight

        def begin(self, ids):
            return self.wte(ids)

        def run(self, x, first=0):
            angles = torch.arange(x.shape[1])[:, None] * 1e4 ** (-torch.arange(0, D, 2) / D)
            cos, sin = (f(torch.cat((angles, angles), dim=-1)) for f in (torch.cos, torch.sin))
            for block in self.blocks[first:]:
                x = block(x, cos, sin)
            return x

        def forward(self, ids, targets):
            return F.cross_entropy(self.head(self.norm(self.run(self.begin(ids)))).view(-1, V), targets.view(-1))

    torch.manual_seed(0)
    return Llama()


def step(model, B, T, dtype, how):
    """A whole step of training: forward, backward, clipping, AdamW."""
    import torch
    V, *_ = MODELS.get(model) or LLAMAS[model]
    net = gpt(*MODELS[model]) if model in MODELS else llama(*LLAMAS[model])
    forward = torch.compile(net) if how == "compiled" else net
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5, weight_decay=0.1, fused=True)
    ids, targets = torch.randint(0, V, (2, B, T))

    def run():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = forward(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return run


# ---- what tg-lens and tg-patch do, with hooks

class Hooked:
    """A model, and of its last run what hooks keep in each block: the stream before it, attention's q, k, v and z, and
    the MLP's units; after all blocks the stream."""

    def __init__(self, model):
        self.net = gpt(*MODELS[model]) if model in MODELS else llama(*LLAMAS[model])
        self.vocabulary = self.net.head.weight.shape[0]
        self.norm = self.net.ln_f if hasattr(self.net, "ln_f") else self.net.norm
        self.outs = [b.proj if hasattr(b, "proj") else b.o for b in self.net.blocks]
        self.downs = [b.fc_proj if hasattr(b, "fc_proj") else b.down for b in self.net.blocks]
        L = len(self.outs)
        self.stream, self.qkv, self.z, self.units = ([None] * L for _ in range(4))

    def keep(self, ids):
        def to(where, l):
            def hook(_, args):
                where[l] = args if where is self.qkv else args[0]
            return hook
        handles = []
        for l, block in enumerate(self.net.blocks):
            for module, where in ((block, self.stream), (block.attention, self.qkv), (self.outs[l], self.z),
                                  (self.downs[l], self.units)):
                handles.append(module.register_forward_pre_hook(to(where, l)))
        self.last = self.net.run(self.net.begin(ids))
        for handle in handles:
            handle.remove()

    def logits(self, x):
        return self.net.head(self.norm(x))


def lens(model, T, top):
    """Of each token, after each block: the most probable tokens, the next token's probability and rank, entropy, and
    divergence from the end."""
    import torch
    m = Hooked(model)
    ids = torch.randint(0, m.vocabulary, (1, T))
    target = ids[0].roll(-1)[:, None]

    def run():
        m.keep(ids)
        final = m.logits(m.last[0]).log_softmax(-1)
        p = final.exp()
        most = torch.linalg.vecdot(p, final)
        found = []
        for x in (*m.stream, m.last):
            logits = m.logits(x[0])
            log_p = logits.log_softmax(-1)
            of_target = logits.gather(1, target)
            found.append((logits.topk(top), log_p.gather(1, target), (logits > of_target).sum(-1),
                          -torch.linalg.vecdot(log_p.exp(), log_p), most - torch.linalg.vecdot(p, log_p)))
        return found
    return torch.inference_mode()(run)


def attribute(model, T):
    """The parts of a difference of logits after the last token: of the embedding, each head and key, each MLP."""
    import torch
    m = Hooked(model)
    ids = torch.randint(0, m.vocabulary, (1, T))

    def run():
        m.keep(ids)
        x = m.last[0, -1]
        u = (m.net.head.weight[1] - m.net.head.weight[2]) * m.norm.weight
        u = (u - u.mean()) / x.std(correction=0) if hasattr(m.norm, "bias") else u / x.square().mean().sqrt()
        parts = [m.stream[0][0, -1] @ u]
        for l, (q, k, v) in enumerate(m.qkv):
            (q,), (k,), (v,) = q, k, v  # [heads,T,D]
            H, D = len(q), q.shape[-1]
            shared = H // len(k)
            weights = (u @ m.outs[l].weight).view(H, D, 1)
            scores = q[:, -1:].unflatten(0, (-1, shared)) @ k.transpose(1, 2)[:, None] / D ** 0.5
            values = (v[:, None] @ weights.unflatten(0, (-1, shared)))[..., 0]  # [KV,shared,T]
            keys = scores[..., 0, :].softmax(-1) * values
            units = m.units[l][0, -1] @ (u @ m.downs[l].weight)
            parts += [keys, keys.sum(-1), units]
        return parts
    return torch.inference_mode()(run)


def patch(model, T, how):
    """A difference of logits after each patch of a head's z at a position, all of a layer in a batch.  "whole" runs all
    of the model, "resumed" begins at that layer, with the stream that was kept."""
    import torch
    m = Hooked(model)
    clean, corrupt = torch.randint(0, m.vocabulary, (2, 1, T))

    def of_layer(l, H, sources):
        def change(_, args):
            z = args[0].unflatten(-1, (H, -1)).clone()  # [H*T,T,H,D]
            h, t = torch.arange(H).repeat_interleave(T), torch.arange(T).repeat(H)
            z[torch.arange(H * T), t, h] = sources[l].view(T, H, -1)[t, h]
            return z.flatten(-2)
        handle = m.outs[l].register_forward_pre_hook(change)
        x = m.net.begin(corrupt) if how == "whole" else m.stream[l]
        logits = m.logits(m.net.run(x.expand(H * T, -1, -1), 0 if how == "whole" else l)[:, -1])
        handle.remove()
        return logits[:, 1] - logits[:, 2]

    def run():
        m.keep(clean)
        sources = [z[0] for z in m.z]
        m.keep(corrupt)
        H = m.qkv[0][0].shape[1]
        return torch.stack([of_layer(l, H, sources) for l in range(len(m.outs))])
    return torch.inference_mode()(run)


def load(path, n_ctx, sequences, threads):
    """llama.cpp's model and context."""
    import llama_cpp
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_seq_max = n_ctx, sequences
    params.n_batch = params.n_ubatch = max(n_ctx // sequences, sequences, 32)
    params.n_threads = params.n_threads_batch = threads
    return model, llama_cpp.llama_init_from_model(model, params)


def prompt(path, n, threads):
    """A pass over n tokens, and the logits of the last."""
    import llama_cpp
    import numpy as np
    model, context = load(path, n, 1, threads)
    V = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    batch = llama_cpp.llama_batch_init(n, 0, 1)
    batch.n_tokens = n
    for i in range(n):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = 0, i, 1, i == n - 1
        batch.seq_id[i][0] = 0

    def run():
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        if llama_cpp.llama_decode(context, batch) != 0:
            sys.exit("llama.cpp failed to decode")
        np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, n - 1), (V,)).argmax()
    return run


def sample(path, S, threads):
    """A token for each of S sequences, the most probable one; after TOKENS they start anew."""
    import llama_cpp
    import numpy as np
    model, context = load(path, TOKENS * S, S, threads)
    V = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    batch = llama_cpp.llama_batch_init(S, 0, 1)
    ids, position = [0] * S, 0

    def run():
        nonlocal ids, position
        if position == TOKENS:
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
            position = 0
        batch.n_tokens = S
        for s in range(S):
            batch.token[s], batch.pos[s], batch.n_seq_id[s], batch.logits[s] = ids[s], position, 1, 1
            batch.seq_id[s][0] = s
        if llama_cpp.llama_decode(context, batch) != 0:
            sys.exit("llama.cpp failed to decode")
        ids = [int(np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, s), (V,)).argmax()) for s in range(S)]
        position += 1
    return run


def work(threads, kind, *words):
    if kind in ("sample", "prompt"):
        return (sample if kind == "sample" else prompt)(words[0], int(words[1]), threads)
    import torch
    torch.set_num_threads(threads)
    numbers = [int(w) if w.isdigit() and i < 3 else w for i, w in enumerate(words)]
    return {"product": product, "step": step, "lens": lens, "attribute": attribute, "patch": patch}[kind](*numbers)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    run = work(int(sys.argv[1]), *sys.argv[2:])
    for _ in range(1 if sys.argv[2] in LONG else 2):  # the first compiles
        run()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        start, used, n = time.monotonic(), time.process_time(), 0
        while n == 0 or time.monotonic() - start < float(line):
            run()
            n += 1
        seconds = (time.monotonic() - start) / n
        mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(seconds, mib, time.process_time() - used, file=answers, flush=True)


main()
