/* log: what tg-train --log writes and tg-info reads: tab-separated values, the first line with titles. */
#ifndef TG_INFO_LOG_H
#define TG_INFO_LOG_H

#define TG_LOG_TITLES "step\tloss\tval_loss\t" /* of the columns that are read; others follow */
#define TG_LOG_STEP_MAX 1e12 /* TG_STEPS_MAX of lib/train/settings.h, as tests/unit/test_info.c checks */

#endif
