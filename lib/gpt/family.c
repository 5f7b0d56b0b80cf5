#include "lib/gpt/family.h"

const tg_family *tg_config_family(const tg_config *config)
{
    return tg_families[config->family];
}
