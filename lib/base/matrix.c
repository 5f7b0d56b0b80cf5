#include "lib/base/matrix.h"

size_t tg_type_size(tg_type type)
{
    static const size_t size[] = {
        [TG_TYPE_FLOAT] = sizeof(float),
        [TG_TYPE_DOUBLE] = sizeof(double),
        [TG_TYPE_BF16] = sizeof(tg_bf16),
    };

    return size[type];
}

tg_matrix tg_matrix_place(tg_arena *arena, tg_type type, size_t rows, size_t cols)
{
    return tg_matrix_of(tg_arena_take_rows(arena, rows, cols, tg_type_size(type)), type, cols);
}

tg_matrix tg_matrix_from(tg_matrix m, size_t row)
{
    m.data = (char *)m.data + row * m.ld * tg_type_size(m.type);
    return m;
}

tg_matrix tg_matrix_columns(tg_matrix m, size_t first, size_t cols)
{
    if (m.data)
        m.data = (char *)m.data + first * tg_type_size(m.type);
    m.cols = cols;
    return m;
}
