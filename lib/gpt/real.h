/*
 * real: the precision that a file of lib/gpt is compiled for, and the names that belong to it.
 * Include this last.
 *
 *   TG_REAL=32   real is float, and so is what passes between products
 *   TG_REAL=64   both are double
 *   TG_REAL=16   real is float; what passes between products is bf16
 */
#ifndef TG_GPT_REAL_H
#define TG_GPT_REAL_H

#include "lib/gpt/acts.h"
#include "lib/gpt/family.h"
#include "lib/nn/ops16.h"

#if TG_REAL == 64
typedef double real;
typedef double act;
#include "lib/gpt/names64.h"
#else
typedef float real;
typedef void act;
#endif
#if TG_REAL == 16
#include "lib/nn/names16.h"
#define tg_gpt2_steps tg_gpt2_steps16
#endif

#endif
