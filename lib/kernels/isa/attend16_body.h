/*
 * attend16_body: attention in bf16 by blocks: see attend.h; included by attend16_pairs.c and
 * attend16_tiles.c, which define
 *
 *   TERMS              terms of the sums of their products are a multiple of this
 *   small_product()    a product of words: see attend16_words.h
 *   pack_values()      packs rows of v, or of k, for
 *   add_keys()         sums over keys of probabilities times rows of v, or of ds times rows of k
 *   unpack_sums()      rounds those sums
 *   begin_tiles(), end_tiles()     prepare a thread for the products, and clean up
 *
 * The scheme is attend.c's, with blocks of scores [key][query]: what a query's softmax sums, and its
 * maximum, then come from the same lane of many vectors, and a row of k is an operand as it is.
 */

/* factors[key][QB]: dropout's factors of a block, from rows of queries, zero where nothing is kept or seen.
 */
static void block_factors(const tg_attention_head *op, float *factors, float *rows, size_t q0, size_t queries,
                          size_t k0)
{
    for (size_t r = 0; r < QB; r++) {
        const size_t n = r < queries ? tg_size_min(KB, q0 + r + 1 - k0) : 0;

        if (n > 0)
            op->keep(rows + r * KB, q0 + r, k0, n, op->context);
        memset(rows + r * KB + n, 0, (KB - n) * sizeof *rows);
    }
    for (size_t r = 0; r < QB; r += VL)
        for (size_t j = 0; j < KB; j += VL) {
            vf square[VL];

            for (size_t i = 0; i < VL; i++)
                square[i] = load(rows + (r + i) * KB + j);
            transpose(square);
            for (size_t i = 0; i < VL; i++)
                store(factors + (j + i) * QB + r, square[i]);
        }
}

/* ---- forward */

struct forward {
    float *k, *v;       /* [keys][W] rows; as pack_values() does */
    float *qt;          /* [W][QB] */
    float *s, *p;       /* [KB][QB] scores, [KB/2][QB] their exponentials, across keys */
    float *o;           /* sums over keys */
    float *max, *sum;   /* [QB], the maximum as an exponent of 2 */
    float *rescale;     /* [QB] */
    float *drop, *rows; /* [KB][QB], [QB][KB] */
    size_t W, Dp;
};

/* The exponentials of n keys' scores, an even number, for the queries of a vector, from i on in the block. */
INLINE void softmax_step(const tg_attention_head *op, const struct forward *f, size_t i, size_t n,
                         const bool diagonal)
{
    const vf factor = splat(op->scale * LOG2_E), before = load(f->max + i);
    vf max = splat(-INFINITY), odd_max = max, sum = {0}, odd_sum = {0}, rescale;

    for (size_t j = 0; j < n; j += 2) {
        max = larger_of(max, load(f->s + j * QB + i), seen(diagonal, i, j));
        odd_max = larger_of(odd_max, load(f->s + (j + 1) * QB + i), seen(diagonal, i, j + 1));
    }
    max = larger_of(before, larger_of(max, odd_max, 0xFFFF) * factor, 0xFFFF);
    for (size_t j = 0; j < n; j += 2) {
        vf even = exp2_of(load(f->s + j * QB + i) * factor - max);
        vf odd = exp2_of(load(f->s + (j + 1) * QB + i) * factor - max);

        if (diagonal) {
            even = only(seen(true, i, j), even);
            odd = only(seen(true, i, j + 1), odd);
        }
        sum += even;
        odd_sum += odd;
        if (op->keep) {
            even *= load(f->drop + j * QB + i);
            odd *= load(f->drop + (j + 1) * QB + i);
        }
        store(f->p + j / 2 * QB + i, round_across(even, odd));
    }
    rescale = exp2_of(before - max);
    store(f->rescale + i, rescale);
    store(f->sum + i, load(f->sum + i) * rescale + (sum + odd_sum));
    store(f->max + i, max);
}

static void forward_block(const tg_attention_head *op, const struct forward *f, size_t q0, size_t rows)
{
    const size_t W = f->W, Dp = f->Dp, columns = tg_round_up(rows, VL);

    for (size_t i = 0; i < QB; i++) {
        f->max[i] = -INFINITY;
        f->sum[i] = 0;
    }
    pack_transposed(f->qt, W, (const tg_bf16 *)op->q + q0 * op->ldq, op->ldq, rows, op->D);
    for (size_t k0 = 0; k0 <= q0; k0 += KB) {
        const bool diagonal = k0 == q0;
        const size_t n = diagonal ? rows : KB;
        const struct product scores = {
            .c = f->s,
            .ldc = QB,
            .a = f->k + k0 * W,
            .a_row = W,
            .a_col = 1,
            .b = f->qt,
            .ldb = QB,
            .M = n,
            .N = columns,
            .K = tg_ceil_div(op->D, 2),
            .mask = diagonal ? MASK_COLUMNS : MASK_NOTHING,
        };

        if (op->keep)
            block_factors(op, f->drop, f->rows, q0, rows, k0);
        small_product(&scores);
        for (size_t i = 0; i < rows; i += VL)
            if (diagonal)
                softmax_step(op, f, i, tg_round_up(tg_size_min(n, i + VL), TERMS), true);
            else
                softmax_step(op, f, i, n, false);
        add_keys(f->o, Dp, f->v + k0 / 2 * Dp, f->p, rows, n, op->D, false, k0 > 0 ? f->rescale : NULL,
                 diagonal);
    }
    for (size_t i = 0; i < rows; i += VL) {
        const vf sum = load(f->sum + i);

        if (op->lse)
            _mm512_mask_storeu_ps(op->lse + q0 + i, (__mmask16)first_lanes(rows - i),
                                  (__m512)((load(f->max + i) + log2_of(sum)) * splat(LN_2)));
        store(f->sum + i, splat(1) / sum);
    }
    unpack_sums((tg_bf16 *)op->out + q0 * op->ldo, op->ldo, f->o, Dp, rows, op->D, f->sum);
}

void ISA_NAME(attend16_forward)(const tg_attention_head *op, float *work)
{
    const size_t T = op->queries, D = op->D, P = tg_round_up(T, KB), Dp = tg_round_up(D, 2 * VL), W = Dp / 2;
    struct forward f = {.W = W, .Dp = Dp};

    if (op->window > 0 || op->cap > 0) {
        ISA_NAME(attend16_wide_forward)(op, work);
        return;
    }
    f.k = work;
    f.v = f.k + P * W;
    f.qt = f.v + P / 2 * Dp;
    f.s = f.qt + W * QB;
    f.p = f.s + KB * QB;
    f.o = f.p + KB / 2 * QB;
    f.max = f.o + QB * Dp;
    f.sum = f.max + QB;
    f.rescale = f.sum + QB;
    f.drop = f.rescale + QB;
    f.rows = f.drop + KB * QB;
    pack_rows(f.k, W, op->k, op->ldk, T, D);
    pack_values(f.v, Dp, op->v, op->ldv, T, D);
    begin_tiles();
    for (size_t q0 = 0; q0 < T; q0 += QB)
        forward_block(op, &f, q0, tg_size_min(QB, T - q0));
    end_tiles();
}

/* ---- backward */

struct backward {
    float *k, *v;            /* [keys][W] rows */
    float *k_values;         /* as pack_values() does */
    float *dk, *dv, *dq;     /* [keys][Dp] twice; sums over keys */
    float *qt, *dout_t;      /* [W][QB] */
    float *q, *dout;         /* [QB/2][Dp] across */
    float *s, *dp;           /* [KB][QB] */
    float *p, *ds;           /* [KB][QB/2]: words of queries */
    float *ds_across;        /* [KB/2][QB]: words of keys */
    float *lse, *mean_dp;    /* [QB], lse as an exponent of 2 */
    float *scale;            /* [QB] times op->scale */
    float *drop, *drop_rows; /* [KB][QB], [QB][KB] */
    size_t W, Dp;
};

/* dout_i . out_i, which is sum_j p_ij dp_ij, for the rows of a block. */
static void means(const tg_attention_head *op, float *mean_dp, size_t q0, size_t rows)
{
    const tg_bf16 *dout = op->dout, *out = op->saved_out;

    for (size_t r0 = 0; r0 < rows; r0 += VL) {
        vf part[VL];

        for (size_t r = 0; r < VL; r++) {
            const size_t at = (q0 + tg_size_min(r0 + r, rows - 1)) * op->ldo;

            part[r] = (vf){0};
            for (size_t w = 0; 2 * w < op->D; w += VL)
                part[r] = (vf)_mm512_dpbf16_ps((__m512)part[r], (__m512bh)row_pairs(dout + at, op->D, w),
                                               (__m512bh)row_pairs(out + at, op->D, w));
        }
        transpose(part);
        for (size_t n = VL / 2; n > 0; n /= 2)
            for (size_t l = 0; l < n; l++)
                part[l] += part[l + n];
        store(mean_dp + r0, part[0]);
    }
}

/*
 * As in attend.c, with ds not yet times scale.  Keys j and j + 1, queries from i on, two vectors of them.
 * Lanes of queries beyond `rows` are 0, because products sum over them.
 */
INLINE void softmax_backward(const tg_attention_head *op, const struct backward *b, size_t i, size_t j,
                             size_t rows, const bool masked, const bool diagonal)
{
    const vf factor = splat(op->scale * LOG2_E);
    vf ds_rows[2];

    for (size_t k = 0; k < 2; k++) {
        vf p[2], ds[2];

        for (size_t v = 0; v < 2; v++) {
            const size_t i0 = i + v * VL, at = (j + k) * QB + i0;
            vf dp = load(b->dp + at);

            p[v] = exp2_of(load(b->s + at) * factor - load(b->lse + i0));
            if (op->keep) {
                const vf kept = load(b->drop + at);

                ds[v] = p[v] * (dp * kept - load(b->mean_dp + i0));
                p[v] *= kept;
            } else {
                ds[v] = p[v] * (dp - load(b->mean_dp + i0));
            }
            if (masked) {
                const __mmask16 lanes =
                    (__mmask16)(seen(diagonal, i0, j + k) & (i0 < rows ? first_lanes(rows - i0) : 0));

                p[v] = only(lanes, p[v]);
                ds[v] = only(lanes, ds[v]);
            }
        }
        ds_rows[k] = round_pairs(ds[0], ds[1]);
        store(b->p + (j + k) * (QB / 2) + i / 2, round_pairs(p[0], p[1]));
        store(b->ds + (j + k) * (QB / 2) + i / 2, ds_rows[k]);
    }
    store(b->ds_across + j / 2 * QB + i, words_across(ds_rows[0], ds_rows[1], 0));
    store(b->ds_across + j / 2 * QB + i + VL, words_across(ds_rows[0], ds_rows[1], 1));
}

/* A block of n keys. */
static void softmax_block(const tg_attention_head *op, const struct backward *b, size_t n, size_t rows,
                          bool diagonal)
{
    for (size_t j = 0; j < tg_round_up(n, TERMS); j += 2)
        if (diagonal || rows < QB)
            for (size_t i = diagonal ? j / (2 * VL) * (2 * VL) : 0; i < rows; i += 2 * VL)
                softmax_backward(op, b, i, j, rows, true, diagonal);
        else
            for (size_t i = 0; i < QB; i += 2 * VL)
                softmax_backward(op, b, i, j, rows, false, false);
}

static void backward_products(const tg_attention_head *op, const struct backward *b, size_t q0, size_t rows,
                              size_t k0)
{
    const bool diagonal = k0 == q0;
    const size_t W = b->W, Dp = b->Dp, n = diagonal ? rows : KB, N = tg_round_up(op->D, VL);
    const size_t queries = tg_ceil_div(rows, 2), words = tg_ceil_div(op->D, 2),
                 columns = tg_round_up(rows, VL);
    const enum mask skip = diagonal ? MASK_COLUMNS : MASK_NOTHING,
                    from = diagonal ? MASK_TERMS_FROM : MASK_NOTHING;
    float *dk = b->dk + k0 * Dp, *dv = b->dv + k0 * Dp;
    const struct product products[] = {
        /* s = k q^T, dp = v dout^T */
        {b->s, QB, b->k + k0 * W, W, 1, b->qt, QB, n, columns, words, false, NULL, skip},
        {b->dp, QB, b->v + k0 * W, W, 1, b->dout_t, QB, n, columns, words, false, NULL, skip},
        /* dk += ds^T q, dv += p^T dout; a key's first queries, which are on the diagonal, begin */
        {dk, Dp, b->ds, QB / 2, 1, b->q, Dp, n, N, queries, !diagonal, NULL, from},
        {dv, Dp, b->p, QB / 2, 1, b->dout, Dp, n, N, queries, !diagonal, NULL, from},
    };

    small_product(&products[0]);
    small_product(&products[1]);
    softmax_block(op, b, n, rows, diagonal);
    small_product(&products[2]);
    small_product(&products[3]);
    /* dq += ds k */
    add_keys(b->dq, Dp, b->k_values + k0 / 2 * Dp, b->ds_across, rows, n, op->D, k0 > 0, NULL, diagonal);
}

static void backward_block(const tg_attention_head *op, const struct backward *b, size_t q0, size_t rows)
{
    const tg_bf16 *q = (const tg_bf16 *)op->q + q0 * op->ldq,
                  *dout = (const tg_bf16 *)op->dout + q0 * op->ldo;

    pack_transposed(b->qt, b->W, q, op->ldq, rows, op->D);
    pack_transposed(b->dout_t, b->W, dout, op->ldo, rows, op->D);
    pack_across(b->q, b->Dp, q, op->ldq, rows, op->D, tg_round_up(rows, TERMS));
    pack_across(b->dout, b->Dp, dout, op->ldo, rows, op->D, tg_round_up(rows, TERMS));
    means(op, b->mean_dp, q0, rows);
    for (size_t r = 0; r < rows; r++)
        b->lse[r] = op->saved_lse[q0 + r] * LOG2_E;
    for (size_t k0 = 0; k0 <= q0; k0 += KB) {
        if (op->keep)
            block_factors(op, b->drop, b->drop_rows, q0, rows, k0);
        backward_products(op, b, q0, rows, k0);
    }
    unpack_sums((tg_bf16 *)op->dq + q0 * op->ldq, op->ldq, b->dq, b->Dp, rows, op->D, b->scale);
}

void ISA_NAME(attend16_backward)(const tg_attention_head *op, float *work)
{
    const size_t T = op->queries, D = op->D, P = tg_round_up(T, KB), Dp = tg_round_up(D, 2 * VL), W = Dp / 2;
    struct backward b = {.W = W, .Dp = Dp};

    if (op->window > 0 || op->cap > 0) {
        ISA_NAME(attend16_wide_backward)(op, work);
        return;
    }
    b.k = work;
    b.v = b.k + P * W;
    b.k_values = b.v + P * W;
    b.dk = b.k_values + P / 2 * Dp;
    b.dv = b.dk + P * Dp;
    b.dq = b.dv + P * Dp;
    b.qt = b.dq + QB * Dp;
    b.dout_t = b.qt + W * QB;
    b.q = b.dout_t + W * QB;
    b.dout = b.q + QB / 2 * Dp;
    b.s = b.dout + QB / 2 * Dp;
    b.dp = b.s + KB * QB;
    b.p = b.dp + KB * QB;
    b.ds = b.p + KB * QB / 2;
    b.ds_across = b.ds + KB * QB / 2;
    b.lse = b.ds_across + KB * QB / 2;
    b.mean_dp = b.lse + QB;
    b.scale = b.mean_dp + QB;
    b.drop = b.scale + QB;
    b.drop_rows = b.drop + KB * QB;
    pack_rows(b.k, W, op->k, op->ldk, T, D);
    pack_rows(b.v, W, op->v, op->ldv, T, D);
    pack_values(b.k_values, Dp, op->k, op->ldk, T, D);
    for (size_t i = 0; i < QB; i++)
        b.scale[i] = op->scale;
    begin_tiles();
    for (size_t q0 = 0; q0 < T; q0 += QB)
        backward_block(op, &b, q0, tg_size_min(QB, T - q0));
    end_tiles();
    unpack_rows(op->dk, op->lddk, b.dk, Dp, T, D, op->scale);
    unpack_rows(op->dv, op->lddv, b.dv, Dp, T, D, 1);
}
