/*
 * hf_rotation: how a config.json of Hugging Face's says that queries and keys are rotated.  Only for
 * hf_families.c.
 */
#ifndef TG_MODELS_HF_ROTATION_H
#define TG_MODELS_HF_ROTATION_H

#include "lib/models/hf_reading.h"

/* Read the base, a member called `base`, or `theta` if the config says nothing (0: 10000), that of layers
 * with a window (local_theta; 0: the family has none), and the scaling; and into *part how much of a head is
 * rotated, if these say it. */
void tg_hf_read_rotation(tg_hf_reading *r, const char *base, double theta, double local_theta, double *part);

#endif
