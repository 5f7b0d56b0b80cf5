#include "lib/view/colormap.h"

#include <math.h>
#include <stddef.h>

/* Control points at equal distances: lightness, chroma and hue in degrees.  Hue runs from violet
 * over blue and green to yellow; chroma stays below what sRGB can show all along. */
static const double points[][3] = {
    {0.200, 0.090, 305}, {0.355, 0.120, 285}, {0.510, 0.099, 245},
    {0.665, 0.100, 175}, {0.820, 0.175, 135}, {0.975, 0.150, 105},
};

#define LAST (sizeof points / sizeof points[0] - 1)

/* sRGB's transfer function, as a byte. */
static unsigned char encode(double x)
{
    x = x <= 0 ? 0 : x >= 1 ? 1 : x;
    x = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (unsigned char)(x * 255 + 0.5);
}

/* The matrices are OKLab's definition. */
static tg_rgb from_oklch(double lightness, double chroma, double degrees)
{
    const double hue = degrees * 0.017453292519943295;
    const double a = chroma * cos(hue), b = chroma * sin(hue);
    const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);

    return (tg_rgb){encode(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                    encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                    encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

void tg_colormap_fill(tg_rgb map[TG_COLORMAP_SIZE])
{
    for (size_t n = 0; n < TG_COLORMAP_SIZE; n++) {
        const double x = (double)n / (TG_COLORMAP_SIZE - 1) * (double)LAST;
        const size_t p = x < (double)LAST ? (size_t)x : LAST - 1;
        double c[3];

        for (size_t i = 0; i < 3; i++)
            c[i] = points[p][i] + (points[p + 1][i] - points[p][i]) * (x - (double)p);
        map[n] = from_oklch(c[0], c[1], c[2]);
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
