/*
 * matmul_body: the matrix product but for its element type; included by matmul.c and
 * matmul_bf16.c, which define
 *
 *   DEPTH          how many k's a packed word (a float's four bytes) holds
 *   pack()         panel[k/DEPTH*width + i] = words of x[i*step + k*k_step]
 *   multiply_add() sum + a b for the k's of a word
 *
 * C is cut into blocks of MC x NC over KC of k.  The threads together pack the
 * block's A into panels of MR rows and its B into panels of NR columns, both with k
 * outermost, so that the micro-kernel reads memory in order; then they share out
 * the MR x NR tiles, columns outermost, so that a B panel stays in the first-level
 * cache while A panels stream past it from the second.
 *
 * The scheme is Goto's: Goto & van de Geijn 2008, "Anatomy of high-performance
 * matrix multiplication"; Van Zee & van de Geijn 2015, "BLIS".
 */

/* ---- the tile */

/* What the tile's store adds to the sums. */
struct epilogue {
    float *c;
    size_t ldc;
    const float *bias; /* at the tile's column, or NULL */
    const float *add;  /* at the tile, or NULL; C itself to accumulate */
};

/* sum[r][v] = sum_k a[k*MR + r] b[k*NR + v], for the tile's first rows and vectors; k
 * counts words. */
INLINE void multiply(vf sum[MR][2], const float *restrict a, const float *restrict b, size_t words,
                     const size_t rows, const size_t vectors)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = (vf){0};
    for (size_t k = 0; k < words; k++, a += MR, b += NR) {
        vf b_k[2];

        for (size_t v = 0; v < vectors; v++)
            b_k[v] = load(b + v * VL);
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] = multiply_add(sum[r][v], a[r], b_k[v]);
    }
}

/* Store the sums where whole vectors fit. */
INLINE void store_rows(vf sum[MR][2], const struct epilogue *e, size_t m, const size_t vectors)
{
    for (size_t r = 0; r < m; r++)
        for (size_t v = 0; v < vectors; v++) {
            vf s = sum[r][v];

            if (e->bias)
                s += load(e->bias + v * VL);
            if (e->add)
                s += load(e->add + r * e->ldc + v * VL);
            store(e->c + r * e->ldc + v * VL, s);
        }
}

/* n columns, which are not whole vectors. */
static void store_columns(vf sum[MR][2], const struct epilogue *e, size_t m, size_t n)
{
    float row[NR];

    for (size_t r = 0; r < m; r++) {
        store(row, sum[r][0]);
        store(row + VL, sum[r][1]);
        for (size_t j = 0; j < n; j++) {
            float s = row[j];

            if (e->bias)
                s += e->bias[j];
            if (e->add)
                s += e->add[r * e->ldc + j];
            e->c[r * e->ldc + j] = s;
        }
    }
}

/* A tile of which m rows, at most `rows`, and n columns count. */
INLINE void some_rows(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m,
                      size_t n, const size_t rows)
{
    vf sum[MR][2];

    if (n == VL) {
        multiply(sum, a, b, words, rows, 1);
        store_rows(sum, e, m, 1);
        return;
    }
    multiply(sum, a, b, words, rows, 2);
    if (n == NR)
        store_rows(sum, e, m, 2);
    else
        store_columns(sum, e, m, n);
}

static void tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m, size_t n)
{
    if (m == MR && n == NR) {
        vf sum[MR][2];

        multiply(sum, a, b, words, MR, 2);
        store_rows(sum, e, MR, 2);
    } else if (m <= MR / 3) {
        some_rows(a, b, words, e, m, n, MR / 3);
    } else if (m <= 2 * MR / 3) {
        some_rows(a, b, words, e, m, n, 2 * MR / 3);
    } else {
        some_rows(a, b, words, e, m, n, MR);
    }
}

/* ---- blocks, shared by the team */

/* One block: rows i0.. of height mc, columns j0.. of width nc, k0.. of depth kc.
 * Called by all threads of the team. */
static void block(const tg_matmul *op, size_t i0, size_t mc, size_t j0, size_t nc, size_t k0, size_t kc,
                  bool pack_b, float *a_panels, float *b_panels)
{
    const size_t rows = tg_ceil_div(mc, MR), columns = tg_ceil_div(nc, NR), words = tg_ceil_div(kc, DEPTH);

    if (pack_b) {
        #pragma omp for schedule(static) nowait
        for (size_t j = 0; j < columns; j++)
            pack(b_panels + j * NR * words, op->b + k0 * op->b_row + (j0 + j * NR) * op->b_col, op->b_col,
                 op->b_row, tg_size_min(NR, nc - j * NR), kc, NR);
    }
    #pragma omp for schedule(static)
    for (size_t i = 0; i < rows; i++)
        pack(a_panels + i * MR * words, op->a + (i0 + i * MR) * op->a_row + k0 * op->a_col, op->a_row,
             op->a_col, tg_size_min(MR, mc - i * MR), kc, MR);

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
    const size_t kc_most = KC_WORDS * DEPTH, words = tg_ceil_div(tg_size_min(op->K, kc_most), DEPTH);
    const size_t mc_most = A_FLOATS / words / MR * MR;
    const size_t nc_most = B_FLOATS / words / NR * NR;
    float *a_panels = work, *b_panels = work + A_FLOATS;

    for (size_t j0 = 0; j0 < op->N; j0 += nc_most)
        for (size_t k0 = 0; k0 < op->K; k0 += kc_most)
            for (size_t i0 = 0; i0 < op->M; i0 += mc_most)
                block(op, i0, tg_size_min(mc_most, op->M - i0), j0, tg_size_min(nc_most, op->N - j0), k0,
                      tg_size_min(kc_most, op->K - k0), i0 == 0, a_panels, b_panels);
}
