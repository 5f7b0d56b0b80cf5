#!/usr/bin/env python3
"""Train a small GPT-2 until it has induction heads, with transformers and tokenizers only.

    induction_checkpoint.py DIRECTORY

This wrote docs/data/induction, the checkpoint of docs/checkpoints.md: config.json, model.safetensors (bfloat16),
tokenizer.json.  It takes a minute on one processor.  Another version of PyTorch gives other weights.

The model sees a random row of distinct letters, 4 to 24 of them, again and again, sometimes with other letters
in between.  Nothing predicts a letter when it comes for the first time; from the second time on, what
followed it before does.  A circuit of two heads is put in place by hand before the training, which would otherwise
take much longer to find one; the training adjusts all numbers.
"""
import os
import string
import sys
from random import Random

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel

LETTERS = string.ascii_uppercase + string.ascii_lowercase
T = 64
B = 32
STEPS = 300
RATE = 1e-3
WARMUP = 20


def sequence(letters, random):
    """ids [T], and whether each follows from what came before [T]."""
    letters = letters.copy()
    random.shuffle(letters)
    row, others = letters[:random.randint(4, 24)], letters[24:]
    ids = others[:random.randint(0, 8)]
    known = [False] * len(ids)
    copies = 0
    while len(ids) < T:
        ids = ids + row
        known += [copies > 0 and i > 0 for i in range(len(row))]
        between = random.sample(others, random.choice([0, 0, 0, 1, 2, 3]))
        ids = ids + between
        known += [False] * len(between)
        copies += 1
    return ids[:T], known[:T]


def batch(letters, random):
    sequences = [sequence(letters, random) for _ in range(B)]
    return torch.tensor([s[0] for s in sequences]), torch.tensor([s[1] for s in sequences])


def begin(model):
    """Put two heads in place.  Channels 0..15 are the token, 32..63 sinusoidal positions.  Head 0.0 attends to the
    previous token (a pair of channels is an angle that grows with the position; the query's is one step smaller) and
    copies it to channels 16..31.  Head 1.0 compares these, in its keys, with the token, in its queries."""
    width = model.config.n_embd
    half, pairs = width // 2, width // 4
    speed = 3 * 0.02 ** (torch.arange(pairs) / pairs)
    angle = torch.arange(T)[:, None] * speed
    wte, wpe = model.transformer.wte.weight, model.transformer.wpe.weight
    wte[:, :16].normal_(0, 0.15)
    wte[:, 16:] = 0
    wpe[:, :half] = 0
    wpe[:, half:] = 0.2 * torch.cat([angle.sin(), angle.cos()], dim=1)
    model.transformer.ln_f.weight.fill_(3)
    for block in model.transformer.h:
        for part in range(3):
            block.attn.c_attn.weight[:, part * width:part * width + 16] = 0
        block.attn.c_proj.weight[:16] = 0
    first, second = (block.attn for block in model.transformer.h)
    w = first.c_attn.weight  # [in,out]
    for d, pair in enumerate(range(0, pairs, 2)):
        sin, cos, back = half + pair, half + pairs + pair, speed[pair]
        w[sin, 2 * d], w[cos, 2 * d] = 2 * back.cos(), -2 * back.sin()
        w[sin, 2 * d + 1], w[cos, 2 * d + 1] = 2 * back.sin(), 2 * back.cos()
        w[sin, width + 2 * d] = w[cos, width + 2 * d + 1] = 2
    for d in range(16):
        w[d, 2 * width + d] = 1
        first.c_proj.weight[d, 16 + d] = 0.2
        second.c_attn.weight[d, d] = second.c_attn.weight[16 + d, width + d] = 1.6
        second.c_attn.weight[d, 2 * width + d] = 1
        second.c_proj.weight[d, d] = 0.5


def learning_rate(step):
    return min((step + 1) / WARMUP, 1) * min((STEPS - step) / (STEPS / 3), 1)


def main(out):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random = Random(1)

    tokenizer = ByteLevelBPETokenizer()  # 256 bytes and no merges
    tokenizer.train_from_iterator([], vocab_size=257, special_tokens=["<|endoftext|>"])
    letters = [tokenizer.token_to_id(letter) for letter in LETTERS]
    end = tokenizer.token_to_id("<|endoftext|>")

    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), n_positions=T, n_embd=64, n_layer=2, n_head=4, initializer_range=0.02,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=end, eos_token_id=end))
    with torch.no_grad():
        begin(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
    for step in range(STEPS):
        ids, known = batch(letters, random)
        logits = model(ids).logits[:, :-1]
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        new = ~known[:, 1:]
        optimizer.zero_grad()
        losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}  new {losses[new].mean():.3f}  known {losses[~new].mean():.4f}", flush=True)

    model.to(torch.bfloat16).save_pretrained(out)
    os.remove(os.path.join(out, "generation_config.json"))
    tokenizer.save(os.path.join(out, "tokenizer.json"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
