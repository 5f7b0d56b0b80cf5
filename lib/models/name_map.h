/*
 * name_map: a text file that says which tensors are which parameters.
 *
 *     # THEIRS             OURS                    [transposed]
 *     blocks.N.attn.W_qkv  h.N.attn.c_attn.weight  transposed
 *     blocks.N.attn.mask   -
 *
 * THEIRS is a tensor's name in the file, OURS a parameter's (lib/gpt/params.h), or h.N.attn.q_proj.weight and
 * the like for a third of c_attn; "-": the tensor is none.  N, between characters that are no letters or
 * digits, is the layer; both names have it, or neither.  "transposed": stored as [out,in].
 */
#ifndef TG_MODELS_NAME_MAP_H
#define TG_MODELS_NAME_MAP_H

#include "lib/base/status.h"
#include "lib/models/model_format.h"

typedef struct tg_name_map {
    tg_names names;
    tg_name *row; /* [names.n]; owned, like text */
    char *text;
} tg_name_map;

#ifndef TG_NAME_MAP_MAX                   /* tests/fuzz/limits.h */
#define TG_NAME_MAP_MAX ((size_t)1 << 20) /* bytes of the file */
#endif

/* Read the file.  TG_EDATA, with path and line; TG_EIO, TG_ENOMEM.  After a failure *map needs no free. */
TG_MUST_CHECK tg_status tg_name_map_read(tg_name_map *map, const char *path, tg_err *err);
void tg_name_map_free(tg_name_map *map);

#endif
