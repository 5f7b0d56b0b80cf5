/* lib/view: colours, scales, cells and letters; and the hash and the base64 of tg-attn-view's page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base64.h"
#include "formats/sha256.h"
#include "lib/view/axis.h"
#include "lib/view/colormap.h"
#include "lib/view/font.h"
#include "lib/view/grid.h"
#include "lib/view/raster.h"
#include "lib/view/scale.h"
#include "tests/unit/check.h"

/* ---- the page's policy */

static void check_hash(const char *text, size_t n, const char *want)
{
    unsigned char hash[TG_SHA256_SIZE];
    char hex[2 * TG_SHA256_SIZE + 1];

    tg_sha256(hash, text, n);
    for (size_t i = 0; i < TG_SHA256_SIZE; i++) {
        hex[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    hex[2 * TG_SHA256_SIZE] = '\0';
    CHECK_HAS(hex, want);
}

/* The examples of FIPS 180-2; lengths around the end of a block from another program. */
static void sha256_known_answers(void)
{
    static char a[1000000];

    memset(a, 'a', sizeof a);
    check_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash(a, sizeof a, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_hash(a, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    check_hash(a, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
    check_hash(a, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    check_hash(a, 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
}

/* RFC 4648, section 10; and all digits. */
static void base64_known_answers(void)
{
    static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    unsigned char bytes[48];
    char out[TG_BASE64_SIZE(sizeof bytes)];

    for (size_t n = 0; n <= 6; n++) {
        CHECK_EQ(tg_base64_encode(out, "foobar", n), strlen(want[n]));
        CHECK_EQ(TG_BASE64_SIZE(n), strlen(want[n]));
        CHECK(memcmp(out, want[n], strlen(want[n])) == 0);
    }
    for (unsigned i = 0; i < 16; i++) { /* the numbers 0 to 63, six bits each */
        const unsigned x = (4 * i) << 18 | (4 * i + 1) << 12 | (4 * i + 2) << 6 | (4 * i + 3);

        bytes[3 * i] = (unsigned char)(x >> 16);
        bytes[3 * i + 1] = (unsigned char)(x >> 8);
        bytes[3 * i + 2] = (unsigned char)x;
    }
    CHECK_EQ(tg_base64_encode(out, bytes, sizeof bytes), 64);
    CHECK(memcmp(out, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64) == 0);
}

/* ---- colours */

/* Lightness as CIE defines it, which is not the measure that the map was made by. */
static double lightness(tg_rgb c)
{
    const double byte[3] = {c.r, c.g, c.b}, weight[3] = {0.2126, 0.7152, 0.0722};
    double y = 0;

    for (size_t i = 0; i < 3; i++) {
        const double x = byte[i] / 255;

        y += weight[i] * (x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4));
    }
    return y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
}

/* Away from the paper, in even steps. */
static void check_rise(const tg_rgb *map, size_t n, double sign, double step_max)
{
    double before = 0;

    for (size_t i = 0; i < n; i++) {
        const double l = sign * lightness(map[i]);

        CHECK(i == 0 || l > before - 0.15); /* a byte's rounding */
        CHECK(i == 0 || l - before < step_max);
        before = l;
    }
}

static void colors_leave_the_paper(void)
{
    static const double paper[2] = {98, 8}; /* the page's: #fcfcfb and #161618 */
    static const double end[2] = {12, 95};

    for (unsigned dark = 0; dark <= 1; dark++) {
        tg_rgb map[TG_COLORMAP_SIZE], below[TG_COLORMAP_SIZE / 2];

        tg_colormap_fill(map, (tg_colormap){.dark = dark});
        check_rise(map, TG_COLORMAP_SIZE, dark ? 1 : -1, 1);
        CHECK_NEAR(lightness(map[0]), paper[dark], 5);
        CHECK_NEAR(lightness(map[TG_COLORMAP_SIZE - 1]), end[dark], 5);

        tg_colormap_fill(map, (tg_colormap){.dark = dark, .diverges = true});
        for (size_t n = 0; n < TG_COLORMAP_SIZE / 2; n++)
            below[n] = map[TG_COLORMAP_SIZE / 2 - 1 - n];
        check_rise(below, TG_COLORMAP_SIZE / 2, dark ? 1 : -1, 2);
        check_rise(map + TG_COLORMAP_SIZE / 2, TG_COLORMAP_SIZE / 2, dark ? 1 : -1, 2);
        CHECK_NEAR(lightness(map[TG_COLORMAP_SIZE / 2]), paper[dark], 5);
        CHECK(map[0].b > map[0].r && map[TG_COLORMAP_SIZE - 1].b < map[TG_COLORMAP_SIZE - 1].r);
    }
}

#define GREYS 232 /* of 256 colours, after the cube */

/* Levels by which two of the cube's colours differ. */
static int levels_between(unsigned one, unsigned other)
{
    int sum = 0;

    one -= 16;
    other -= 16;
    for (unsigned weight = 1; weight <= 36; weight *= 6)
        sum += abs((int)(one / weight % 6) - (int)(other / weight % 6));
    return sum;
}

/* From a grey near the paper, away from it in even steps. */
static void check_walk(const unsigned char cube[TG_COLORMAP_SIZE], size_t first, size_t end, int by,
                       bool dark, size_t least)
{
    const double sign = dark ? 1 : -1;
    size_t colors = 1;

    CHECK_EQ(cube[first], dark ? 234 : 254); /* neither black nor white, which masked cells may be */
    for (size_t n = first; n != end; n += (size_t)by) {
        const unsigned char one = cube[n], other = cube[n + (size_t)by];

        CHECK(one == cube[first] || (one >= 16 && one < GREYS && levels_between(one, other) <= 2));
        CHECK(sign * lightness(tg_rgb_of_256(other)) > sign * lightness(tg_rgb_of_256(one)) - 2);
        colors += one != other;
    }
    CHECK(colors >= least);
    CHECK(fabs(lightness(tg_rgb_of_256(cube[end])) - lightness(tg_rgb_of_256(cube[first]))) > 70);
}

/* One class of numbers, one hue: red to orange, without yellow, olive or green; or blue, without violet. */
static void check_hues(const unsigned char cube[TG_COLORMAP_SIZE])
{
    for (size_t n = 0; n < TG_COLORMAP_SIZE; n++) {
        const tg_rgb c = tg_rgb_of_256(cube[n]);

        if (cube[n] >= GREYS)
            continue;
        CHECK(n < TG_COLORMAP_SIZE / 2 ? c.b > c.g && c.g >= c.r : c.r > c.g && c.g >= c.b);
        CHECK(n < TG_COLORMAP_SIZE / 2 || c.g <= c.r / 2 || c.b > 0); /* not brown */
    }
}

/* Among 256 colours, each differs little from its neighbour, and does not go back to the paper. */
static void few_colors_are_smooth(void)
{
    unsigned char cube[TG_COLORMAP_SIZE];

    for (unsigned dark = 0; dark <= 1; dark++) {
        tg_colormap_fill_256(cube, (tg_colormap){.dark = dark});
        check_walk(cube, 0, TG_COLORMAP_SIZE - 1, 1, dark, 11);
        tg_colormap_fill_256(cube, (tg_colormap){.dark = dark, .diverges = true});
        check_walk(cube, TG_COLORMAP_SIZE / 2, TG_COLORMAP_SIZE - 1, 1, dark, 10);
        check_walk(cube, TG_COLORMAP_SIZE / 2 - 1, 0, -1, dark, 10);
        check_hues(cube);
    }
    CHECK_EQ(tg_rgb_of_256(GREYS).r, 8);
    CHECK_EQ(tg_rgb_of_256(255).g, 238);
    CHECK_EQ(tg_rgb_of_256(16 + 36 + 12 + 5).r, 95);
    CHECK_EQ(tg_rgb_of_256(16 + 36 + 12 + 5).g, 135);
    CHECK_EQ(tg_rgb_of_256(16 + 36 + 12 + 5).b, 255);
}

static void steps_and_ends(void)
{
    CHECK_EQ(tg_colormap_step(0), 0);
    CHECK_EQ(tg_colormap_step(-1), 0);
    CHECK_EQ(tg_colormap_step((double)NAN), 0);
    CHECK_EQ(tg_colormap_step(1), TG_COLORMAP_SIZE - 1);
    CHECK_EQ(tg_colormap_step(7), TG_COLORMAP_SIZE - 1);
    CHECK_EQ(tg_colormap_step(0.5), TG_COLORMAP_SIZE / 2);
    CHECK(tg_rgb_luma((tg_rgb){255, 255, 255}) == 255 && tg_rgb_luma((tg_rgb){0, 0, 0}) == 0);
}

static void scales(void)
{
    for (unsigned kind = TG_SCALE_AUTO; kind <= TG_SCALE_LOG; kind++) {
        const tg_scale s = {(tg_scale_kind)kind, kind == TG_SCALE_LINEAR ? -3 : 0, 2};

        for (double place = 0; place <= 1; place += 0.125)
            CHECK_NEAR(tg_scale_place(&s, tg_scale_number(&s, place)), place, 1e-12);
        CHECK_NEAR(tg_scale_place(&s, -100), 0, 0);
        CHECK_NEAR(tg_scale_place(&s, 100), 1, 0);
    }
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_SQRT, 0, 1}, 0.25), 0.5, 1e-15);
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_LOG, 0, 1}, 0.01), 0.5, 1e-15);
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_LINEAR, -1, 1}, 0.5), 0.75, 1e-15);
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_LINEAR, 3, 3}, 3), 0.5, 0); /* all are the same */
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_COUNT, 0, 63}, 7), 0.5, 1e-15);
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_COUNT, 0, 0}, 1), 0, 0);
    CHECK_NEAR(tg_scale_place(&(tg_scale){TG_SCALE_COUNT, 0, 63}, 0), 0, 0);
    CHECK_NEAR(tg_scale_number(&(tg_scale){TG_SCALE_COUNT, 0, 15}, 0.75), 7, 1e-12);
}

static void tops(void)
{
    float few[] = {0.25F, 1, 0.5F}, many[30], sharp[] = {1, 0.95F};

    CHECK_NEAR(tg_scale_top(few, 3), 1, 0);
    few[2] = 0.75F; /* sorted now */
    CHECK_NEAR(tg_scale_top(few, 3), 0.75, 0);
    for (size_t i = 0; i < 30; i++)
        many[i] = 1 / (float)(i + 1);
    CHECK_NEAR(tg_scale_top(many, 30), 0.25, 0); /* 1, 1/2 and 1/3 exceed it */
    CHECK_NEAR(tg_scale_top(sharp, 2), 1, 0);
}

/* ---- cells */

/* Each cell against the definition, for every size of map and cell. */
static void cells_are_the_greatest(void)
{
    float row[13];
    tg_grid g;
    tg_err err;

    for (size_t T = 1; T <= 13; T++) {
        for (size_t n = 1; n <= T + 1; n++) {
            float want[13 * 13];
            double low = HUGE_VAL, high = -HUGE_VAL;

            CHECK_OK(tg_grid_make(&g, T, n, &err), &err);
            CHECK_EQ(g.side, (T + n - 1) / n);
            for (size_t c = 0; c < 13 * 13; c++)
                want[c] = -INFINITY;
            for (size_t i = 0; i < T; i++) {
                check_fill(row, i + 1, 100 * T + i, 1);
                tg_grid_add(&g, i, row);
                for (size_t j = 0; j <= i; j++)
                    want[i / n * g.side + j / n] = fmaxf(want[i / n * g.side + j / n], row[j]);
            }
            CHECK(memcmp(g.cell, want, g.side * g.side * sizeof *want) == 0);
            tg_grid_range(&g, &low, &high);
            CHECK(isfinite(low) && isfinite(high) && low <= high);
            tg_grid_free(&g);
        }
    }
    CHECK_EQ(tg_grid_make(&g, (size_t)1 << 60, 1, &err), TG_ENOMEM);
    tg_grid_free(&(tg_grid){0});
}

/* ---- letters */

static void letters_differ(void)
{
    for (int a = 0x20; a <= 0x7f; a++) {
        for (int b = 0x20; b < a; b++)
            CHECK(memcmp(tg_font_glyph((char)a), tg_font_glyph((char)b), TG_FONT_HEIGHT) != 0);
        for (size_t row = 0; row < TG_FONT_HEIGHT; row++)
            CHECK(tg_font_glyph((char)a)[row] < 1 << TG_FONT_WIDTH);
    }
    CHECK(tg_font_glyph('\n') == tg_font_glyph((char)0xe9)); /* a box */
}

/* Text that turns upwards is the same text, turned. */
static void text_upwards(void)
{
    const size_t width = 40, height = 50;
    tg_raster a, b;
    tg_err err;

    CHECK_OK(tg_raster_make(&a, width, height, &err), &err);
    CHECK_OK(tg_raster_make(&b, height, width, &err), &err);
    tg_raster_text(&a, 3, 39, 1, TG_UP, TG_INK_BLACK, "Fag{");
    tg_raster_text(&b, 10, 3, 1, TG_RIGHT, TG_INK_BLACK, "Fag{");
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            CHECK_EQ(a.pixel[y * width + x], b.pixel[x * height + (height - 1 - y)]);
    }
    CHECK(memchr(a.pixel, TG_INK_BLACK, width * height) != NULL);
    tg_raster_free(&a);
    tg_raster_free(&b);
}

/* With a palette, large letters have smooth edges: where a dot is, there is ink; far from all dots, none; and
 * between, only greys of ink and paper. */
static void large_letters_are_smooth(void)
{
    enum { SIZE = 4, SIDE = TG_FONT_STEP * SIZE * 2 };
    tg_rgb palette[TG_INK_END];
    tg_raster a, b;
    tg_err err;
    size_t greys = 0;

    tg_raster_palette(palette, (tg_colormap){.dark = false});
    CHECK_OK(tg_raster_make(&a, SIDE, SIDE, &err), &err);
    CHECK_OK(tg_raster_make(&b, SIDE, SIDE, &err), &err);
    a.palette = b.palette = palette;
    tg_raster_text(&a, 0, 0, SIZE, TG_RIGHT, TG_INK_TEXT, "K");
    tg_raster_text(&b, 0, SIDE - 1, SIZE, TG_UP, TG_INK_TEXT, "K");
    for (size_t y = 0; y < SIDE; y++) {
        for (size_t x = 0; x < SIDE; x++) {
            const size_t column = x / SIZE, row = y / SIZE, middle = SIZE / 2;
            const bool inside = column < TG_FONT_WIDTH && row < TG_FONT_HEIGHT;
            const bool dot = inside && tg_font_glyph('K')[row] >> (TG_FONT_WIDTH - 1 - column) & 1;
            const unsigned ink = a.pixel[y * SIDE + x];

            CHECK_EQ(ink, b.pixel[(SIDE - 1 - x) * SIDE + y]);
            CHECK(inside || ink == TG_INK_PAPER);
            CHECK(!dot || x % SIZE != middle || y % SIZE != middle || palette[ink].r == 0);
            greys += ink != TG_INK_PAPER && palette[ink].r > 0;
        }
    }
    CHECK(greys > SIZE * SIZE);
    CHECK_EQ(a.pixel[3 * SIZE * SIDE + 4 * SIZE + 2], TG_INK_PAPER); /* right of the K's waist */
    tg_raster_free(&a);
    tg_raster_free(&b);
}

/* What reaches beyond the image is left out. */
static void beyond_the_image(void)
{
    const tg_rgb palette[TG_INK_END] = {{0, 0, 0}};
    tg_raster r;
    tg_err err;

    CHECK_OK(tg_raster_make(&r, 4, 3, &err), &err);
    tg_raster_fill(&r, 2, 1, 100, 100, TG_INK_BLACK);
    tg_raster_fill(&r, 4, 0, 1, 1, TG_INK_BLACK);
    tg_raster_fill(&r, 0, 3, 1, 1, TG_INK_BLACK);
    for (size_t y = 0; y < 3; y++) {
        for (size_t x = 0; x < 4; x++)
            CHECK_EQ(r.pixel[y * 4 + x], x >= 2 && y >= 1 ? TG_INK_BLACK : TG_INK_PAPER);
    }
    tg_raster_text(&r, 1, 1, 3, TG_UP, TG_INK_BLACK, "WWWW");
    tg_raster_text(&r, 1, 1, 3, TG_RIGHT, TG_INK_BLACK, "WWWW");
    r.palette = palette;
    tg_raster_text(&r, 1, 1, 3, TG_UP, TG_INK_BLACK, "WWWW");
    tg_raster_text(&r, 1, 1, 3, TG_RIGHT, TG_INK_BLACK, "WWWW");
    tg_raster_hatch(&r, 0, 0, 100, 100);
    tg_raster_free(&r);
    CHECK_EQ(tg_raster_make(&r, SIZE_MAX, 2, &err), TG_ENOMEM);
}

/* ---- axes of plots */

static void check_axis(double low, double high, double factor, size_t ticks, const char *want)
{
    char text[TG_AXIS_TEXT], all[TG_AXIS_TICKS * TG_AXIS_TEXT] = "";
    tg_axis a;

    tg_axis_make(&a, low, high, factor, ticks);
    CHECK(a.n <= ticks && tg_axis_place(&a, a.low) == 0 && tg_axis_place(&a, a.high) == 1);
    for (size_t i = 0; i < a.n; i++) {
        const double place = tg_axis_place(&a, a.tick[i]);

        tg_axis_text(text, &a, a.tick[i]);
        strcat(strcat(all, text), " ");
        CHECK_NEAR(tg_axis_number(&a, place), a.tick[i], 1e-12 * fabs(a.high));
        CHECK(i == 0 || a.tick[i] > a.tick[i - 1]);
    }
    CHECK(strcmp(all, want) == 0);
}

static void axes(void)
{
    check_axis(0, 1, 20, 6, "0.0 0.2 0.4 0.6 0.8 1.0 ");
    check_axis(1.71, 4.2, 20, 6, "2.0 2.5 3.0 3.5 4.0 ");
    check_axis(-3, 3, 20, 4, "-2 0 2 ");
    check_axis(1, 2000, 20, 14, "1 2 5 10 20 50 100 200 500 1000 2000 ");
    check_axis(1, 2000, 20, 7, "1 10 100 1000 ");
    check_axis(1e-3, 1e6, 20, 6, "0.001 0.1 10 1000 100k ");
    check_axis(20, 90, 2, 8, "20 30 40 50 60 70 80 90 "); /* too little for powers */
    check_axis(0, 3e6, 20, 4, "0 1M 2M 3M ");
    check_axis(0, 40000, 20, 3, "0 20k 40k ");
    check_axis(5, 5, 20, 3, "5.0 ");
}

/* No number makes an axis that is not one. */
static void axes_of_any_numbers(void)
{
    static const double all[] = {0, 1, -1, 1e-320, 4e-308, 1e300, 1e308, -1.7e308, 1e17, HUGE_VAL, -HUGE_VAL};
    const size_t n = sizeof all / sizeof all[0];
    char text[TG_AXIS_TEXT];

    for (size_t i = 0; i < n * n; i++) {
        tg_axis a;

        tg_axis_make(&a, all[i / n], all[i % n], 4, TG_AXIS_TICKS);
        CHECK(a.n <= TG_AXIS_TICKS);
        for (size_t t = 0; t < a.n; t++)
            tg_axis_text(text, &a, a.tick[t]);
        for (size_t k = 0; k < n; k++) {
            const double place = tg_axis_place(&a, all[k]);

            CHECK(place >= 0 && place <= 1);
        }
        CHECK(tg_axis_place(&a, (double)NAN) == 0);
    }
}

static void curves_become_means(void)
{
    const double x[] = {0, 1, 1.5, 2, 3, 4, 10, 11}, y[] = {9, 1, 3, (double)NAN, HUGE_VAL, 6, 8, 9};
    double at[4], mean[4];
    tg_axis a;

    tg_axis_make(&a, 1, 10, 100, 4);
    CHECK_EQ(tg_axis_means(at, mean, 4, &a, x, y, 8), 3); /* parts of 2.25: the first, the second, the last */
    CHECK(at[0] == 1.25 && mean[0] == 2 && at[1] == 4 && mean[1] == 6 && at[2] == 10 && mean[2] == 8);
    CHECK_EQ(tg_axis_means(at, mean, 4, &a, x, y, 0), 0);
    CHECK_EQ(tg_axis_means(at, mean, 1, &a, x, (double[]){1e308, 1e308, 1.7e308, 1e308, 0, 0, 0, 0}, 4), 1);
    CHECK(isfinite(mean[0]));
}

int main(void)
{
    RUN(sha256_known_answers);
    RUN(base64_known_answers);
    RUN(colors_leave_the_paper);
    RUN(few_colors_are_smooth);
    RUN(steps_and_ends);
    RUN(scales);
    RUN(tops);
    RUN(cells_are_the_greatest);
    RUN(letters_differ);
    RUN(text_upwards);
    RUN(large_letters_are_smooth);
    RUN(beyond_the_image);
    RUN(axes);
    RUN(axes_of_any_numbers);
    RUN(curves_become_means);
    return check_done();
}
