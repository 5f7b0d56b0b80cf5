#include "lib/models/gguf_names.h"

static const tg_name rows[] = {
    {.pattern = "token_embd.weight", .kind = TG_WTE},
    {.pattern = "position_embd.weight", .kind = TG_WPE},
    {.pattern = "blk.N.attn_norm.weight", .kind = TG_LN1_W},
    {.pattern = "blk.N.attn_norm.bias", .kind = TG_LN1_B},
    {.pattern = "blk.N.attn_qkv.weight", .kind = TG_QKV_W},
    {.pattern = "blk.N.attn_qkv.bias", .kind = TG_QKV_B},
    {.pattern = "blk.N.attn_output.weight", .kind = TG_ATT_PROJ_W},
    {.pattern = "blk.N.attn_output.bias", .kind = TG_ATT_PROJ_B},
    {.pattern = "blk.N.ffn_norm.weight", .kind = TG_LN2_W},
    {.pattern = "blk.N.ffn_norm.bias", .kind = TG_LN2_B},
    {.pattern = "blk.N.ffn_up.weight", .kind = TG_FC_W},
    {.pattern = "blk.N.ffn_up.bias", .kind = TG_FC_B},
    {.pattern = "blk.N.ffn_down.weight", .kind = TG_FC_PROJ_W},
    {.pattern = "blk.N.ffn_down.bias", .kind = TG_FC_PROJ_B},
    {.pattern = "output_norm.weight", .kind = TG_LNF_W},
    {.pattern = "output_norm.bias", .kind = TG_LNF_B},
    {.pattern = "output.weight", .kind = TG_HEAD_W},
    {.pattern = "blk.N.attn_q.weight", .kind = TG_QKV_W, .part = TG_NAME_Q},
    {.pattern = "blk.N.attn_k.weight", .kind = TG_QKV_W, .part = TG_NAME_K},
    {.pattern = "blk.N.attn_v.weight", .kind = TG_QKV_W, .part = TG_NAME_V},
    {.pattern = "blk.N.attn_q.bias", .kind = TG_QKV_B, .part = TG_NAME_Q},
    {.pattern = "blk.N.attn_k.bias", .kind = TG_QKV_B, .part = TG_NAME_K},
    {.pattern = "blk.N.attn_v.bias", .kind = TG_QKV_B, .part = TG_NAME_V},
};

const tg_names tg_names_gguf = {
    .what = "GPT-2", .row = rows, .n = sizeof rows / sizeof *rows, .layout = TG_LAYOUT_OUT_IN};
