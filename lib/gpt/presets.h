/*
 * presets: the shapes of known models, and of small ones of each kind, by name.
 */
#ifndef TG_GPT_PRESETS_H
#define TG_GPT_PRESETS_H

#include "lib/base/api.h"
#include "lib/gpt/config.h"

TG_API_BEGIN

/* The presets' names, "tinygpt|baby|gpt2|..."; the config of number i in that list; its name, NULL when the
 * list has no number i. */
const char *tg_config_presets(void);
tg_config tg_config_preset(size_t i);
const char *tg_config_preset_name(size_t i);
#define TG_PRESET_DEFAULT 1 /* baby */

/*
 * Give members that are 0, of those that the family has, the value that follows from the others: n_kv_head
 * that of n_head; head_dim C / H; n_inner 4 C; what scales a rotation 1; embed_scale 1, but sqrt(C) where
 * norms have an offset; a window every layer, where it has none.  H is not 0.
 */
void tg_config_derive(tg_config *config);

TG_API_END

#endif
