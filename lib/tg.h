/*
 * tg: train, inspect and sample small GPT models on a CPU.
 *
 * The whole library.  Everything follows three rules: what can fail returns a
 * tg_status and fills the caller's tg_err; memory is sized first and placed in an
 * arena, and afterwards nothing allocates; nothing prints, exits or keeps state
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

/* base: errors, memory, random numbers */
#include "lib/base/arena.h"
#include "lib/base/choice.h"
#include "lib/base/convert.h"
#include "lib/base/decimal.h"
#include "lib/base/finite.h"
#include "lib/base/matrix.h"
#include "lib/base/rng.h"
#include "lib/base/status.h"
#include "lib/base/team.h"
#include "lib/base/threads.h"
#include "lib/base/utf8.h"
#include "lib/base/watch.h"

/* formats: arrays, the archive (.npz), other files, descriptors as sources and sinks, saving */
#include "formats/archive.h"
#include "formats/array.h"
#include "formats/fields.h"
#include "formats/format.h"
#include "formats/json.h"
#include "formats/lock.h"
#include "formats/save.h"
#include "formats/sink.h"
#include "formats/source.h"
#include "formats/stamp.h"
#include "formats/tensor_list.h"

/* kernels: which instruction set is used */
#include "lib/kernels/kernels.h"
#include "lib/kernels/text_kernels.h"

/* nn: operations forward and backward; lib/nn/ref/ref.h has the references */
#include "lib/nn/attention.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/dropout.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/embedding.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"
#include "lib/nn/ops.h"
#include "lib/nn/ops16.h"
#include "lib/nn/ops64.h"
#include "lib/nn/ref/ref.h"
#include "lib/nn/residual.h"
#include "lib/nn/slice.h"
#include "lib/nn/tensor.h"

/* text and gpt: tokenizers, the model, its passes, decoding */
#include "lib/gpt/adamw.h"
#include "lib/gpt/config.h"
#include "lib/gpt/family.h"
#include "lib/gpt/gradient64.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/layers.h"
#include "lib/gpt/model.h"
#include "lib/gpt/params.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/sample.h"
#include "lib/bpe/bpe.h"
#include "lib/text/bare_ids.h"
#include "lib/text/chars.h"
#include "lib/text/encoder.h"
#include "lib/text/ids.h"
#include "lib/learn/learn.h"
#include "lib/text/parallel.h"
#include "lib/text/tokenizer.h"
#include "lib/tokens/stream.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens.h"
#include "lib/tokens/tokens_read.h"
#include "lib/tokens/tokens_write.h"
#include "lib/tokens/window_map.h"
#include "lib/tokens/windows.h"
#include "lib/vocab/vocab_file.h"
#include "lib/learn/vocab_learner.h"

/* models: a model from its file, whichever project wrote it; our own, read and written */
#include "lib/models/model_archive.h"
#include "lib/models/model_open.h"

/* train: runs */
#include "lib/train/batches.h"
#include "lib/train/history.h"
#include "lib/train/recipe.h"
#include "lib/train/reduction.h"
#include "lib/train/run.h"
#include "lib/train/settings.h"
#include "lib/train/partition.h"
#include "lib/train/trainer.h"
#include "lib/train/tree_sum.h"

/* eval: how well a model predicts a text */
#include "lib/eval/eval.h"
#include "lib/eval/score.h"

/* info: the contents of a file */
#include "lib/info/info.h"
#include "lib/info/stats.h"

/* attn, dump and heads: what tg-attn-dump and tg-attn-view show */
#include "lib/attn/attn.h"
#include "lib/attn/derivation.h"
#include "lib/attn/layers.h"
#include "lib/attn/panel.h"
#include "lib/attn/qkv.h"
#include "lib/attn/shape.h"
#include "lib/attn/stage.h"
#include "lib/attn/trace.h"
#include "lib/dump/dump_check.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_rows.h"
#include "lib/dump/dump_write.h"
#include "lib/heads/ablate.h"
#include "lib/heads/head_stats.h"
#include "lib/heads/probe.h"

#endif
