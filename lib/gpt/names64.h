/*
 * names64: the names under which float32 source is also compiled in double precision.
 * No include guard: the first inclusion defines the macros, the second undefines them.
 */
#ifndef tg_acts
#define tg_acts tg_acts64
#define tg_acts_place tg_acts64_place
#define tg_block_acts tg_block_acts64
#define tg_steps tg_steps64
#define tg_gpt2_steps tg_gpt2_steps64
#define tg_row_stats tg_row_stats64
#define tg_layernorm_forward tg_layernorm64_forward
#define tg_layernorm_backward tg_layernorm64_backward
#define tg_layernorm_recompute tg_layernorm64_recompute
#define tg_linear_forward tg_linear64_forward
#define tg_linear_gelu_forward tg_linear64_gelu_forward
#define tg_linear_backward tg_linear64_backward
#define tg_gelu_forward tg_gelu64_forward
#define tg_attention tg_attention64
#define tg_attention_scratch tg_attention64_scratch
#define tg_attention_forward tg_attention64_forward
#define tg_attention_backward tg_attention64_backward
#define tg_zero tg_zero64
#define tg_residual_forward tg_residual64_forward
#define tg_residual_backward tg_residual64_backward
#define tg_residual_after_gelu_backward tg_residual64_after_gelu_backward
#else
#undef tg_acts
#undef tg_acts_place
#undef tg_block_acts
#undef tg_steps
#undef tg_gpt2_steps
#undef tg_row_stats
#undef tg_layernorm_forward
#undef tg_layernorm_backward
#undef tg_layernorm_recompute
#undef tg_linear_forward
#undef tg_linear_gelu_forward
#undef tg_linear_backward
#undef tg_gelu_forward
#undef tg_attention
#undef tg_attention_scratch
#undef tg_attention_forward
#undef tg_attention_backward
#undef tg_zero
#undef tg_residual_forward
#undef tg_residual_backward
#undef tg_residual_after_gelu_backward
#endif
