/*
 * ref_muon: what Muon makes of a matrix (lib/gpt/muon.h), in double precision.
 */
#ifndef TG_TESTS_REF_MUON_H
#define TG_TESTS_REF_MUON_H

#include <stddef.h>

/* o [rows,cols] from u [rows,cols]. */
void ref_muon_orthogonal(double *o, const double *u, size_t rows, size_t cols);

#endif
