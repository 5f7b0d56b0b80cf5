/*
 * eigen: the eigenvalues of a real matrix without symmetry.
 *
 * The matrix is reduced to Hessenberg form by reflections; then QR steps with two shifts at once, those of
 * the last 2 x 2 block, split off one real or two conjugate eigenvalues after another.  Orthogonal
 * transformations only: the results are those of a matrix that differs by rounding, norm * 2^-53 * a small
 * multiple of n.
 * Source: Francis 1961, "The QR transformation"; Golub and Van Loan, Matrix Computations, chapter 7.
 */
#ifndef TG_CIRCUIT_EIGEN_H
#define TG_CIRCUIT_EIGEN_H

#include <stdbool.h>
#include <stddef.h>

/* The eigenvalues re + i im [n] of a [n,n], which is overwritten, in no order; conjugates are neighbours.
 * Time 10 n^3.  False: a value is not finite, or steps do not converge, which finite values never showed. */
bool tg_eigenvalues(double *re, double *im, double *a, size_t n);

#endif
