#include "lib/tokens/chunk.h"

#include <stdio.h>

void tg_chunk_name(char name[TG_CHUNK_NAME_SIZE], size_t number)
{
    snprintf(name, TG_CHUNK_NAME_SIZE, "tokens/%08zu", number);
}
