/* train_speed: how fast this machine multiplies, which says what fits into some minutes. */
#ifndef TG_CMD_TRAIN_SPEED_H
#define TG_CMD_TRAIN_SPEED_H

#include "lib/base/status.h"

/* Floating-point operations a second in products of a small model's size, with all threads, in the precision
 * that is fast here (lib/train/recipe.h).  Takes a twentieth of a second.  TG_ENOMEM. */
TG_MUST_CHECK tg_status train_speed(double *per_second, tg_err *err);

#endif
