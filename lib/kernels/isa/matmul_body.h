/*
 * matmul_body: the matrix product's blocks and threads; included by matmul.c,
 * matmul_bf16.c and matmul_amx.c, which define
 *
 *   K_PER_WORD        values of k in a packed word, which has a float's four bytes
 *   MR, NR            rows and columns of a full tile
 *   NR_UNIT           a narrower tile's columns are rounded up to a multiple of this
 *   WORDS_UNIT        words of k are rounded up to a multiple of this
 *   WORDS_PER_PASS    words of k that a tile sums over before its sums are stored
 *   pack_a()          packs m rows of A into panels of MR rows, words of k outermost
 *   pack_b()          packs up to NR columns of B into a panel, words of k outermost
 *   tile()            computes a tile of C from two panels
 *   begin_tiles(), end_tiles()     prepare a thread for tile(), and clean up
 *
 * blocks.h has the sizes of blocks and of the scratch.
 *
 * C is divided into a grid of parts, one for each thread.  Each is computed from start to
 * end with memory of its own, without waiting for another.  Two parts that need the same
 * operand both pack it: that costs less than moving it from one cache to the other.  The
 * grid is chosen so that each thread packs as little as possible.
 *
 * A thread cuts its rows of A into blocks of MC rows by KC of k, and packs each block into
 * panels of MR rows, which stay in its second-level cache.  For each panel of B's columns
 * it then computes the tiles of all of the block's rows; meanwhile it prefetches the
 * source of the next panel, so that packing finds it in the cache.  If there are several
 * blocks of A, B's panels are kept for the later ones.
 *
 * The tile unit performs few multiply-adds per operand that it loads, so a panel of B must
 * stay in the first-level cache.  It therefore sums over k in passes: each pass covers all
 * rows of the block, and the tiles' sums are in the second-level cache between passes.
 *
 * Within a thread the scheme is Goto's, with B's panels made where they are used: Goto &
 * van de Geijn 2008, "Anatomy of high-performance matrix multiplication"; Van Zee & van de
 * Geijn 2015, "BLIS".
 */

/* Words of k in a packed panel. */
INLINE size_t words_of(size_t kc)
{
    return tg_round_up(tg_ceil_div(kc, K_PER_WORD), WORDS_UNIT);
}

/* The size of the parts when n is cut into the fewest equal parts of at most max, rounded
 * up to a multiple of unit. */
INLINE size_t part_of(size_t n, size_t max, size_t unit)
{
    return tg_round_up(tg_ceil_div(n, tg_ceil_div(n, max)), unit);
}

/* The values of k in a part of a sum over K. */
INLINE size_t part_of_k(size_t K)
{
    return part_of(K, KC_WORDS * K_PER_WORD, K_PER_WORD * WORDS_UNIT);
}

/* A block of A: mc rows from i0 on, kc of k from k0 on. */
struct block {
    size_t i0, mc, k0, kc;
};

/* Columns of the next panel when `left` remain: 64 are cut into 32 and 32, not 48 and 16. */
INLINE size_t panel_of(size_t left)
{
    return tg_size_min(left, part_of(left, NR, NR_UNIT));
}

OUT_OF_LINE void pack_b_panel(float *panel, const tg_matmul *op, const struct block *at, size_t j, size_t n)
{
    pack_b(panel, b_from(op, at->k0, j), op->b_col, op->b_row, n, at->kc, op->b_type);
}

/* Slice i of n of the source of the panel at column j; nothing for a panel that is not full.  Of bf16, the
 * lines after a panel's rows are prefetched as well: they are the next panel's. */
INLINE struct prefetch prefetch_source(const tg_matmul *op, const struct block *at, size_t j, size_t i,
                                       size_t n)
{
    const size_t size = size_of(op->b_type), line = NR * sizeof(float);
    const size_t row = at->kc * i / n, column = NR * i / n;

    if (j + NR > op->N)
        return (struct prefetch){0};
    if (op->b_col == 1)
        return (struct prefetch){
            .at = b_from(op, at->k0 + row, j), .step = op->b_row * size, .times = at->kc * (i + 1) / n - row};
    return (struct prefetch){
        .at = b_from(op, at->k0, j + column), .step = line, .times = tg_ceil_div(at->kc * size, line)};
}

/* Slice i of n of the words of a panel that is packed already. */
INLINE struct prefetch prefetch_panel(const float *panel, size_t words, size_t i, size_t n)
{
    const size_t word = words * i / n;

    return (struct prefetch){.at = (const char *)(panel + word * NR),
                             .step = NR * sizeof *panel,
                             .times = words * (i + 1) / n - word};
}

/* A thread's part of C, and its scratch: a packed block of A; b_panels_n packed panels of B;
 * the sums of all tiles of a block's rows by a panel's columns, between passes; a tile of a bf16 C,
 * before it is rounded. */
struct part {
    size_t i0, i1, j0, j1;
    float *a_panels, *b_panels, *sums, *tile;
    size_t b_panels_n;
};

/* A packed panel of B, columns j .. j+n-1; next is the panel after it if that is packed too. */
struct panel {
    float *b;
    const float *next;
    size_t j, n;
};

/* Prefetch n columns of m rows, `size` bytes each, ld elements apart; NULL for none. */
INLINE void prefetch_rows(const void *x, size_t size, size_t ld, size_t m, size_t n, const int write)
{
    for (size_t r = 0; x && r < m; r++)
        for (size_t byte = 0; byte < n * size + 63; byte += 64) {
            const char *at = (const char *)x + r * ld * size + tg_size_min(byte, n * size - 1);

            if (write)
                __builtin_prefetch(at, 1);
            else
                __builtin_prefetch(at, 0);
        }
}

/* Prefetch what a tile that ends its sums reads and writes besides. */
INLINE void prefetch_tile(const tg_matmul *op, size_t at, const float *add, size_t m, size_t n)
{
    const size_t size = sizeof(tg_bf16);

    if (op->c_type == TG_TYPE_BF16) {
        prefetch_rows((tg_bf16 *)op->c + at, size, op->ldc, m, n, 1);
        prefetch_rows(op->slope ? (const tg_bf16 *)op->pre + at : NULL, size, op->ldc, m, n, 0);
        prefetch_rows(op->map ? (tg_bf16 *)op->mapped + at : NULL, size, op->ldc, m, n, 1);
    } else if (add != (float *)op->c + at) {
        prefetch_rows(add, sizeof *add, op->ldc, m, n, 0);
    }
}

/* Tile number `row` of the panel, over one pass of k, from word w on. */
INLINE void tile_at(const tg_matmul *op, const struct block *at, const struct part *part,
                    const struct panel *panel, size_t row, size_t w)
{
    const size_t words = words_of(at->kc), w_n = tg_size_min(WORDS_PER_PASS, words - w);
    const size_t rows = tg_ceil_div(at->mc, MR), i = row * MR, m = tg_size_min(MR, at->mc - i);
    const size_t slice = w / WORDS_PER_PASS * rows + row, slices = tg_ceil_div(words, WORDS_PER_PASS) * rows;
    const size_t c = (at->i0 + i) * op->ldc + panel->j;
    const bool round = op->c_type == TG_TYPE_BF16;
    float *sums = words > WORDS_PER_PASS ? part->sums + row * MR * NR : NULL;
    struct epilogue e = {
        .c = round ? part->tile : (float *)op->c + c,
        .ldc = round ? NR : op->ldc,
        .bias = op->bias && at->k0 == 0 ? op->bias + panel->j : NULL,
        .before = w > 0 ? sums : NULL,
        .after = w + w_n < words ? sums : NULL,
        .next = panel->next ? prefetch_panel(panel->next, words, slice, slices)
                            : prefetch_source(op, at, panel->j + panel->n, slice, slices),
    };

    if (op->accumulate || at->k0 > 0)
        e.add = e.c;
    else if (op->add)
        e.add = op->add + c;
    if (!e.after)
        prefetch_tile(op, c, e.add, m, panel->n);
    e.next.a = part->a_panels + (row + 1) % rows * MR * words;
    tile(part->a_panels + (row * words + w) * MR, panel->b + w * NR, w_n, &e, m, panel->n);
    if (e.after || at->k0 + at->kc < op->K)
        return;
    if (!round)
        finish_floats(op, e.c, at->i0 + i, panel->j, m, panel->n);
    else if (panel->n == NR) /* a constant */
        finish_halves(op, e.c, NR, at->i0 + i, panel->j, m, NR);
    else
        finish_halves(op, e.c, NR, at->i0 + i, panel->j, m, panel->n);
}

OUT_OF_LINE void block(const tg_matmul *op, const struct block *at, const struct part *part)
{
    const size_t rows = tg_ceil_div(at->mc, MR), words = words_of(at->kc);
    const size_t b_next = part->b_panels_n > 1 ? NR * words : 0;
    const bool kept = at->i0 > part->i0 && b_next > 0; /* the first block has packed B */
    struct panel panel = {.b = part->b_panels};

    pack_a(part->a_panels, a_from(op, at->i0, at->k0), op->a_row, op->a_col, at->mc, at->kc, op->a_type);
    for (panel.j = part->j0; panel.j < part->j1; panel.j += panel.n, panel.b += b_next) {
        panel.n = panel_of(part->j1 - panel.j);
        if (kept)
            panel.next = panel.b + b_next;
        else
            pack_b_panel(panel.b, op, at, panel.j, panel.n);
        for (size_t w = 0; w < words; w += WORDS_PER_PASS)
            for (size_t row = 0; row < rows; row++)
                tile_at(op, at, part, &panel, row, w);
    }
}

/* Elements from .. to-1 are part n of `parts`, length being cut at multiples of unit. */
static void cut(size_t *from, size_t *to, size_t length, size_t unit, size_t n, size_t parts)
{
    const size_t units = tg_ceil_div(length, unit);

    *from = tg_size_min(length, units * n / parts * unit);
    *to = tg_size_min(length, units * (n + 1) / parts * unit);
}

/* The rows of the grid of parts with which each thread packs least. */
static size_t grid_rows(const tg_matmul *op, size_t threads)
{
    size_t best = 1, least = SIZE_MAX;

    for (size_t rows = 1; rows <= threads; rows++) {
        const size_t columns = threads / rows, packed = op->M * columns + op->N * rows; /* in units of K */

        if (rows * columns == threads && packed < least) {
            best = rows;
            least = packed;
        }
    }
    return best;
}

/* Compute part number `number` of `parts`. */
static void multiply_part(const tg_matmul *op, float *work, size_t number, size_t parts)
{
    const size_t rows = grid_rows(op, parts), columns = parts / rows;
    /* a bf16 C holds no sums of a part of k */
    const size_t kc = op->c_type == TG_TYPE_BF16 ? op->K : op->part > 0 ? op->part : part_of_k(op->K);
    float tile[MR * NR], *a_panels = work + number * (A_FLOATS + B_FLOATS + SUMS_FLOATS);
    struct part part = {.a_panels = a_panels,
                        .b_panels = a_panels + A_FLOATS,
                        .sums = a_panels + A_FLOATS + B_FLOATS,
                        .tile = tile,
                        .b_panels_n = 1};
    size_t mc, nc, j1;

    cut(&part.i0, &part.i1, op->M, MR, number % rows, rows);
    cut(&part.j0, &j1, op->N, NR_UNIT, number / rows, columns);
    if (part.i0 == part.i1 || part.j0 == j1)
        return;
    mc = part_of(part.i1 - part.i0, A_FLOATS / words_of(kc) / MR * MR, MR);
    nc = j1 - part.j0;
    if (mc < part.i1 - part.i0) {
        part.b_panels_n = B_FLOATS / (words_of(kc) * NR);
        nc = part_of(nc, part.b_panels_n * NR, NR);
    }
    for (; part.j0 < j1; part.j0 += nc) {
        part.j1 = tg_size_min(j1, part.j0 + nc);
        for (size_t k0 = 0; k0 < op->K; k0 += kc)
            for (size_t i0 = part.i0; i0 < part.i1; i0 += mc)
                block(op, &(struct block){i0, tg_size_min(mc, part.i1 - i0), k0, tg_size_min(kc, op->K - k0)},
                      &part);
    }
}

struct product {
    const tg_matmul *op;
    float *work;
    size_t parts;
};

static void multiply_parts(void *context, size_t begin, size_t end)
{
    const struct product *p = context;

    begin_tiles();
    for (size_t number = begin; number < end; number++)
        multiply_part(p->op, p->work, number, p->parts);
    end_tiles();
}

static void multiply_blocks(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    struct product p = {op, scratch->packed, threads_for(op, scratch)};

    tg_threads_run_on(p.parts, p.parts, 1, multiply_parts, &p);
}
