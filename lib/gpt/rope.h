/*
 * rope: the frequencies of rotation, from a config.
 *
 *   f_j = theta^(-2j/d)                            plain, for j < d/2, d being the channels that are rotated
 *   f_j / factor                                   linear
 *   f_j, f_j / factor, or between                  llama3, by the pair's turns within rope_ctx positions
 *
 * llama3, with turns = rope_ctx f_j / (2 pi): f_j where turns > high, f_j / factor where turns < low, else
 * (1 - s) f_j / factor + s f_j with s = (turns - low) / (high - low).
 * Sources: Su et al. 2021, arXiv:2104.09864; Chen et al. 2023, arXiv:2306.15595 (linear); Llama 3.1 (llama3).
 */
#ifndef TG_GPT_ROPE_H
#define TG_GPT_ROPE_H

#include "lib/gpt/acts.h"

/* f_j, in radians for each position; local: of layers with a window, where these have a base of their own. */
double tg_rope_frequency(const tg_config *config, bool local, size_t j);

/* Whether a layer has the local base. */
bool tg_rope_is_local(const tg_config *config, size_t layer);

/* The table of a layer. */
tg_matrix tg_rope_angles(const tg_acts *a, size_t layer);

/* Fill a->angles for the T tokens of a pass, unless it has them.  A family without rotation: nothing. */
void tg_rope_fill(tg_acts *a);

#endif
