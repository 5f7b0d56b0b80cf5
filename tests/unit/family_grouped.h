/*
 * family_grouped: a family of models, which only tests have, with what GPT-2's lacks: RMSNorm, positions by
 * rotation, heads of queries that share keys, heads whose width is not C/H, and a gated MLP.
 *
 * All of it is in tests/unit/family_grouped.c; nothing in lib/ knows of it.
 */
#ifndef TG_TESTS_FAMILY_GROUPED_H
#define TG_TESTS_FAMILY_GROUPED_H

#include "lib/gpt/family.h"

extern const tg_family family_grouped;
extern const tg_page family_grouped_page;

#endif
