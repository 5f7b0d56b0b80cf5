/*
 * family: what distinguishes a family of models: its parameters, and the order of its
 * operations.
 *
 * A family is two files: its rows of parameters (lib/gpt/gpt2_params.c), and its steps forward
 * and backward (lib/gpt/gpt2.c), made of lib/nn's operations; lib/gpt/bind.c binds those to the
 * parameters.
 */
#ifndef TG_GPT_FAMILY_H
#define TG_GPT_FAMILY_H

#include "lib/base/api.h"
#include "lib/gpt/acts.h"
#include "lib/gpt/params.h"

TG_API_BEGIN

typedef struct tg_family {
    const char *name;        /* "gpt2" */
    const char *block;       /* "h": a block's parameters are named "h.0.ln_1.weight" */
    const tg_param_row *row; /* [n_rows] in the order of the file and of memory */
    size_t n_rows;
    const tg_act_row *act; /* [n_acts] what a block computes; a row that another overwrites comes first */
    size_t n_acts;
    const tg_steps *steps;
} tg_family;

extern const tg_family tg_gpt2;

/*
 * All families, GPT-2 first, and their names, "gpt2|other".  A program that has more of them defines both, as
 * lib/gpt/families.c does, which is then not linked.
 */
extern const tg_family *const tg_families[];
extern const char tg_family_names[];

const tg_family *tg_config_family(const tg_config *config);

TG_API_END

#endif
