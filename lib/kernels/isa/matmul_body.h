/*
 * matmul_body: how the matrix product is cut up and shared out; included by matmul.c,
 * matmul_bf16.c and matmul_amx.c, which define
 *
 *   DEPTH             how many k's a packed word (a float's four bytes) holds
 *   MR, NR            rows and columns of a tile, at most
 *   NR_UNIT           columns of a narrower tile are rounded up to a multiple of this
 *   ROUND             words of k are rounded up to a multiple of this
 *   PART              words of k that a tile sums over at a time
 *   pack_a()          m rows of A into panels of MR, words of k outermost
 *   pack_b()          a panel of up to NR columns of B, the same
 *   tile()            a tile of C from two panels
 *
 * How large a block may be, and what there is room for, is in blocks.h.
 *
 * The threads are a grid over C: each computes its part from start to end, with memory of
 * its own, and no thread waits for another.  What two of them need is packed by both, which
 * costs less than passing it from one's cache to the other's; the grid is the one with the
 * least to pack.
 *
 * A thread cuts its rows of A into blocks of MC rows by KC of k, and packs a block into
 * panels of MR rows, which stay in its second-level cache.  Then it packs panel after panel
 * of B's columns, and runs all of the block's rows past each.  While it does, it asks for
 * the next panel's part of B, so that packing finds it in the cache.  Where there is more
 * than one block of A, B's panels are kept for those that follow.
 *
 * The tile unit reads its operands once for few multiply-adds, so that a panel of B has to
 * stay in the first-level cache: it takes k in parts, a part for all rows of the block before
 * the next, and keeps the tiles' sums in the second-level cache in between.
 *
 * Within a thread the scheme is Goto's, with B's panels made where they are used: Goto &
 * van de Geijn 2008, "Anatomy of high-performance matrix multiplication"; Van Zee & van de
 * Geijn 2015, "BLIS".
 */

/* Words of k in a packed panel. */
INLINE size_t words_of(size_t kc)
{
    return tg_round_up(tg_ceil_div(kc, DEPTH), ROUND);
}

/* The largest part when n is cut into equal parts of at most `most`, multiples of unit. */
INLINE size_t part_of(size_t n, size_t most, size_t unit)
{
    return tg_round_up(tg_ceil_div(n, tg_ceil_div(n, most)), unit);
}

/* A block: rows i0.. of height mc, k0.. of depth kc. */
struct block {
    size_t i0, mc, k0, kc;
};

/* The columns of a panel when `left` of them are to be cut: 64 are twice 32, not 48 and 16. */
INLINE size_t panel_of(size_t left)
{
    return tg_size_min(left, part_of(left, NR, NR_UNIT));
}

static void pack_b_panel(float *panel, const tg_matmul *op, const struct block *at, size_t j, size_t n)
{
    pack_b(panel, op->b + at->k0 * op->b_row + j * op->b_col, op->b_col, op->b_row,
           n, at->kc);
}

/* Where to ask for share i of n of what the panel at column j is made of; a panel that is
 * not full is not worth it. */
INLINE struct wanted wanted_of(const tg_matmul *op, const struct block *at, size_t j, size_t i, size_t n)
{
    const size_t row = at->kc * i / n;
    const float *b;

    if (j + NR > op->N)
        return (struct wanted){0};
    b = op->b + at->k0 * op->b_row + j * op->b_col;
    if (op->b_col == 1)
        return (struct wanted){.at = (const char *)(b + row * op->b_row),
                               .step = op->b_row * sizeof *b,
                               .times = at->kc * (i + 1) / n - row};
    return (struct wanted){.at = (const char *)(b + NR * i / n * op->b_col),
                           .step = NR * sizeof *b,
                           .times = tg_ceil_div(at->kc, NR)};
}

/* The same for a panel that is packed: share i of n of its words. */
INLINE struct wanted wanted_again(const float *panel, size_t words, size_t i, size_t n)
{
    const size_t word = words * i / n;

    return (struct wanted){.at = (const char *)(panel + word * NR),
                           .step = NR * sizeof *panel,
                           .times = words * (i + 1) / n - word};
}

/* A thread's part of C, and where it packs: A's block, and a panel of B, or all of the part's;
 * and the sums of all tiles of a block's rows and a panel's columns. */
struct part {
    size_t i0, i1, j0, j1;
    float *a_panels, *b_panels, *sums;
    size_t b_panels_n;
};

/* A panel of B, packed, of columns j .. j+n-1; and what the next one is, if that is packed. */
struct panel {
    float *b;
    const float *next;
    size_t j, n;
};

/* The tile in row number `row` of tiles, over the words of k from w on. */
INLINE void tile_at(const tg_matmul *op, const struct block *at, const struct part *part,
                    const struct panel *panel, size_t row, size_t w)
{
    const size_t words = words_of(at->kc), w_n = tg_size_min(PART, words - w);
    const size_t rows = tg_ceil_div(at->mc, MR), i = row * MR, m = tg_size_min(MR, at->mc - i);
    const size_t share = w / PART * rows + row, shares = tg_ceil_div(words, PART) * rows;
    const size_t c = (at->i0 + i) * op->ldc + panel->j;
    float *sums = words > PART ? part->sums + row * MR * NR : NULL;
    struct epilogue e = {
        .c = op->c + c,
        .ldc = op->ldc,
        .bias = op->bias && at->k0 == 0 ? op->bias + panel->j : NULL,
        .before = w > 0 ? sums : NULL,
        .after = w + w_n < words ? sums : NULL,
        .next = panel->next ? wanted_again(panel->next, words, share, shares)
                            : wanted_of(op, at, panel->j + panel->n, share, shares),
    };

    if (op->accumulate || at->k0 > 0)
        e.add = e.c;
    else if (op->add)
        e.add = op->add + c;
    e.next.a = part->a_panels + (row + 1) % rows * MR * words;
    tile(part->a_panels + (row * words + w) * MR, panel->b + w * NR, w_n, &e, m, panel->n);
    if (!e.after && at->k0 + at->kc == op->K)
        map_block(op, at->i0 + i, panel->j, m, panel->n);
}

static void block(const tg_matmul *op, const struct block *at, const struct part *part)
{
    const size_t rows = tg_ceil_div(at->mc, MR), words = words_of(at->kc);
    const size_t b_next = part->b_panels_n > 1 ? NR * words : 0;
    const bool again = at->i0 > part->i0 && b_next > 0; /* the block above has packed B */
    struct panel panel = {.b = part->b_panels};

    pack_a(part->a_panels, op->a + at->i0 * op->a_row + at->k0 * op->a_col, op->a_row, op->a_col, at->mc,
           at->kc);
    for (panel.j = part->j0; panel.j < part->j1; panel.j += panel.n, panel.b += b_next) {
        panel.n = panel_of(part->j1 - panel.j);
        if (again)
            panel.next = panel.b + b_next;
        else
            pack_b_panel(panel.b, op, at, panel.j, panel.n);
        for (size_t w = 0; w < words; w += PART)
            for (size_t row = 0; row < rows; row++)
                tile_at(op, at, part, &panel, row, w);
    }
}

/* Part number n of `parts` of length's units, in elements. */
static void cut(size_t *from, size_t *to, size_t length, size_t unit, size_t n, size_t parts)
{
    const size_t units = tg_ceil_div(length, unit);

    *from = tg_size_min(length, units * n / parts * unit);
    *to = tg_size_min(length, units * (n + 1) / parts * unit);
}

/* The threads as a grid over C, so that each packs as little as can be: how many share
 * out the rows. */
static size_t grid_rows(const tg_matmul *op, size_t threads)
{
    size_t best = 1, least = SIZE_MAX;

    for (size_t rows = 1; rows <= threads; rows++) {
        const size_t columns = threads / rows, packed = op->M * columns + op->N * rows; /* lines */

        if (rows * columns == threads && packed < least) {
            best = rows;
            least = packed;
        }
    }
    return best;
}

/* Called by all threads of the team: each computes its part of C from start to end. */
static void multiply_blocks(const tg_matmul *op, float *work)
{
    const size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
    const size_t rows = grid_rows(op, threads), columns = threads / rows;
    const size_t kc = part_of(op->K, KC_WORDS * DEPTH, DEPTH * ROUND);
    float *a_panels = work + me * (A_FLOATS + B_FLOATS + SUMS_FLOATS);
    struct part part = {.a_panels = a_panels, .b_panels = a_panels + A_FLOATS,
                        .sums = a_panels + A_FLOATS + B_FLOATS, .b_panels_n = 1};
    size_t mc, nc, j1;

    cut(&part.i0, &part.i1, op->M, MR, me % rows, rows);
    cut(&part.j0, &j1, op->N, NR_UNIT, me / rows, columns);
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
                block(op,
                      &(struct block){i0, tg_size_min(mc, part.i1 - i0), k0, tg_size_min(kc, op->K - k0)},
                      &part);
    }
}
