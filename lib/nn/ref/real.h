/*
 * real: the reference operations are written once and compiled twice, with real =
 * float (tg_NAME_ref) and real = double (tg_NAME_ref64, for central differences).
 */
#ifndef TG_NN_REF_REAL_H
#define TG_NN_REF_REAL_H

#include <tgmath.h>

#include "lib/nn/ref/ref.h" /* first: it defines real and REF itself, then undefines them */

#if TG_REAL == 64
typedef double real;
#define REF(name) tg_##name##_ref64
#else
typedef float real;
#define REF(name) tg_##name##_ref
#endif

#endif
