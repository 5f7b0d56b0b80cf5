#!/usr/bin/env python3
"""tg-eval --choices must find what lm-eval finds: log-likelihoods, greedy flags and accuracies.

    choices.py BIN    BIN: the directory of the tools

A random Llama and a vocabulary, which transformers saves as a directory, once with a token that begins a text and once
without.  lm-eval computes a task of multiple choice from a file, in double precision; tg-eval the same lines.
In each directory three tasks: choices as they are, in ASCII and in other scripts, and choices that lm-eval puts after a
space of its own (target_delimiter), which tg's have as their first character.  Some contexts are empty, end with white
space, or are longer than the model's context.  tg's accuracy must be acc, that per byte acc_bytes, and in ASCII also
acc_norm, which divides by characters and leaves out the delimiter.  Prints a line for each task; exits with 1 if one
says DIFFERS.
"""
import json
import logging
import os
import random
import re
import subprocess
import sys
import tempfile

HOME = tempfile.TemporaryDirectory()
os.environ.update(HF_HOME=HOME.name, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TQDM_DISABLE="1",
                  TOKENIZERS_PARALLELISM="false", LOGLEVEL="ERROR")

import torch  # noqa: E402
import transformers  # noqa: E402
from lm_eval import simple_evaluate  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # noqa: E402

transformers.logging.disable_progress_bar()
transformers.logging.set_verbosity_error()
logging.disable(logging.WARNING)

LIMIT = 1e-4  # nats: the sums of float32 logits' errors over a continuation; they are about a tenth of it
ITEMS = 60
CONTEXT = 48
END = "<|endoftext|>"
ASCII = ["lamp", "light", "the cat", "stairs", "two hundred", "a boat", "never", "42", "'s", "Moss", "fog", "soup."]
OTHER = ["naïve", "猫", "маяк", "é", "— no", "ß", "灯塔", "лодка"]


def make_model(directory, bos):
    torch.manual_seed(1)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=[END], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([" ".join(ASCII + OTHER)] * 9, trainer)
    if bos:
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=END + " $A", pair=END + " $A " + END + " $B",
                                          special_tokens=[(END, tokenizer.token_to_id(END))])])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END)
    config = transformers.LlamaConfig(
        vocab_size=len(fast), hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, initializer_range=0.2,
        bos_token_id=fast.bos_token_id, eos_token_id=fast.eos_token_id)
    transformers.LlamaForCausalLM(config).save_pretrained(directory)
    fast.save_pretrained(directory)


def text(rng, words, n):
    return " ".join(rng.choice(words) for _ in range(n))


def greedy_text(lm, context, n):
    """What the model itself would go on with; it may be tokenized otherwise than it was generated."""
    ids = lm.tok_encode(context)
    for _ in range(n):
        ids.append(int(lm.model(torch.tensor([ids])).logits[0, -1].argmax()))
    return lm.tokenizer.decode(ids[-n:])


def make_items(lm, rng, words, delimiter, bos):
    """Lines of tg's file."""
    items = []
    for i in range(ITEMS):
        long = i % 10 == 7
        context = "" if bos and i % 10 == 3 else text(rng, words, 40 if long else rng.randint(1, 6))
        if i % 10 == 5:
            context += rng.choice([" ", "  ", "\n"])
        choices = [delimiter + text(rng, words, rng.randint(1, 4)) for _ in range(rng.randint(2, 5))]
        if i % 2 == 0 and not long and context and context == context.rstrip():
            go_on = greedy_text(lm, context, 1)
            if go_on.startswith(delimiter) and go_on.strip() and go_on.isascii():
                choices[-1] = go_on
        items.append({"context": context, "continuations": choices, "label": rng.randrange(len(choices))})
    return items


def lm_eval_results(lm, name, items, delimiter, directory):
    data = os.path.join(directory, name + ".data.json")
    with open(data, "w", encoding="utf-8") as f:
        for item in items:
            choices = [c[len(delimiter):] for c in item["continuations"]]
            f.write(json.dumps({**item, "continuations": choices}) + "\n")
    with open(os.path.join(directory, name + ".yaml"), "w", encoding="utf-8") as f:
        json.dump({"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": data}},
                   "test_split": "test", "output_type": "multiple_choice", "doc_to_text": "context",
                   "doc_to_target": "label", "doc_to_choice": "continuations", "target_delimiter": delimiter,
                   "metric_list": [{"metric": m, "aggregation": "mean", "higher_is_better": True}
                                   for m in ("acc", "acc_norm", "acc_bytes")]}, f)
    manager = TaskManager(include_path=directory, include_defaults=False)
    result = simple_evaluate(model=lm, tasks=[name], task_manager=manager, bootstrap_iters=0)
    samples = sorted(result["samples"][name], key=lambda s: s["doc_id"])
    assert [s["doc"]["context"] for s in samples] == [i["context"] for i in items]
    found = {key.split(",")[0]: value for key, value in result["results"][name].items()}
    return [[tuple(r) for r in s["filtered_resps"]] for s in samples], found


def tg_results(model, name, items, directory):
    path = os.path.join(directory, name + ".jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(item) + "\n" for item in items)
    command = [os.path.join(sys.argv[1], "tg-eval"), "-q", "-m", model, "--choices", path]
    pipes = {"check": True, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    lines = subprocess.run([*command, "-f", "jsonl"], **pipes).stdout.splitlines()
    shown = subprocess.run(command, **pipes).stdout
    return [json.loads(line) for line in lines], shown


def compare(lm, model, name, words, delimiter, bos, directory):
    items = make_items(lm, random.Random(name), words, delimiter, bos)
    theirs, found = lm_eval_results(lm, name, items, delimiter, directory)
    ours, shown = tg_results(model, name, items, directory)
    apart, flags, right = 0, set(), True
    for item, samples in zip(ours, theirs, strict=True):
        for choice, (log_prob, is_greedy) in zip(item["choices"], samples, strict=True):
            apart = max(apart, abs(choice["log_prob"] - float(log_prob)))
            right &= choice["greedy"] == bool(is_greedy)
            flags.add(bool(is_greedy))

    def accuracy(norm):
        return sum(max(range(len(o["choices"])), key=lambda c: norm(o["choices"][c])) == i["label"]
                   for o, i in zip(ours, items)) / len(items)

    printed = [float(re.search(rf"^{row} +([0-9.]+)", shown, re.M)[1]) for row in ("accuracy", "per byte")]
    same = {"acc": accuracy(lambda c: c["log_prob"]),
            "acc_bytes": accuracy(lambda c: c["log_prob"] / (c["bytes"] - len(delimiter)))}
    if words is ASCII:
        same["acc_norm"] = same["acc_bytes"]
    right &= all(abs(found[key] - value) < 1e-9 for key, value in same.items())
    right &= abs(printed[0] - found["acc"]) < 1e-4
    right &= bool(delimiter) or abs(printed[1] - found["acc_bytes"]) < 1e-4
    right &= flags == {False, True} and apart < LIMIT
    print(f"{name}: log-likelihoods within {apart:.1e} nats, acc {found['acc']:.3f}, acc_norm "
          f"{found['acc_norm']:.3f}, acc_bytes {found['acc_bytes']:.3f}: {'ok' if right else 'DIFFERS'}")
    return right


def main():
    right = True
    with tempfile.TemporaryDirectory() as directory:
        for bos in (False, True):
            model = os.path.join(directory, "bos" if bos else "plain")
            make_model(model, bos)
            # lm-eval's cache of logits takes two requests for one if their tokens are the same but for the last,
            # also where their contexts are not: "a" + " b c" and "a b" + " d"
            lm = HFLM(pretrained=model, device="cpu", dtype="float64", batch_size=4, logits_cache=False)
            for name, words, delimiter in (("ascii", ASCII, ""), ("scripts", ASCII + OTHER, ""),
                                           ("delimiter", ASCII, " ")):
                right &= compare(lm, model, os.path.basename(model) + "_" + name, words, delimiter, bos, directory)
    return 0 if right else 1


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(main())
