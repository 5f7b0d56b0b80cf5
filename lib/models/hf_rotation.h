/*
 * hf_rotation: how a config.json of Hugging Face's says that queries and keys are rotated.  Only for
 * hf_families.c.
 */
#ifndef TG_MODELS_HF_ROTATION_H
#define TG_MODELS_HF_ROTATION_H

#include "lib/models/hf_reading.h"

/* Read the base, which is `theta` if the config says nothing (0: 10000), that of layers with a window
 * (local_theta; 0: the family has none), and the scaling. */
void tg_hf_read_rotation(tg_hf_reading *r, double theta, double local_theta);

#endif
