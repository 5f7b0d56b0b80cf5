/*
 * hf_layers: what a config.json of Hugging Face's says of single layers: which see a window of the keys, and
 * which do not rotate queries and keys.  Only for hf_families.c.
 */
#ifndef TG_MODELS_HF_LAYERS_H
#define TG_MODELS_HF_LAYERS_H

#include "lib/models/hf_reading.h"

/* Which layers have the window where "layer_types" is missing. */
typedef enum tg_hf_windows {
    TG_HF_NO_WINDOWS,
    TG_HF_ALL,       /* Mistral: all */
    TG_HF_LAST,      /* Qwen: if "use_sliding_window", from "max_window_layers" on */
    TG_HF_UNROTATED, /* SmolLM3: if "use_sliding_window", those without rotation */
    TG_HF_EVEN,      /* Gemma 2: 0, 2, 4 ... */
    TG_HF_MOST       /* Gemma 3: all but each sixth, or "sliding_window_pattern"th */
} tg_hf_windows;

/* Read the layers that do not rotate: SmolLM3's "no_rope_layers". */
void tg_hf_read_unrotated(tg_hf_reading *r);

/* Read the window, which is `otherwise` if the config says nothing (0: none), and the layers that have it.
 * One that is as long as the context is none, unless a layer's base depends on it.  After the rotation. */
void tg_hf_read_windows(tg_hf_reading *r, tg_hf_windows rule, size_t otherwise);

#endif
