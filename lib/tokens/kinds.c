#include "lib/tokens/kinds.h"

#include "lib/bpe/bpe_state.h"
#include "lib/spm/spm_state.h"

const tg_tokenizer_kind *const tg_tokenizer_kinds[] = {&tg_tokenizer_kind_bytes, &tg_tokenizer_kind_char,
                                                       &tg_tokenizer_kind_bpe,   &tg_tokenizer_kind_spm,
                                                       &tg_tokenizer_kind_ids,   NULL};
