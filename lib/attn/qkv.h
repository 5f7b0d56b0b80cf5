/*
 * qkv: q, k and v as arrays from any .npz.
 */
#ifndef TG_ATTN_QKV_H
#define TG_ATTN_QKV_H

#include "lib/attn/attn.h"

typedef struct tg_attn_qkv {
    tg_qkv_view view; /* H = 1 until tg_attn_set_heads() */
    float *data[3];   /* q, k, v [B,T,C]; owned */
} tg_attn_qkv;

/*
 * Read one archive from fd with arrays q, k and v of one shape [B,T,C], '<f4' or '<f8' (rounded
 * to float32); other arrays are skipped.
 * TG_EDATA: an array is missing, has another shape or type, or has an element that is not finite
 * as float32; anything that formats/archive.h refuses.  TG_EIO, TG_ENOMEM.  After a failure
 * there is nothing to free.
 */
TG_MUST_CHECK tg_status tg_attn_qkv_read(tg_attn_qkv *qkv, int fd, tg_err *err);
void tg_attn_qkv_free(tg_attn_qkv *qkv);

/* Divide the channels into H heads.  TG_EUSAGE: H does not divide C. */
TG_MUST_CHECK tg_status tg_attn_set_heads(tg_qkv_view *view, size_t H, tg_err *err);

#endif
