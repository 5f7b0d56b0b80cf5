/* Images: what the format cannot hold, and files that cannot be written. */
#define _XOPEN_SOURCE 700 /* RLIMIT_FSIZE */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/png.h"
#include "tests/unit/check.h"

#define SIDE 300

static unsigned char pixel[SIDE * SIDE];
static const unsigned char palette[256][3];

static void test_refused(void)
{
    static const struct {
        size_t width, height, colors;
    } bad[] = {{0, 1, 2}, {1, 0, 2}, {0x80000000, 1, 2}, {1, 0x80000000, 2}, {1, 1, 0}, {1, 1, 257}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tg_err err = {0};

        CHECK_EQ(tg_png_write(-1, pixel, bad[i].width, bad[i].height, palette, bad[i].colors, &err),
                 TG_EUSAGE);
        CHECK_HAS(err.message, "expected sides of 1 to 2147483647 and at most 256 colours");
    }
}

/* A file may become only so long: at every length, writing fails.  Each field of the head has four bytes or
 * more. */
static void test_full(void)
{
    FILE *f = tmpfile();
    const int fd = fileno(f);
    struct rlimit old, limit;
    const off_t step = (off_t)check_soak(7, 1);
    tg_err err = {0};
    off_t whole;

    for (size_t i = 0; i < sizeof pixel; i++)
        pixel[i] = (unsigned char)(i * i * 2654435761u >> 24);
    CHECK_OK(tg_png_write(fd, pixel, SIDE, SIDE, palette, 256, &err), &err);
    whole = lseek(fd, 0, SEEK_CUR);
    CHECK(whole > SIDE * SIDE / 2);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limit = old;
    for (off_t n = 0; n < whole; n += n < 1000 ? step : 997) {
        limit.rlim_cur = (rlim_t)n;
        CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0);
        CHECK_EQ(tg_png_write(fd, pixel, SIDE, SIDE, palette, 256, &err), TG_EIO);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    }
    fclose(f);
}

int main(void)
{
    RUN(test_refused);
    RUN(test_full);
    return check_done();
}
