/*
 * comma DIRECTORY FILE...: what the library reads and writes, in the locale of the environment, which a
 * program that uses the library may have set: numbers as text and back, the config of the model in a
 * directory of Hugging Face's, and what is in the files.  The output must not depend on the locale.  Exits
 * with 77 if the locale is not there, or has the usual decimal point.
 *
 *   -c   in the C locale, for comparison
 */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/json.h"
#include "lib/base/decimal.h"
#include "lib/info/info.h"
#include "lib/models/reading.h"

static const double numbers[] = {0,      -0.0,       0.5,       -1.25,      1e-5,      1e-45,
                                 3.4e38, 123456.789, 1e8 + 0.5, -999999.25, 1.5e9,     1e300,
                                 0.1,    1e22,       1e-300,    1234567.5,  987654321, 1.0 / 3};

/* Neither "%g" nor "%a", which have the locale's point. */
static void show(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    printf(" %016" PRIx64, bits);
}

static void show_numbers(void)
{
    char text[TG_DECIMAL_SIZE];

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *end;

        printf("%.*s", (int)(tg_decimal_float(text, (float)numbers[i]) - text), text);
        printf(" %.*s", (int)(tg_decimal_fixed(text, numbers[i]) - text), text);
        *tg_decimal_general(text, 17, numbers[i]) = '\0';
        printf(" %s", text);
        show(tg_decimal_read(text, &end));
        printf(" %zu of %zu\n", (size_t)(end - text), strlen(text));
    }
}

static void show_read(const char *text)
{
    const char *end;

    printf("%s:", text);
    show(tg_decimal_read(text, &end));
    printf(" then \"%s\"\n", end);
}

static void show_json(const char *text)
{
    tg_json j;
    double x;
    tg_err err = {0};

    tg_json_open(&j, text, strlen(text), &err);
    x = tg_json_get_number(&j);
    if (tg_json_close(&j))
        printf("%s", err.message);
    show(x);
    putchar('\n');
}

static int show_model(const char *directory)
{
    const tg_write_options o = {.type = TG_WRITE_F32};
    tg_model_file f;
    tg_err err = {0};

    if (tg_model_file_open(&f, directory, NULL, &err)) {
        printf("%s\n", err.message);
        return 1;
    }
    show(f.config.layer_norm_epsilon);
    putchar('\n');
    fflush(stdout);
    if (tg_hf_config_write(STDOUT_FILENO, &f, &o, &err))
        printf("%s\n", err.message);
    tg_model_file_close(&f);
    return 0;
}

static int show_file(const char *path)
{
    tg_info info;
    tg_err err = {0};

    if (tg_info_open(&info, path, &(tg_info_want){0}, &err)) {
        printf("%s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < info.n_values; i++)
        printf("%s = %s\n", info.value[i].name, info.value[i].text);
    for (size_t i = 0; i < info.history.n; i++) {
        show(info.history.step[i]);
        show(info.history.loss[i]);
        putchar('\n');
    }
    tg_info_close(&info);
    return 0;
}

int main(int argc, char **argv)
{
    const int first = argc > 1 && strcmp(argv[1], "-c") == 0 ? 2 : 1;
    int status = 0;

    if (first == 1 && (!setlocale(LC_ALL, "") || strcmp(localeconv()->decimal_point, ".") == 0))
        return 77;
    show_numbers();
    show_read("0.5");
    show_read("-12.75e-3 and more");
    show_read("1,5");
    show_read(".5.5");
    show_read("nan");
    show_read("x");
    show_read("");
    show_json("0.00001");
    show_json("-2.5e-3");
    for (int i = first; i < argc; i++)
        status |= i == first ? show_model(argv[i]) : show_file(argv[i]);
    return status;
}
