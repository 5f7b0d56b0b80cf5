#include "lib/gpt/family.h"

const tg_family *const tg_families[] = {&tg_gpt2,  &tg_llama,  &tg_qwen2,    &tg_qwen3,
                                        &tg_gemma, &tg_gemma2, &tg_gemma3,   &tg_olmo2,
                                        &tg_neox,  &tg_phi3,   &tg_stablelm, &tg_nanochat};
const char tg_family_names[] =
    "gpt2|llama|qwen2|qwen3|gemma|gemma2|gemma3|olmo2|gpt_neox|phi3|stablelm|nanochat";
