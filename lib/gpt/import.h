/*
 * import: other projects' names and layouts of GPT-2's tensors.
 *
 * A table says for each source which names its tensors have, which parameter each one is,
 * and whether the source keeps it transposed ([out,in] where this library has [in,out]).
 * The tensors come from any container (formats/tensors.h).  No tool uses this yet: it is
 * what a converter, or -m with a foreign checkpoint, will be made of; the config and the
 * tokenizer, which no tensor tells, are for those to find.  Everything is copied; foreign
 * tensors that could stay mapped as they are do not.
 *
 *     tg_model_begin(&m, &config, tokenizer, &err)
 *     tg_import_tensors(&m, &tensors, TG_IMPORT_NANOGPT, &err)     once per file
 *     tg_model_check_complete(&m, &err)
 */
#ifndef TG_GPT_IMPORT_H
#define TG_GPT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/tensors.h"
#include "lib/base/status.h"
#include "lib/gpt/model.h"
#include "lib/gpt/params.h"

typedef enum tg_import_source {
    TG_IMPORT_HUGGING_FACE, /* GPT2LMHeadModel and GPT2Model: linear weights are [in,out] */
    TG_IMPORT_NANOGPT,      /* nanoGPT and minGPT: the same names, linear weights are [out,in] */
    TG_IMPORT_SOURCES
} tg_import_source;

/* What a foreign tensor is. */
typedef struct tg_import_target {
    const tg_param *param; /* NULL: no parameter (a mask), to be skipped */
    bool transposed;       /* the source has the transpose */
} tg_import_target;

/*
 * Look up a foreign name.  Any of the prefixes "transformer.", "_orig_mod.", "module." may
 * come before it.  lm_head.weight of a model whose head is tied is wte.weight.
 * TG_EDATA: the source has no such tensor, or the table no such parameter or layer.
 */
TG_MUST_CHECK tg_status tg_import_find(tg_import_target *target, const tg_params *table,
                                       tg_import_source source, const char *name, tg_err *err);

/*
 * Copy a tensor of type f4, f2 or bfloat16 into out [rows,columns], as float32, exactly.
 *
 *   in   [rows,columns], or [columns,rows] when it is transposed; any alignment
 *
 * out and in do not overlap.  Tile by tile, with all threads.
 */
void tg_import_copy(float *out, const void *in, tg_dtype dtype, size_t rows, size_t columns, bool transposed);

/*
 * Read all tensors of `t` into m, which tg_model_begin() has prepared.  May be called for
 * several files, one after another.  A parameter may come twice (tied weights often do) if
 * its values are the same.
 * TG_EDATA: a name, shape or type that does not fit, a value that is not finite, a second
 * tensor with other values, or what tg_tensors_next() says.  TG_EIO, TG_ENOMEM.
 * After a failure m is to be freed.  t stays the caller's, to close.
 */
TG_MUST_CHECK tg_status tg_import_tensors(tg_model *m, tg_tensors *t, tg_import_source source, tg_err *err);

#endif
