#include "lib/view/colormap.h"

#include <math.h>
#include <stddef.h>

/* Control points at equal distances: lightness, chroma, and hue in degrees.  Hue runs from violet
 * through blue and green to yellow; chroma stays within sRGB everywhere. */
static const double points[][3] = {
    {0.200, 0.090, 305}, {0.355, 0.120, 285}, {0.510, 0.099, 245},
    {0.665, 0.100, 175}, {0.820, 0.175, 135}, {0.975, 0.150, 105},
};

enum { LAST = sizeof points / sizeof points[0] - 1 };

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

/* Lightness, chroma and hue are linear between the control points. */
static struct lab color_of_step(size_t n)
{
    const double x = (double)n / (TG_COLORMAP_SIZE - 1) * (double)LAST;
    const size_t p = x < (double)LAST ? (size_t)x : LAST - 1;
    double c[3], hue;

    for (size_t i = 0; i < 3; i++)
        c[i] = points[p][i] + (points[p + 1][i] - points[p][i]) * (x - (double)p);
    hue = c[2] * 0.017453292519943295;
    return (struct lab){c[0], c[1] * cos(hue), c[1] * sin(hue)};
}

void tg_colormap_fill(tg_rgb map[TG_COLORMAP_SIZE])
{
    for (size_t n = 0; n < TG_COLORMAP_SIZE; n++)
        map[n] = rgb_of(color_of_step(n));
}

/* ---- 256 colours */

#define CUBE_FIRST 16
#define CUBE_SIZE 216

static unsigned char cube_level(size_t n)
{
    return (unsigned char)(n > 0 ? 55 + 40 * n : 0);
}

void tg_colormap_fill_256(unsigned char map[TG_COLORMAP_SIZE])
{
    struct lab cube[CUBE_SIZE];

    for (size_t n = 0; n < CUBE_SIZE; n++) {
        const tg_rgb c = {cube_level(n / 36), cube_level(n / 6 % 6), cube_level(n % 6)};

        cube[n] = lab_of(c);
        if (cube[n].l < 0.5 && c.r >= c.b) /* dark colours must be violet or blue, not magenta */
            cube[n].l = HUGE_VAL;
    }
    for (size_t step = 0; step < TG_COLORMAP_SIZE; step++) {
        const struct lab want = color_of_step(step);
        double least = HUGE_VAL;

        for (size_t n = 0; n < CUBE_SIZE; n++) {
            const double l = 2 * (cube[n].l - want.l), a = cube[n].a - want.a, b = cube[n].b - want.b;
            const double distance = l * l + a * a + b * b;

            if (distance < least) {
                least = distance;
                map[step] = (unsigned char)(CUBE_FIRST + n);
            }
        }
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
