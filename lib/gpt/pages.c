#include "lib/gpt/family.h"

/* In the order of tg_families. */
const tg_page *const tg_pages[] = {
    &tg_gpt2_page,                                                        /* gpt2 */
    &tg_llama_page,    &tg_llama_page,    &tg_llama_page, &tg_llama_page, /* llama, qwen2, qwen3, gemma */
    &tg_gemma_page,    &tg_gemma_page,    &tg_gemma_page,                 /* gemma2, gemma3, olmo2 */
    &tg_neox_page,                                                        /* gpt_neox */
    &tg_llama_page,                                                       /* phi3 */
    &tg_stablelm_page, &tg_nanochat_page,                                 /* stablelm, nanochat */
};
