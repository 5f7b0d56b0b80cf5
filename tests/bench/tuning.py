#!/usr/bin/env python3
"""A step of fine-tuning, here and in PyTorch with PEFT, in turns.

    tuning.py BIN DIRECTORY [compiled]      BIN: of the tools; DIRECTORY: a model of Hugging Face's

An adapter of rank 16 to all matrices of the blocks, and the whole model, in float32, with AdamW; 4 windows of 512
tokens.  Prints the seconds of the best step after the first and the peak of resident memory in MiB of each.
`compiled` adds torch.compile, whose compilation is not counted.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

BATCH, CONTEXT, STEPS, RANK = 4, 512, 4, 16


def torch_steps(directory, mode, lora):
    """Seconds of the steps, in a process of its own (main)."""
    import peft
    import torch
    import transformers

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    if lora:
        model = peft.get_peft_model(model, peft.LoraConfig(
            r=RANK, lora_alpha=2 * RANK, target_modules="all-linear", task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    step = torch.compile(model) if mode == "compiled" else model
    generator = torch.Generator().manual_seed(0)
    seconds = []
    for _ in range(STEPS):
        ids = torch.randint(0, model.config.vocab_size, (BATCH, CONTEXT), generator=generator)
        start = time.time()
        optimizer.zero_grad()
        step(ids, labels=ids).loss.backward()
        optimizer.step()
        seconds.append(time.time() - start)
    return seconds


def peak_of(command):
    """Run a command; returns what it prints and its peak in MiB."""
    with tempfile.NamedTemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{command}: status {status}")
        return open(out.name).read(), usage.ru_maxrss / 1024


def peer(directory, mode, lora):
    out, peak = peak_of([sys.executable, __file__, "--steps", directory, mode, str(int(lora))])
    return min(json.loads(out.splitlines()[-1])[1:]), peak


def tg(tools, directory, options):
    vocabulary = json.load(open(f"{directory}/config.json"))["vocab_size"]
    with tempfile.TemporaryDirectory() as work:
        ids = b"".join((i * 7919 % min(vocabulary, 65536)).to_bytes(2, "little") for i in range(40000))
        tokens = subprocess.run([f"{tools}/tg-convert", "-q", "-", "--from", "uint16", "--vocab-size", str(vocabulary)],
                                input=ids, stdout=subprocess.PIPE, check=True).stdout
        with open(f"{work}/tokens.npz", "wb") as f:
            f.write(tokens)
        _, peak = peak_of([f"{tools}/tg-train", "-q", "-m", directory, "-o", f"{work}/model.npz", "-b", str(BATCH),
                           "-c", str(CONTEXT), "-n", str(STEPS), "--precision", "float32", "--eval-every", "0",
                           "--eval-tokens", "512", "--log", f"{work}/log", *options, f"{work}/tokens.npz"])
        with open(f"{work}/log") as f:
            seconds = [float(line.split()[-1]) for line in f.read().splitlines()[1:]]
    return min(b - a for a, b in zip(seconds, seconds[1:])), peak


def main():
    if sys.argv[1] == "--steps":
        print(json.dumps(torch_steps(sys.argv[2], sys.argv[3], sys.argv[4] == "1")))
        return
    tools, directory = sys.argv[1:3]
    modes = ["eager", *sys.argv[3:]]
    for lora in (True, False):
        what = "adapter" if lora else "whole"
        own = ["--lora", str(RANK)] if lora else []
        for _ in range(2):
            for name, options in (("tg", own), ("tg --recompute", [*own, "--recompute"])):
                print(f"{what:8} {name:16} %6.2f s  %6.0f MiB" % tg(tools, directory, options), flush=True)
            for mode in modes:
                print(f"{what:8} {'PyTorch ' + mode:16} %6.2f s  %6.0f MiB" % peer(directory, mode, lora), flush=True)


if __name__ == "__main__":
    main()
