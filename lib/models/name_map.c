/* The names of tensors from a file: see model_format.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/path.h"
#include "formats/source.h"
#include "lib/models/model_format.h"

void tg_name_map_free(tg_name_map *map)
{
    free(map->row);
    free(map->text);
    *map = (tg_name_map){0};
}

/* Whether it has N: only a pattern without it matches itself. */
static bool has_layer(const char *pattern)
{
    size_t layer;
    const tg_name row = {.pattern = pattern};
    const tg_names one = {.row = &row, .n = 1};

    return !tg_names_find(&one, pattern, &layer);
}

/* What OURS names, into *row. */
static tg_status resolve(tg_name *row, const char *ours, tg_err *err)
{
    const tg_names *gpt2 = &tg_names_gpt2;
    const tg_name *found = NULL;
    size_t layer = 0;

    if (strcmp(ours, "-") == 0) {
        row->kind = TG_NAME_IGNORED;
        return TG_OK;
    }
    for (size_t i = 0; i < gpt2->n && !found; i++)
        if (strcmp(gpt2->row[i].pattern, ours) == 0)
            found = &gpt2->row[i];
    if (!found)
        found = tg_names_find(gpt2, ours, &layer);
    if (!found || found->kind == TG_NAME_IGNORED)
        return tg_fail(err, TG_EDATA, "\"%.64s\" is not a parameter", ours);
    if (has_layer(ours) != has_layer(row->pattern))
        return tg_fail(err, TG_EDATA, "of \"%.64s\" and \"%.64s\", only one has N for the layer",
                       row->pattern, ours);
    row->kind = found->kind;
    row->part = found->part;
    row->layer = layer;
    return TG_OK;
}

/* One line; words are ended with NULs. */
static tg_status read_line(tg_name_map *map, char *line, tg_err *err)
{
    char *rest, *theirs, *ours, *third;
    tg_name *row = &map->row[map->names.n];

    line[strcspn(line, "#")] = '\0';
    theirs = strtok_r(line, " \t\r", &rest);
    ours = theirs ? strtok_r(NULL, " \t\r", &rest) : NULL;
    third = ours ? strtok_r(NULL, " \t\r", &rest) : NULL;
    if (!theirs)
        return TG_OK;
    if (!ours || (third && strcmp(third, "transposed") != 0) || strtok_r(NULL, " \t\r", &rest))
        return tg_fail(err, TG_EDATA, "expected a tensor's name, a parameter's, and perhaps \"transposed\"");
    if (map->names.n == TG_NAMES_MAX)
        return tg_fail(err, TG_EDATA, "more than %d names", TG_NAMES_MAX);
    *row = (tg_name){.pattern = theirs, .transposed = third != NULL};
    map->names.n++;
    return resolve(row, ours, err);
}

static tg_status read_lines(tg_name_map *map, const char *path, tg_err *err)
{
    char *line = map->text;

    for (size_t number = 1; line; number++) {
        char *end = strchr(line, '\n');

        if (end)
            *end = '\0';
        if (read_line(map, line, err)) {
            const tg_err why = *err;

            return tg_fail(err, why.code, "%s: line %zu: %.300s", path, number, why.message);
        }
        line = end ? end + 1 : NULL;
    }
    return TG_OK;
}

/* The file as a text that ends with a NUL. */
static tg_status read_text(char **text, int fd, tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    if (status)
        return status;
    if (!(status = tg_source_all(&source, TG_NAME_MAP_MAX, err))) {
        if (source.ready > 0 && memchr(source.next, '\0', source.ready))
            status = tg_fail(err, TG_EDATA, "a text without NUL was expected");
        else if (!(*text = malloc(source.ready + 1)))
            status = tg_fail_memory(err, source.ready + 1, "the names");
    }
    if (!status) {
        memcpy(*text, source.next, source.ready);
        (*text)[source.ready] = '\0';
    }
    tg_source_close(&source);
    return status;
}

tg_status tg_name_map_read(tg_name_map *map, const char *path, tg_err *err)
{
    const int fd = tg_path_open(path);
    tg_status status;

    *map = (tg_name_map){.names = {.what = "the list of names", .layout = TG_LAYOUT_IN_OUT}};
    if (fd < 0)
        return tg_fail_sys(err, "%s", path);
    if ((status = read_text(&map->text, fd, err)))
        status = tg_err_in(err, path);
    close(fd);
    if (!status && !(map->row = calloc(TG_NAMES_MAX, sizeof *map->row)))
        status = tg_fail_memory(err, TG_NAMES_MAX * sizeof *map->row, "the names");
    if (!status)
        status = read_lines(map, path, err);
    map->names.row = map->row;
    if (status)
        tg_name_map_free(map);
    return status;
}
