/*
 * names16: the names under which source on float32 activations is also compiled on bf16 ones
 * (lib/nn/ops16.h).  Include this last, after the headers that declare both.
 */
#define tg_layernorm_forward tg_layernorm16_forward
#define tg_layernorm_recompute tg_layernorm16_recompute
#define tg_linear_forward tg_linear16_forward
#define tg_linear_gelu_forward tg_linear16_gelu_forward
#define tg_linear_backward tg_linear16_backward
#define tg_gelu_forward tg_gelu16_forward
#define tg_attention_place tg_attention16_place
#define tg_attention_forward tg_attention16_forward
#define tg_attention_backward tg_attention16_backward
#define tg_residual_forward tg_residual16_forward
#define tg_residual_backward tg_residual16_backward
#define tg_residual_after_gelu_backward tg_residual16_after_gelu_backward
#define tg_head_loss tg_head16_loss
