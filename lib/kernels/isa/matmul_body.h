/*
 * matmul_body: how the matrix product is cut up and shared out; included by matmul.c,
 * matmul_bf16.c and matmul_amx.c, which define
 *
 *   DEPTH             how many k's a packed word (a float's four bytes) holds
 *   MR, NR            rows and columns of a tile
 *   ROUND             words of k are rounded up to a multiple of this
 *   pack_a, pack_b()  a panel of MR rows of A, of NR columns of B, words of k outermost
 *   tile()            a tile of C from two panels
 *
 * C is cut into blocks of MC x NC over KC of k.  The threads together pack the
 * block's A and B into panels, so that the tile's inner loop reads memory in order;
 * then they share out the tiles, columns outermost, so that a B panel stays in the
 * first-level cache while A panels stream past it from the second.
 *
 * The scheme is Goto's: Goto & van de Geijn 2008, "Anatomy of high-performance
 * matrix multiplication"; Van Zee & van de Geijn 2015, "BLIS".
 */

/* Words of k in a packed panel. */
INLINE size_t words_of(size_t kc)
{
    return tg_round_up(tg_ceil_div(kc, DEPTH), ROUND);
}

/* One block: rows i0.. of height mc, columns j0.. of width nc, k0.. of depth kc.
 * Called by all threads of the team. */
static void block(const tg_matmul *op, size_t i0, size_t mc, size_t j0, size_t nc, size_t k0, size_t kc,
                  bool b_is_new, float *a_panels, float *b_panels)
{
    const size_t rows = tg_ceil_div(mc, MR), columns = tg_ceil_div(nc, NR), words = words_of(kc);

    if (b_is_new) {
        #pragma omp for schedule(static) nowait
        for (size_t j = 0; j < columns; j++)
            pack_b(b_panels + j * NR * words, op->b + k0 * op->b_row + (j0 + j * NR) * op->b_col, op->b_col,
                 op->b_row, tg_size_min(NR, nc - j * NR), kc);
    }
    #pragma omp for schedule(static)
    for (size_t i = 0; i < rows; i++)
        pack_a(a_panels + i * MR * words, op->a + (i0 + i * MR) * op->a_row + k0 * op->a_col, op->a_row,
             op->a_col, tg_size_min(MR, mc - i * MR), kc);

    #pragma omp for schedule(static) collapse(2)
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++) {
            size_t at = (i0 + i * MR) * op->ldc + j0 + j * NR;
            struct epilogue e = {
                .c = op->c + at,
                .ldc = op->ldc,
                .bias = op->bias && k0 == 0 ? op->bias + j0 + j * NR : NULL,
            };

            if (op->accumulate || k0 > 0)
                e.add = e.c;
            else if (op->add)
                e.add = op->add + at;
            tile(a_panels + i * MR * words, b_panels + j * NR * words, words, &e,
                 tg_size_min(MR, mc - i * MR), tg_size_min(NR, nc - j * NR));
        }
}

static void multiply_blocks(const tg_matmul *op, float *work)
{
    const size_t kc_most = KC_WORDS * DEPTH, words = words_of(tg_size_min(op->K, kc_most));
    const size_t mc_most = A_FLOATS / words / MR * MR;
    const size_t nc_most = B_FLOATS / words / NR * NR;
    float *a_panels = work, *b_panels = work + A_FLOATS;

    for (size_t j0 = 0; j0 < op->N; j0 += nc_most)
        for (size_t k0 = 0; k0 < op->K; k0 += kc_most)
            for (size_t i0 = 0; i0 < op->M; i0 += mc_most)
                block(op, i0, tg_size_min(mc_most, op->M - i0), j0, tg_size_min(nc_most, op->N - j0), k0,
                      tg_size_min(kc_most, op->K - k0), i0 == 0, a_panels, b_panels);
}
