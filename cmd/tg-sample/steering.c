#include "cmd/tg-sample/steering.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cli/heads.h"
#include "lib/heads/vectors.h"

/* ---- L:FILE[*X], separated by commas */

struct item {
    size_t layer;
    double scale;
    char path[4096];
};

/* The next item of a list; false: it is not one. */
static bool take_item(const char **at, struct item *item)
{
    size_t n, name;

    if (!cli_take_size(at, &item->layer) || *(*at)++ != ':')
        return false;
    n = strcspn(*at, ",");
    name = cli_take_factor(*at, n, &item->scale);
    if (name == 0 || name >= sizeof item->path)
        return false;
    memcpy(item->path, *at, name);
    item->path[name] = '\0';
    *at += n;
    return **at == '\0' || *++*at != '\0';
}

/* Items of a list that was checked. */
static size_t count_items(const char *list)
{
    size_t n = 1;

    for (; (list = strchr(list, ',')); list++)
        n++;
    return n;
}

/* ---- before there is a model */

static char *paths; /* the vectors' files, one after another; as long as the process */

/* Let the sandbox read the files of a checked list.  Without memory for their names they cannot be read,
 * which is reported then. */
static void allow_files(const char *list)
{
    struct item item;
    char *to = paths = malloc(strlen(list) + 1);

    while (to && *list != '\0' && take_item(&list, &item)) {
        memcpy(to, item.path, strlen(item.path) + 1);
        cli_may_read(to);
        to += strlen(to) + 1;
    }
}

static int check_add(const char *list)
{
    const char *at = list;
    struct item item;

    do {
        if (!take_item(&at, &item))
            return cli_usage("--add must be LAYER:FILE or LAYER:FILE*NUMBER, separated by commas, got '%s'",
                             list);
        if (cli_is_dash(item.path))
            return cli_usage("--add reads no vector from standard input: name a file");
    } while (*at != '\0');
    allow_files(list);
    return CLI_OK;
}

int steering_check(const sample_options *o)
{
    if (o->add && check_add(o->add))
        return CLI_USAGE;
    if (o->ablate && !cli_heads_given(o->ablate))
        return cli_usage("--ablate must be LAYER.HEAD or LAYER.*, separated by commas, got '%s'", o->ablate);
    return CLI_OK;
}

/* ---- with a model */

static tg_status read_vector(float *x, const struct item *item, const tg_config *c, tg_err *err)
{
    tg_status status;
    int fd;

    if (item->layer > c->n_layer)
        return tg_fail(err, TG_EUSAGE, "--add: layer %zu is out of range: expected 0 to %zu", item->layer,
                       c->n_layer);
    if ((status = cli_open_input(&fd, item->path, err)))
        return status;
    if ((status = tg_vectors_read(x, fd, item->layer, c->n_embd, err)))
        (void)tg_err_in(err, item->path);
    cli_close_input(fd);
    return status;
}

static tg_status read_vectors(sample_steering *s, const char *list, const tg_config *c, tg_err *err)
{
    const size_t n = count_items(list), C = c->n_embd;
    const char *at = list;
    struct item item;
    tg_status status = TG_OK;

    s->add = calloc(n, sizeof *s->add);
    s->x = calloc(n * C, sizeof *s->x);
    if (!s->add || !s->x)
        return tg_fail_memory(err, n * C * sizeof *s->x, "the vectors");
    for (size_t i = 0; i < n && !status && take_item(&at, &item); i++) {
        s->add[i] = (tg_steer_vector){item.layer, item.scale, s->x + i * C};
        status = read_vector(s->x + i * C, &item, c, err);
    }
    s->steer.add = s->add;
    s->steer.n_add = n;
    return status;
}

static tg_status find_heads(sample_steering *s, const char *list, const tg_config *c, tg_err *err)
{
    if (cli_heads_find(&s->silent, &s->steer.n_silent, list, c, err))
        return tg_err_in(err, "--ablate");
    s->steer.silent = s->silent;
    return TG_OK;
}

tg_status steering_begin(sample_steering *s, tg_infer *infer, const sample_options *o, const cli_model *m,
                         tg_err *err)
{
    const tg_config *c = &m->model.config;
    tg_status status = TG_OK;

    if (!o->add && !o->ablate)
        return TG_OK;
    if ((o->add && (status = read_vectors(s, o->add, c, err))) ||
        (o->ablate && (status = find_heads(s, o->ablate, c, err))))
        return status;
    s->tap = tg_steer_tap(&s->steer);
    infer->tap = &s->tap;
    return TG_OK;
}

void steering_free(sample_steering *s)
{
    free(s->add);
    free(s->x);
    free(s->silent);
    *s = (sample_steering){0};
}
