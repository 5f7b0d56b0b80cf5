/* lib/nn/tensor: reshape as a view, offsets, the text of a shape. */
#include "lib/nn/tensor.h"

#include <stdint.h>
#include <string.h>

#include "tests/unit/check.h"

static void reshape_is_a_view(void)
{
    float data[2 * 4 * 12];
    tg_tensor x = {.data = data, .ndim = 3, .shape = {2, 4, 12}};
    tg_tensor heads;
    tg_err err = {0};
    size_t index[] = {1, 2, 2, 1};

    CHECK_OK(tg_tensor_reshape(&heads, &x, (size_t[]){2, 4, 3, 4}, 4, &err), &err);
    CHECK(heads.data == data);
    CHECK_EQ(heads.ndim, 4);
    CHECK_EQ(heads.shape[0], 2);
    CHECK_EQ(heads.shape[3], 4);

    /* head 2, element 1 is channel 2*4 + 1; written here, read there */
    data[(1 * 4 + 2) * 12 + 9] = 5.0f;
    CHECK(heads.data[tg_tensor_offset(heads.shape, heads.ndim, index)] == 5.0f);
}

static void reshape_in_place(void)
{
    float data[6];
    tg_tensor x = {.data = data, .ndim = 2, .shape = {2, 3}};
    tg_err err = {0};

    CHECK_OK(tg_tensor_reshape(&x, &x, (size_t[]){6}, 1, &err), &err);
    CHECK_EQ(x.ndim, 1);
    CHECK_EQ(x.shape[0], 6);
    CHECK(x.data == data);
}

static void reshape_refuses_another_size(void)
{
    float data[24];
    tg_tensor x = {.data = data, .ndim = 3, .shape = {2, 3, 4}};
    tg_tensor view = x;
    tg_err err = {0};

    CHECK_EQ(tg_tensor_reshape(&view, &x, (size_t[]){2, 3, 5}, 3, &err), TG_EDATA);
    CHECK_HAS(err.message, "[2,3,4]");
    CHECK_HAS(err.message, "[2,3,5]");
    CHECK_HAS(err.message, "24");
    CHECK_HAS(err.message, "30");
    CHECK_EQ(view.shape[2], 4);
}

static void reshape_refuses_what_cannot_be(void)
{
    float data[1];
    tg_tensor x = {.data = data, .ndim = 0};
    size_t huge[] = {SIZE_MAX / 2, 3}, nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    tg_tensor view;
    tg_err err = {0};

    CHECK_EQ(tg_tensor_reshape(&view, &x, huge, 2, &err), TG_EDATA);
    CHECK_HAS(err.message, "overflows");
    CHECK_EQ(tg_tensor_reshape(&view, &x, nine, 9, &err), TG_EDATA);
    CHECK_HAS(err.message, "9 dimensions");
    CHECK_OK(tg_tensor_reshape(&view, &x, nine, 8, &err), &err); /* one element either way */
}

/* Walking all indices in order visits the offsets in order. */
static void offsets_count_up(void)
{
    const size_t shape[] = {2, 3, 4, 5};
    size_t n = 0;

    for (size_t b = 0; b < 2; b++)
        for (size_t h = 0; h < 3; h++)
            for (size_t i = 0; i < 4; i++)
                for (size_t j = 0; j < 5; j++, n++) {
                    CHECK_EQ(tg_tensor_offset(shape, 4, (size_t[]){b, h, i, j}), n);
                    CHECK_EQ(n, ((b * 3 + h) * 4 + i) * 5 + j);
                }
    CHECK_EQ(tg_tensor_offset(NULL, 0, NULL), 0);
}

static void shape_text(void)
{
    char text[TG_TENSOR_TEXT_MAX];
    size_t widest[TG_TENSOR_NDIM_MAX];

    CHECK(strcmp(tg_tensor_text(text, (size_t[]){2, 4, 512}, 3), "[2,4,512]") == 0);
    CHECK(strcmp(tg_tensor_text(text, (size_t[]){7}, 1), "[7]") == 0);
    CHECK(strcmp(tg_tensor_text(text, NULL, 0), "[]") == 0);
    for (size_t d = 0; d < TG_TENSOR_NDIM_MAX; d++)
        widest[d] = SIZE_MAX;
    tg_tensor_text(text, widest, TG_TENSOR_NDIM_MAX);
    CHECK_EQ(text[strlen(text) - 1], ']');
    CHECK(strlen(text) < TG_TENSOR_TEXT_MAX);
}

static void element_count(void)
{
    size_t count = 0;
    tg_err err = {0};

    CHECK_OK(tg_tensor_count(&count, (size_t[]){2, 3, 4}, 3, &err), &err);
    CHECK_EQ(count, 24);
    CHECK_OK(tg_tensor_count(&count, NULL, 0, &err), &err);
    CHECK_EQ(count, 1);
    CHECK_EQ(tg_tensor_count(&count, (size_t[]){SIZE_MAX, 2}, 2, &err), TG_EDATA);
}

int main(void)
{
    RUN(reshape_is_a_view);
    RUN(reshape_in_place);
    RUN(reshape_refuses_another_size);
    RUN(reshape_refuses_what_cannot_be);
    RUN(offsets_count_up);
    RUN(shape_text);
    RUN(element_count);
    return check_done();
}
