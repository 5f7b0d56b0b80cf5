/* A family's steps, for targets that read models and run no pass. */
#include "lib/gpt/family.h"

const tg_steps tg_gpt2_steps, tg_gpt2_steps16;
const tg_steps64 tg_gpt2_steps64;
