#include "lib/gpt/family.h"

const tg_page *const tg_pages[] = {&tg_gpt2_page};
