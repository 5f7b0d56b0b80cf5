#!/usr/bin/env python3
"""next: the tokens that a model would most likely write after a text, by the shared library alone.

    ./next.py model.npz 'To be'

A line each, the most probable one first: log-probability, id, text.  TG_LIBRARY: libtg.so elsewhere.
The structs below are those of lib/tg/status.h, tokenizer.h, model.h and eval.h, of one version (lib/tg.h).
"""
import ctypes
import os
import sys
from ctypes import byref, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_void_p


class Err(ctypes.Structure):
    _fields_ = [("code", c_int), ("sys", c_int), ("message", c_char * 512)]


class Prompt(ctypes.Structure):
    _fields_ = [("ids", ctypes.POINTER(c_int32)), ("n", c_size_t), ("begun", c_bool)]


class Shape(ctypes.Structure):
    _fields_ = [("family", c_char_p)] + [
        (name, c_size_t)
        for name in ("n_layer", "n_head", "n_kv_head", "head_dim", "n_embd", "n_inner", "n_ctx", "vocab_size")
    ]


class Score(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("max", "log_sum", "log_prob", "entropy")] + [("rank", c_size_t)]


tg = ctypes.CDLL(os.environ.get("TG_LIBRARY", "libtg.so.0"))
tg.tg_model_shape_of.restype = Shape
tg.tg_model_shape_of.argtypes = [c_void_p]
tg.tg_model_tokenizer.restype = c_void_p
tg.tg_model_tokenizer.argtypes = [c_void_p]
tg.tg_model_prompt.argtypes = [c_void_p, c_void_p, c_char_p, c_size_t, c_void_p]
tg.tg_infer_new.argtypes = [c_void_p, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p]
tg.tg_infer_run.argtypes = [c_void_p, c_void_p, c_size_t, c_void_p]
tg.tg_infer_destroy.argtypes = [c_void_p]
tg.tg_tokens_prompt_free.argtypes = [c_void_p]
tg.tg_model_destroy.argtypes = [c_void_p]
tg.tg_top_ids.argtypes = [c_void_p, c_size_t, c_void_p, c_size_t]
tg.tg_score_row.restype = Score
tg.tg_score_row.argtypes = [c_void_p, c_size_t, c_size_t, c_int32]
tg.tg_tokenizer_vocab_size.restype = c_size_t
tg.tg_tokenizer_vocab_size.argtypes = [c_void_p]
tg.tg_tokenizer_token.restype = c_void_p
tg.tg_tokenizer_token.argtypes = [c_void_p, c_int32, c_void_p]

err = Err()


def must(status):
    """End with the library's message if a call has failed."""
    if status != 0:
        sys.exit(f"next: {err.message.decode(errors='replace')}")


def print_next(model, text, count):
    tokenizer = tg.tg_model_tokenizer(model)
    shape = tg.tg_model_shape_of(model)
    prompt, infer = Prompt(), c_void_p()
    must(tg.tg_model_prompt(byref(prompt), model, text, len(text), byref(err)))
    if not 1 <= prompt.n <= shape.n_ctx:
        sys.exit(f"next: the text has {prompt.n} tokens: expected 1 to {shape.n_ctx}")
    must(tg.tg_infer_new(byref(infer), model, prompt.n, 0, 0, byref(err)))
    logits = (c_float * shape.vocab_size)()
    tg.tg_infer_run(infer, prompt.ids, prompt.n, logits)

    ids = tg.tg_tokenizer_vocab_size(tokenizer)
    best = (c_int32 * min(count, ids))()
    tg.tg_top_ids(best, len(best), logits, ids)
    for token in best:
        score = tg.tg_score_row(logits, shape.vocab_size, ids, token)
        n = c_size_t()
        at = tg.tg_tokenizer_token(tokenizer, token, byref(n))
        print(f"{score.log_prob:.6f}\t{token}\t{ctypes.string_at(at, n.value).decode(errors='replace')!r}")
    tg.tg_infer_destroy(infer)
    tg.tg_tokens_prompt_free(byref(prompt))


if len(sys.argv) != 3:
    sys.exit(__doc__)
model = c_void_p()
must(tg.tg_model_load(byref(model), os.fsencode(sys.argv[1]), byref(err)))
print_next(model, os.fsencode(sys.argv[2]), 5)
tg.tg_model_destroy(model)
