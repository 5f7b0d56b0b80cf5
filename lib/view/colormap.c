#include "lib/view/colormap.h"

#include <math.h>
#include <stddef.h>

/* Control points at equal distances: lightness, chroma, and hue in degrees, from the paper on.  Chroma
 * stays within sRGB, except at the dark map's last yellow, whose blue is cut off. */
typedef double point[3];

#define RISE_POINTS 6   /* violet, blue, green, yellow; on light paper in the other order */
#define BRANCH_POINTS 3 /* of a map that diverges, from its middle */

static const point rise_light[RISE_POINTS] = {
    {0.985, 0.012, 110}, {0.865, 0.105, 140}, {0.720, 0.105, 185},
    {0.565, 0.110, 240}, {0.400, 0.125, 280}, {0.240, 0.100, 300},
};
static const point rise_dark[RISE_POINTS] = {
    {0.220, 0.030, 300}, {0.360, 0.110, 288}, {0.510, 0.099, 245},
    {0.665, 0.100, 175}, {0.820, 0.175, 135}, {0.975, 0.150, 105},
};
static const point below_light[BRANCH_POINTS] = {{0.985, 0, 250}, {0.690, 0.120, 250}, {0.370, 0.130, 265}};
static const point above_light[BRANCH_POINTS] = {{0.985, 0, 55}, {0.710, 0.125, 55}, {0.400, 0.125, 35}};
static const point below_dark[BRANCH_POINTS] = {{0.220, 0, 250}, {0.520, 0.130, 255}, {0.860, 0.080, 230}};
static const point above_dark[BRANCH_POINTS] = {{0.220, 0, 45}, {0.550, 0.130, 45}, {0.890, 0.110, 85}};

struct lab {
    double l, a, b;
};

/* sRGB's transfer function to a byte, and its inverse. */
static unsigned char encode(double x)
{
    x = x <= 0 ? 0 : x >= 1 ? 1 : x;
    x = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (unsigned char)(x * 255 + 0.5);
}

static double decode(unsigned char byte)
{
    const double x = byte / 255.0;

    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* These two are OKLab's definition. */
static tg_rgb rgb_of(struct lab c)
{
    const double l = pow(c.l + 0.3963377774 * c.a + 0.2158037573 * c.b, 3);
    const double m = pow(c.l - 0.1055613458 * c.a - 0.0638541728 * c.b, 3);
    const double s = pow(c.l - 0.0894841775 * c.a - 1.2914855480 * c.b, 3);

    return (tg_rgb){encode(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                    encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                    encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

static struct lab lab_of(tg_rgb c)
{
    const double r = decode(c.r), g = decode(c.g), b = decode(c.b);
    const double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);

    return (struct lab){0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

/* The colour at x, 0 to 1, of the line through `points`: lightness, chroma and hue are linear between two. */
static struct lab color_at(const point *points, size_t n, double x)
{
    const size_t last = n - 1;
    const double along = x * (double)last;
    const size_t p = along < (double)last ? (size_t)along : last - 1;
    double c[3], hue;

    for (size_t i = 0; i < 3; i++)
        c[i] = points[p][i] + (points[p + 1][i] - points[p][i]) * (along - (double)p);
    hue = c[2] * 0.017453292519943295;
    return (struct lab){c[0], c[1] * cos(hue), c[1] * sin(hue)};
}

static struct lab color_of_step(tg_colormap which, size_t n)
{
    const double x = (double)n / (TG_COLORMAP_SIZE - 1), out = fabs(2 * x - 1);

    if (!which.diverges)
        return color_at(which.dark ? rise_dark : rise_light, RISE_POINTS, x);
    if (x < 0.5)
        return color_at(which.dark ? below_dark : below_light, BRANCH_POINTS, out);
    return color_at(which.dark ? above_dark : above_light, BRANCH_POINTS, out);
}

void tg_colormap_fill(tg_rgb map[TG_COLORMAP_SIZE], tg_colormap which)
{
    for (size_t n = 0; n < TG_COLORMAP_SIZE; n++)
        map[n] = rgb_of(color_of_step(which, n));
}

/* ---- 256 colours */

#define CUBE_FIRST 16
#define GREY_FIRST 232
#define WALK_MAX 20

/* Walks from a grey near the paper, but not equal to it.  Each branch keeps its hue, red to orange or blue:
 * a cube that has no dark orange must not alternate between red and olive.  0 ends a walk. */
static const unsigned char rise_256[2][WALK_MAX] = {
    {254, 151, 115, 79, 73, 37, 31, 25, 55, 54, 17},
    {234, 18, 54, 55, 25, 31, 37, 43, 79, 78, 114, 113, 149, 155, 191, 192, 228, 229},
};
static const unsigned char below_256[2][WALK_MAX] = {
    {254, 153, 111, 75, 68, 32, 26, 25, 19, 18},
    {234, 18, 19, 25, 26, 32, 68, 75, 111, 153},
};
static const unsigned char above_256[2][WALK_MAX] = {
    {254, 223, 216, 209, 202, 166, 160, 124, 88, 52},
    {234, 52, 88, 124, 160, 166, 202, 209, 216, 223},
};

/* A level of the cube as a byte. */
static unsigned char byte_of_level(unsigned level)
{
    return (unsigned char)(level > 0 ? 55 + 40 * level : 0);
}

tg_rgb tg_rgb_of_256(unsigned char color)
{
    const unsigned at = color - (unsigned)CUBE_FIRST;
    const unsigned char grey = (unsigned char)(8 + 10 * (color - GREY_FIRST));

    if (color >= GREY_FIRST)
        return (tg_rgb){grey, grey, grey};
    return (tg_rgb){byte_of_level(at / 36), byte_of_level(at / 6 % 6), byte_of_level(at % 6)};
}

static double distance(unsigned char one, unsigned char other)
{
    const struct lab p = lab_of(tg_rgb_of_256(one)), q = lab_of(tg_rgb_of_256(other));

    return sqrt((p.l - q.l) * (p.l - q.l) + (p.a - q.a) * (p.a - q.a) + (p.b - q.b) * (p.b - q.b));
}

/* The colour of a walk that is nearest to x of its way, 0 to 1. */
static unsigned char walk_at(const unsigned char walk[WALK_MAX], double x)
{
    double length = 0, gone = 0;
    size_t n;

    for (n = 0; walk[n + 1] > 0; n++)
        length += distance(walk[n], walk[n + 1]);
    for (n = 0; walk[n + 1] > 0; n++) {
        const double next = distance(walk[n], walk[n + 1]);

        if (gone + next / 2 > x * length)
            break;
        gone += next;
    }
    return walk[n];
}

void tg_colormap_fill_256(unsigned char map[TG_COLORMAP_SIZE], tg_colormap which)
{
    for (size_t n = 0; n < TG_COLORMAP_SIZE; n++) {
        const double x = (double)n / (TG_COLORMAP_SIZE - 1);

        if (!which.diverges)
            map[n] = walk_at(rise_256[which.dark], x);
        else
            map[n] = walk_at((x < 0.5 ? below_256 : above_256)[which.dark], fabs(2 * x - 1));
    }
}

unsigned tg_colormap_step(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 1 ? TG_COLORMAP_SIZE - 1 : (unsigned)(x * (TG_COLORMAP_SIZE - 1) + 0.5);
}

unsigned tg_rgb_luma(tg_rgb c)
{
    return (c.r * 54u + c.g * 183u + c.b * 19u) >> 8;
}
