#include "lib/nn/stream.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/pieces.h"

void tg_stream_add(tg_matrix out, tg_matrix a, tg_matrix b, size_t N)
{
    const size_t n = N * out.cols;

    if (out.type != TG_TYPE_DOUBLE) {
        tg_add(tg_floats(out), tg_floats(a), tg_floats(b), n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        tg_doubles(out)[i] = tg_doubles(a)[i] + tg_doubles(b)[i];
}

struct copying {
    tg_matrix out, inp;
};

static void copy_rows(void *context, size_t begin, size_t end)
{
    const struct copying *c = context;
    float buffer[TG_PIECE];

    for (size_t n = begin; n < end; n++)
        for (size_t i = 0; i < c->out.cols; i += TG_PIECE) {
            const size_t some = tg_size_min(TG_PIECE, c->out.cols - i);

            tg_piece_write(c->out, n, i, some, tg_piece_read(c->inp, n, i, some, buffer));
        }
}

void tg_stream_copy(tg_matrix out, tg_matrix inp, size_t N)
{
    if (out.type == TG_TYPE_DOUBLE)
        memcpy(tg_doubles(out), tg_doubles(inp), N * out.cols * sizeof(double));
    else
        tg_threads_run(N, tg_threads_grain(out.cols, 1), copy_rows, &(struct copying){out, inp});
}
