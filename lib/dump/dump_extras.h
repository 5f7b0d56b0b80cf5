/*
 * dump_extras: the arrays of a dump that are no stages: what attention is multiplied with and rotated by,
 * what follows the layers, and the gradient.  Row-major; Q = H*D; N is a layer's number, K the number of
 * tokens that are kept at each position.
 *
 *     h.N.w_proj [Q,C]          the output projection, as the model has it: out = att w_proj + b_proj;
 *     h.N.w_proj_t [C,Q]        or transposed
 *     h.N.b_proj [C]            its bias
 *     h.N.out_norm [C]          the gain of the RMS norm that out goes through before it is added, where the
 *                               model has one, and
 *     h.N.out_norm_eps          its epsilon
 *     h.N.frequency [d/2]       of the rotation of q and k, in radians for each position: of channels m and
 *                               m + d/2 of each head
 *     h.N.change [H]            how the mean loss of the text changes without each head (lib/heads/ablate.h)
 *     h.N.datt [B,T,Q]          the gradient of the loss of dump/target, by the weighted sums (gradient64.h)
 *     h.N.loss                  that loss
 *     dump/target               the token that is predicted after the text
 *     next/vocab_size           V of the logits [T,V], of which these are the K largest of each position, the
 *     next/ids [T,K]            largest first,
 *     next/text [T,K]           their tokens' texts
 *     next/logits [T,K]
 *     next/sum [T]              and the logarithm of the sum of exp(logit), over all V
 *
 * All may be missing.
 */
#ifndef TG_DUMP_EXTRAS_H
#define TG_DUMP_EXTRAS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/tg/array.h"
#include "lib/attn/attn.h"

/* Those of layers, then those of the dump: constant, name, kind and bytes of an element, 0: any; dimensions,
 * none for a single number and "*" for what the array itself says. */
#define TG_DUMP_EXTRA_TABLE(ROW)                                                                             \
    ROW(TG_DUMP_W_PROJ, "w_proj", 'f', 4, "QC")                                                              \
    ROW(TG_DUMP_W_PROJ_T, "w_proj_t", 'f', 4, "CQ")                                                          \
    ROW(TG_DUMP_B_PROJ, "b_proj", 'f', 4, "C")                                                               \
    ROW(TG_DUMP_OUT_NORM, "out_norm", 'f', 4, "C")                                                           \
    ROW(TG_DUMP_OUT_NORM_EPS, "out_norm_eps", 'f', 8, "")                                                    \
    ROW(TG_DUMP_FREQUENCY, "frequency", 'f', 8, "*")                                                         \
    ROW(TG_DUMP_CHANGE, "change", 'f', 8, "H")                                                               \
    ROW(TG_DUMP_DATT, "datt", 'f', 8, "BTQ")                                                                 \
    ROW(TG_DUMP_LOSS, "loss", 'f', 8, "")                                                                    \
    ROW(TG_DUMP_TARGET, "dump/target", 'i', 8, "")                                                           \
    ROW(TG_DUMP_NEXT_VOCAB, "next/vocab_size", 'i', 8, "")                                                   \
    ROW(TG_DUMP_NEXT_IDS, "next/ids", 'i', 8, "T*")                                                          \
    ROW(TG_DUMP_NEXT_TEXT, "next/text", 'S', 0, "T*")                                                        \
    ROW(TG_DUMP_NEXT_LOGITS, "next/logits", 'f', 4, "T*")                                                    \
    ROW(TG_DUMP_NEXT_SUM, "next/sum", 'f', 8, "T")

#define TG_DUMP_NAME_SIZE 40 /* of an array's name, with NUL */

#define TG_DUMP_EXTRA_CONSTANT(constant, name, kind, size, dims) constant,

typedef enum tg_dump_extra { TG_DUMP_EXTRA_TABLE(TG_DUMP_EXTRA_CONSTANT) TG_DUMP_EXTRA_COUNT } tg_dump_extra;
#define TG_DUMP_LAYER_EXTRAS TG_DUMP_TARGET /* their number: those before it are of layers */

/* One that was read; data NULL: it is not in the archive, or not wanted. */
typedef struct tg_dump_extra_array {
    const void *data;
    size_t count, size; /* elements; bytes of each */
    void *owned;        /* a copy, where data could not be used in place */
} tg_dump_extra_array;

#define TG_DUMP_NEXT_TEXT_SIZE 64 /* bytes of a text that tg writes; a longer one is cut */

/* Its name: "w_proj", of layers after "h.N."; and all of it, "h.0.w_proj". */
const char *tg_dump_extra_name(tg_dump_extra extra);
void tg_dump_extra_array_name(char name[TG_DUMP_NAME_SIZE], size_t layer, tg_dump_extra extra);
tg_dtype tg_dump_extra_type(tg_dump_extra extra);

/* Find the extra of this name, among those of layers or of the dump; false: it is none of them. */
bool tg_dump_extra_find(tg_dump_extra *extra, const char *name, bool of_layer);

/* The shape of one, which has at most 3 dimensions, in a dump of this shape; 0 for "*".  Returns their
 * number. */
size_t tg_dump_extra_shape(size_t shape[3], tg_dump_extra extra, const tg_qkv_view *view);

#endif
