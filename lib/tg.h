/*
 * tg: train, inspect and sample small language models on a CPU.
 *
 * What programs use: these headers.  The rest of the library is internal.  What can fail returns a tg_status
 * and fills the caller's tg_err.  tg_X_new() makes an object, which allocates its memory once, and
 * tg_X_destroy() frees it.  Nothing prints or exits, and nothing keeps state between calls, except for the
 * instruction set and the threads in use (lib/tg/machine.h).  An object is used by one thread at a time,
 * unless its header says otherwise; the library's own threads share the work.
 *
 *     #include <tg.h>
 *     cc program.c $(pkg-config --cflags --libs tg)
 *
 * docs/examples/heads.c is a whole program: it loads a model and prints the attention of a head; next.py is
 * one in Python. tests/unit/test_program.c, in the sources, uses everything.  From C++ the headers are
 * included as they are.
 *
 * The shared library exports what these headers declare, and nothing else.  There is no stable ABI before
 * version 1: objects are opaque, but any version may change the plain structs.  Compile a program again with
 * each version, or link it with libtg.a, which has no such dependency.
 */
#ifndef TG_H
#define TG_H

/* instruction set and threads */
#include "lib/tg/machine.h"

/* files: arrays in archives (.npz); text as ids of tokens, all at once or as a stream; conversations */
#include "lib/tg/archive.h"
#include "lib/tg/chat.h"
#include "lib/tg/tokenizer.h"
#include "lib/tg/tokens.h"

/* models of any project: their logits and losses, text from them, training */
#include "lib/tg/eval.h"
#include "lib/tg/infer.h"
#include "lib/tg/model.h"
#include "lib/tg/pass.h"
#include "lib/tg/train.h"

/* attention: scores, their derivation, heads, dumps */
#include "lib/tg/ablate.h"
#include "lib/tg/attention.h"
#include "lib/tg/dump.h"

#endif
