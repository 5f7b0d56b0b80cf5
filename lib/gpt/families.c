#include "lib/gpt/family.h"

const tg_family *const tg_families[] = {&tg_gpt2};
const char tg_family_names[] = "gpt2";
