#!/usr/bin/env python3
"""What is put before a text: tg's ids against those of transformers.

    bos.py BIN TEXT FILE    BIN: the directory of the tools; TEXT: what a vocabulary is trained on
                            FILE: tokenizer.json, or tokenizer.model, which transformers reads with protobuf

Each case is a directory of a random Llama with this file and other settings; its ids must be those of AutoTokenizer.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

import sentencepiece  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

PIECES = 500
TEXTS = ["Hello world", " Hello  world", "a", "\n", "  ", "To be, or not to be", "caf\u00e9 \u4e2d"]


def template(*parts):
    """A TemplateProcessing of special tokens and A, the text."""
    special = {"<s>": 1, "</s>": 2}
    single = [{"Sequence": {"id": "A", "type_id": 0}} if p == "A" else {"SpecialToken": {"id": p, "type_id": 0}}
              for p in parts]
    return {"type": "TemplateProcessing", "single": single, "pair": single + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {p: {"id": p, "ids": [special[p]], "tokens": [p]} for p in parts if p != "A"}}


POSTS = {
    "no post-processor": None,
    "a template without tokens": template("A"),
    "<s>": template("<s>", "A"),
    "</s>": template("</s>", "A"),
    "<s> in a sequence": {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}, template("<s>", "A")]},
}
SETTINGS = [{}, {"add_bos_token": True}, {"add_bos_token": False}, {"add_bos_token": True, "bos_token": "<s>"},
            {"add_bos_token": True, "bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": False,
                                                  "normalized": False, "rstrip": False, "single_word": False}}]


def tokenizer_json(processor, post):
    vocab = {processor.id_to_piece(i): i for i in range(PIECES)}
    merges = sorted((-processor.get_score(vocab[piece]), i, [piece[:i], piece[i:]]) for piece in vocab if vocab[piece] > 258
                    for i in range(1, len(piece)) if piece[:i] in vocab and piece[i:] in vocab)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": processor.id_to_piece(i), "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True} for i in range(3)],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        "pre_tokenizer": None, "post_processor": post, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                  "vocab": vocab, "merges": [pair for _, _, pair in merges]}}


def check(name, tools, where, texts=TEXTS):
    judge = transformers.AutoTokenizer.from_pretrained(where)
    for text in texts:
        out = subprocess.run([os.path.join(tools, "tg-attn-dump"), "-q", "-m", where, "-p", text, "--pieces", "-f", "tsv",
                              "--no-header"], check=True, stdout=subprocess.PIPE).stdout
        got = [int(line.split(b"\t")[1]) for line in out.splitlines()]
        want = judge(text).input_ids
        if got != want:
            sys.exit(f"{name}: {text!r}: {got}, not {want}")
    print(f"{name}: the same ids")


def check_json(tools, where, model_file):
    processor = sentencepiece.SentencePieceProcessor(model_file=model_file)
    for name, post in POSTS.items():
        for settings in [{"add_bos_token": True}, {"add_bos_token": False}]:  # which has no effect
            with open(os.path.join(where, "tokenizer.json"), "w") as f:
                json.dump(tokenizer_json(processor, post), f)
            with open(os.path.join(where, "tokenizer_config.json"), "w") as f:
                json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", **settings}, f)
            check(f"{name}, {settings}", tools, where)


def check_model(tools, where, model_file):
    shutil.copy(model_file, os.path.join(where, "tokenizer.model"))
    for settings in SETTINGS:
        with open(os.path.join(where, "tokenizer_config.json"), "w") as f:
            json.dump({"tokenizer_class": "LlamaTokenizer", **settings}, f)
        # transformers' LlamaTokenizer puts no space before a space, where sentencepiece does
        check(f"tokenizer.model, {settings}", tools, where, [text for text in TEXTS if text[0] != " "])


def check_written(tools, corpus, where):
    """What tg-convert writes of a model that puts a token before each text; two texts have it each."""
    model, vocab, post = [os.path.join(where, name) for name in ("model.npz", "bpe.json", "hf/tokenizer.json")]
    hf, back = os.path.join(where, "hf"), os.path.join(where, "back")
    for command in (["bpe", "-n", "300", "-o", vocab, corpus],
                    ["init", "-P", "baby-llama", "--n-layer", "1", "--n-embd", "16", "-t", vocab, "-o", model],
                    ["convert", model, "--to", "hf", "-o", hf]):
        subprocess.run([os.path.join(tools, "tg-" + command[0]), "-q", *command[1:]], check=True)
    with open(post) as f:
        tokenizer = json.load(f)
    end = tokenizer["added_tokens"][0]
    tokenizer["post_processor"] = template("A")
    tokenizer["post_processor"]["single"].insert(0, {"SpecialToken": {"id": end["content"], "type_id": 0}})
    tokenizer["post_processor"]["special_tokens"][end["content"]] = {
        "id": end["content"], "ids": [end["id"]], "tokens": [end["content"]]}
    with open(post, "w") as f:
        json.dump(tokenizer, f)
    subprocess.run([os.path.join(tools, "tg-convert"), "-q", hf, "--to", "hf", "-o", back], check=True)
    check_pair("written", tools, back)


def check_pair(name, tools, where):
    with open(os.path.join(where, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast"}, f)
    check(name, tools, where)
    judge = transformers.AutoTokenizer.from_pretrained(where)
    if judge("a", "b").input_ids != judge("a").input_ids + judge("b").input_ids:
        sys.exit(f"{name}: two texts are {judge('a', 'b').input_ids}")


def check_written_spm(tools, hf, temporary):
    """Likewise of SentencePiece's kind, from a model whose tokenizer.json begins texts with <s>."""
    back = os.path.join(temporary, "written-spm")
    subprocess.run([os.path.join(tools, "tg-convert"), "-q", hf, "--to", "hf", "-o", back], check=True)
    check_pair("written, SentencePiece's", tools, back)


def main():
    tools, corpus, file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        where = os.path.join(temporary, "hf")
        prefix = os.path.join(temporary, "spm")
        if file == "tokenizer.json":
            os.mkdir(os.path.join(temporary, "written"))
            check_written(tools, corpus, os.path.join(temporary, "written"))
        sentencepiece.SentencePieceTrainer.train(
            input=corpus, model_prefix=prefix, model_type="bpe", minloglevel=2, remove_extra_whitespaces=False,
            normalization_rule_name="identity", vocab_size=PIECES, byte_fallback=True)
        torch.manual_seed(1)
        transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=PIECES, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=2)).save_pretrained(where)
        {"tokenizer.json": check_json, "tokenizer.model": check_model}[file](tools, where, prefix + ".model")
        if file == "tokenizer.json":
            check_written_spm(tools, where, temporary)


main()
