/*
 * bodies: small models of the families that a dump or a trace can show: 2 layers, bytes as tokens, no number
 * near zero.
 */
#ifndef TG_TESTS_BODIES_H
#define TG_TESTS_BODIES_H

#include "lib/gpt/model.h"

#define BODIES 9
const char *body_name(size_t i);
void body_create(tg_model *m, size_t i);

#endif
