#!/usr/bin/env python3
"""Train a small GPT-2 until it has induction heads, with transformers and tokenizers only.

    induction_checkpoint.py DIRECTORY

This wrote docs/data/induction, the checkpoint of docs/checkpoints.md: config.json, model.safetensors (bfloat16),
tokenizer.json.  It takes a few minutes on one processor.  Another version of PyTorch gives other weights.

The model sees a random row of distinct letters, 4 to 32 of them, again and again.  Nothing predicts a letter
when it comes for the first time; from the second time on, what followed it before does.
"""
import os
import string
import sys

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel

LETTERS = string.ascii_uppercase + string.ascii_lowercase
T = 64
B = 32
STEPS = 3000
RATE = 2e-3
WARMUP = 100


def batch(letters, generator):
    """ids [B,T] of repeated rows, and whether the letter was seen before [B,T]."""
    ids = torch.empty(B, T, dtype=torch.long)
    seen = torch.empty(B, T, dtype=torch.bool)
    for b in range(B):
        period = int(torch.randint(4, 33, (), generator=generator))
        row = letters[torch.randperm(len(letters), generator=generator)[:period]]
        ids[b] = row.repeat(T // period + 1)[:T]
        seen[b] = torch.arange(T) >= period
    return ids, seen


def learning_rate(step):
    return min((step + 1) / WARMUP, 1) * min((STEPS - step) / (STEPS / 3), 1)


def main(out):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)

    tokenizer = ByteLevelBPETokenizer()  # 256 bytes and no merges
    tokenizer.train_from_iterator([], vocab_size=257, special_tokens=["<|endoftext|>"])
    letters = torch.tensor([tokenizer.token_to_id(letter) for letter in LETTERS])
    end = tokenizer.token_to_id("<|endoftext|>")

    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), n_positions=T, n_embd=64, n_layer=2, n_head=4, initializer_range=0.1,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=end, eos_token_id=end))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
    for step in range(STEPS):
        ids, seen = batch(letters, generator)
        logits = model(ids).logits[:, :-1]
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            new = ~seen[:, 1:]
            print(f"step {step + 1}  new {losses[new].mean():.3f}  seen before {losses[~new].mean():.4f}", flush=True)

    model.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save(os.path.join(out, "tokenizer.json"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
