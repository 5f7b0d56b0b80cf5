/*
 * tg: train, inspect and sample small language models on a CPU.
 *
 * What programs use: these headers, and those that they include.  The rest of the library is internal.
 * Everything follows three rules: what can fail returns a tg_status and fills the caller's tg_err; memory is
 * sized first and placed in an arena, and afterwards nothing allocates; nothing prints, exits or keeps state
 * between calls.  docs/architecture.md shows how the parts depend on each other.
 *
 *     #include <tg.h>
 *     cc program.c $(pkg-config --cflags --libs tg)
 *
 * docs/examples/heads.c is a whole program: it opens a model and prints the attention of a head.  From C++
 * the headers are included as they are.
 *
 * The shared library exports what these headers declare, and nothing else.  There is no stable ABI before
 * version 1: structs are public, so that any version may change their sizes.  Compile a program again with
 * each version, or link it with libtg.a, which has no such dependency.
 */
#ifndef TG_H
#define TG_H

/* instruction sets and threads */
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

/* files: arrays in archives (.npz), models of any project, tokenizers and vocabularies */
#include "formats/archive.h"
#include "lib/models/chat_template.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_open.h"
#include "lib/vocab/vocab_file.h"

/* text as ids of tokens, all at once or as a stream; conversations */
#include "lib/text/chat.h"
#include "lib/tokens/stream.h"
#include "lib/tokens/tokens_write.h"

/* a model's shape and passes, on a batch or token by token, and text from it */
#include "lib/gpt/infer.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/presets.h"
#include "lib/gpt/sample.h"

/* training, and how well a model predicts a text */
#include "lib/eval/eval.h"
#include "lib/gpt/freeze.h"
#include "lib/train/plan.h"
#include "lib/train/trainer.h"

/* attention: scores, their derivation, heads, dumps */
#include "lib/attn/derivation.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_write.h"
#include "lib/heads/ablate.h"

#endif
