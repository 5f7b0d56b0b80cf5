/*
 * real: the precision that a file of lib/gpt is compiled for, float32 or double, and the names
 * that belong to it.  Include this last.
 */
#ifndef TG_GPT_REAL_H
#define TG_GPT_REAL_H

#include "lib/gpt/acts.h"
#include "lib/gpt/family.h"

#if TG_REAL == 64
typedef double real;
#include "lib/gpt/names64.h"
#else
typedef float real;
#endif

#endif
