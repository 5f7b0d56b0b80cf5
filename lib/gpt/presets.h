/*
 * presets: the shapes of known models, and of small ones of each kind, by name.
 */
#ifndef TG_GPT_PRESETS_H
#define TG_GPT_PRESETS_H

#include "lib/gpt/config.h"
#include "lib/tg/model.h"

/* The config of number i in the list of tg_config_presets(); its name, NULL when the list has no number i. */
tg_config tg_config_preset(size_t i);
const char *tg_config_preset_name(size_t i);
#define TG_PRESET_DEFAULT 1 /* baby */

#endif
