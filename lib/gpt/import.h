/*
 * import: other projects' names and layouts of GPT-2's tensors.
 *
 * For each source, a table lists its tensors' names, the parameter that each one is, and
 * whether the source stores it transposed ([out,in] where this library has [in,out]).
 * The tensors come from any container (formats/tensors.h).  No tool uses this yet: it is
 * meant for a converter, or for -m with a foreign checkpoint, which must find the config
 * and the tokenizer elsewhere, since tensors do not tell them.  Every tensor is copied,
 * even one that could be used where it is mapped.
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
    const tg_param *param; /* NULL: not a parameter (a mask), skip it */
    bool transposed;       /* the source stores the transpose */
} tg_import_target;

/*
 * Look up a foreign name, with any of the prefixes "transformer.", "_orig_mod.", "module.".
 * In a model whose head is tied, lm_head.weight is wte.weight.
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
 * After a failure m can only be freed.  The caller closes t.
 */
TG_MUST_CHECK tg_status tg_import_tensors(tg_model *m, tg_tensors *t, tg_import_source source, tg_err *err);

#endif
