#!/usr/bin/env python3
"""Conversations must become the ids that transformers makes of them with the models' own templates.

    chat.py BIN    BIN: the directory of the tools

The templates that tg-convert --chat-template writes must give the same ids.  TRL has these templates, with the assistant's part marked; transformers renders and tokenizes them.  Vocabularies are
learned from the text, with the template's special tokens and a rule that splits text where Llama 3 and Qwen do.  The
masks must agree but for the line feed after an answer's last token, and in Qwen's also the one before the answer, which
TRL marks and tg does not.  What is said holds no text of a special token, which transformers takes for one, and answers
in ChatML, which keeps the white space around them, begin with none: tg tokenizes answers by themselves.  The
templates are found in a model's directory, as tg-tokenize does by default; those that it does not have must be refused.
Prints a line for each template; exits with 1 if one says DIFFERS.
"""
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerFast

TEMPLATES = [  # tg's name, TRL's, the rule for pieces, special tokens, whether there may be a system message, must be
    ("chatml", "qwen2_5_training", "qwen2", ["<|im_start|>", "<|im_end|>", "<|endoftext|>"], True, True),
    ("llama3", "llama3_training", "llama3",
     ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"], True, False),
    ("gemma", "gemma_training", "llama3", ["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"], False, False),
    ("gemma", "gemma3_training", "llama3", ["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"], True, False),
]
OTHERS = ["phi3", "phi3_5", "cohere2", "deepseekv3", "gptoss", "glm4moe", "smolvlm", "gemma4"]
BOS = {"llama3": "<|begin_of_text|>", "gemma": "<bos>"}
CONVERSATIONS = 200
WORDS = ["Be kind", "2+2", "=4.", "Tweedledum", "\n", "\n\n", "naïve", "猫", "\tdef f():", "  ", "Yes!", "42", "'s", "— no"]


def content(rng, role, strip=False):
    text = "".join(rng.choice(WORDS) + rng.choice(["", " "]) for _ in range(rng.randint(1, 9)))
    text = text if text.strip() else "x" + text
    return {"role": role, "content": text.lstrip() if strip else text}


def conversation(rng, name, system, must):
    messages = [content(rng, "system")] if system and (must or rng.random() < 0.5) else []
    for _ in range(rng.randint(1, 4)):
        messages += [content(rng, "user"), content(rng, "assistant", strip=name == "chatml")]
    return messages


def without_line_feeds(marked, is_line_feed):
    """The mask without those that begin and end its runs."""
    begins = marked & ~np.roll(marked, 1)
    ends = marked & ~np.roll(marked, -1)
    return marked & ~(is_line_feed & (begins | ends))


def run(tool, *options):
    return subprocess.run([os.path.join(sys.argv[1], tool), *options], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


def documents(path):
    """(ids, mask) of each."""
    with np.load(path) as z:
        names = sorted(n for n in z.files if n.startswith("tokens/"))
        ids = np.concatenate([z[n] for n in names])
        mask = np.concatenate([z[n.replace("tokens", "mask")] for n in names])
    starts = np.flatnonzero(mask == 2)
    return list(zip(np.split(ids, starts[1:]), np.split(mask, starts[1:])))


def template_of(theirs):
    folder = os.path.join(importlib.util.find_spec("trl").submodule_search_locations[0], "chat_templates")
    with open(os.path.join(folder, theirs + ".jinja")) as f:
        return f.read()


def refused(theirs):
    """Whether tg knows that a template is none of its own, with a tokenizer that has all of its tokens."""
    with tempfile.TemporaryDirectory() as where:
        text, talk, vocabulary = (os.path.join(where, n) for n in ("text", "talk.jsonl", "tokenizer.json"))
        with open(text, "w") as f:
            f.write("some text\n" * 100)
        with open(talk, "w") as f:
            f.write('{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n')
        with open(os.path.join(where, "chat_template.jinja"), "w") as f:
            f.write(template_of(theirs))
        specials = sorted({s for t in TEMPLATES for s in t[3]})
        run("tg-bpe", "-q", "-n", "300", *(x for s in specials for x in ("--special", s)), "-o", vocabulary, text)
        out = subprocess.run([os.path.join(sys.argv[1], "tg-tokenize"), "-t", where, "--chat", talk],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    good = out.returncode == 1 and "template of conversations is none of" in out.stderr
    print(f"{theirs}: {'refused: ok' if good else 'DIFFERS: ' + out.stderr}", flush=True)
    return not good


def judge(name, theirs, split, specials, system, must):
    rng = random.Random(theirs)
    talks = [conversation(rng, name, system, must) for _ in range(CONVERSATIONS)]
    template = template_of(theirs)
    with tempfile.TemporaryDirectory() as where:
        text, talk, vocabulary, tokens = (os.path.join(where, n) for n in ("text", "talk.jsonl", "tokenizer.json", "t.npz"))
        with open(os.path.join(where, "chat_template.jinja"), "w") as f:
            f.write(template)
        with open(text, "w") as f:
            f.write("\n".join(m["content"] for t in talks for m in t))
        with open(talk, "w") as f:
            f.writelines(json.dumps({"messages": t}) + "\n" for t in talks)
        run("tg-bpe", "-q", "-n", "400", "--split", split, *(x for s in specials for x in ("--special", s)), "-o", vocabulary, text)
        run("tg-tokenize", "-q", "-t", where, "--chat", "-o", tokens, talk)  # by the directory's template
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=vocabulary, bos_token=BOS.get(name))
        model, written = os.path.join(where, "m.npz"), os.path.join(where, "hf")
        run("tg-init", "-q", "-P", "baby-llama", "--n-layer", "1", "--n-embd", "16", "-t", vocabulary, "-o", model)
        run("tg-convert", "-q", model, "--chat-template", name, "--to", "hf", "-o", written)
        own = AutoTokenizer.from_pretrained(written)
        ours = documents(tokens)
    bad, n, predicted = int(len(ours) != len(talks)), 0, 0
    for messages, (ids, mask) in zip(talks, ours):
        out = tokenizer.apply_chat_template(messages, chat_template=template, return_dict=True,
                                            return_assistant_tokens_mask=True)
        want, marked = np.array(out["input_ids"]), np.array(out["assistant_masks"])
        same = len(want) == len(ids) and (want == ids).all()
        if same:
            line_feed = want == tokenizer.convert_tokens_to_ids("Ċ")
            same = ((mask == 1) == without_line_feeds(marked == 1, line_feed)).all()
        bad += not same or own.apply_chat_template(messages, return_dict=True)["input_ids"] != list(ids)
        n, predicted = n + len(ids), predicted + int((mask == 1).sum())
    print(f"{name}, {theirs}: {len(talks)} conversations, {n} tokens, {predicted} predicted, {bad} differ: "
          f"{'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(*t) for t in TEMPLATES] + [refused(t) for t in OTHERS]))
