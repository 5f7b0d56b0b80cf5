#include "cmd/tg-sample/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tg-sample/output.h"
#include "cmd/tg-sample/steering.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/text/chat.h"
#include "lib/tokens/windows.h"

typedef struct conversation {
    const cli_model *m;
    const sample_options *o;
    tg_chat chat;
    tg_generator g;
    sample_steering steering;
    int32_t *ids; /* [n] all that has been said; owned */
    size_t n, capacity;
    size_t run;  /* of them, those that the model has run */
    size_t room; /* tokens that the model sees at most */
    bool terminal;
    bool forgets; /* the beginning, since this answer */
} conversation;

static tg_status add_ids(void *context, const int32_t *ids, size_t n, bool is_answer, tg_err *err)
{
    conversation *c = context;
    const tg_status status =
        tg_grow(&c->ids, &c->capacity, c->n + n, sizeof *c->ids, "the conversation", err);

    (void)is_answer;
    if (status)
        return status;
    memcpy(c->ids + c->n, ids, n * sizeof *ids);
    c->n += n;
    return TG_OK;
}

/* ---- an answer */

/* Run what the model has not run yet.  If the conversation has become longer than it can see, the older half
 * of what it sees is forgotten. */
static void run_new(conversation *c)
{
    const size_t seen = c->g.infer.cache.past, more = c->n - c->run, half = tg_size_max(1, c->room / 2);

    if (more == 0)
        return;
    if (seen > 0 && seen + more <= c->room)
        tg_generator_append(&c->g, c->ids + c->run, more);
    else if (c->n <= c->room)
        (void)tg_generator_begin(&c->g, c->ids, c->n);
    else
        (void)tg_generator_begin(&c->g, c->ids + c->n - half, half);
    c->forgets = c->forgets || (c->n > c->room && (seen == 0 || seen + more > c->room));
    c->run = c->n;
    c->g.step = c->n; /* random numbers do not repeat */
}

static tg_status generate(conversation *c, sample_output *out, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < c->o->n && !cli_stop_signal(); i++) {
        run_new(c);
        if ((status = cli_model_check(c->m, err)) ||
            (status = tg_generator_choose(&c->g, &c->o->sampling, err)))
            return status;
        if (tg_chat_is_end(&c->chat, c->g.ids[0]))
            return TG_OK;
        if ((status = add_ids(c, c->g.ids, 1, true, err)) ||
            (status = sample_output_add(out, 0, c->g.ids[0], err)) ||
            (status = sample_output_flush(out, err)))
            return status;
        if (sample_output_all_done(out))
            return TG_OK;
    }
    return status;
}

static tg_status answer(conversation *c, tg_err *err)
{
    sample_output out;
    tg_status status = tg_chat_ask(&c->chat, err);

    if (status)
        return status;
    if (!(status = sample_output_begin(&out, c->m->model.tokenizer, 1, tg_chat_stop(&c->chat), SAMPLE_LINE,
                                       err))) {
        out.last = '\0'; /* an empty answer is also a line */
        sample_output_follow(&out, c->ids[c->n - 1]);
        status = generate(c, &out, err);
        if (!status && !sample_output_all_done(&out)) /* otherwise the text that ends it is there */
            status = tg_chat_answered(&c->chat, err);
        if (!status)
            sample_output_end(&out);
    }
    sample_output_free(&out);
    if (status || (status = sample_output_flush_lines(err)))
        return status;
    if (c->forgets)
        cli_note("the conversation has %s tokens, and the model sees %s: it has forgotten the beginning",
                 cli_count(c->n), cli_count(c->room));
    c->forgets = false;
    return TG_OK;
}

/* ---- the conversation */

static void prompt(const conversation *c)
{
    if (c->terminal)
        fputs("> ", stdout);
    (void)fflush(stdout);
}

static tg_status converse(conversation *c, tg_err *err)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    tg_status status = TG_OK;

    for (prompt(c); !status && !cli_stop_signal() && (n = getline(&line, &size, stdin)) >= 0; prompt(c)) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n == 0)
            continue;
        cli_catch_stop(c->terminal ? "\nending this answer; again to stop now"
                                   : "ending this answer; again to stop now",
                       "");
        if (!(status = tg_chat_message(&c->chat, TG_CHAT_USER, line, (size_t)n, err)))
            status = answer(c, err);
        cli_release_stop();
    }
    if (!status && ferror(stdin)) {
        (void)tg_fail_sys(err, "cannot read");
        status = tg_err_in(err, "standard input");
    }
    free(line);
    if (c->terminal && !cli_stop_signal())
        putchar('\n');
    return status;
}

static tg_status open_chat(conversation *c, tg_err *err)
{
    const sample_options *o = c->o;
    int32_t bos;
    tg_status status = cli_chat_open(&c->chat, o->template, c->m->model.chat, c->m->path,
                                     c->m->model.tokenizer, add_ids, c, err);

    if (status)
        return status;
    if ((status = cli_text_bos(&bos, &o->text, c->m, c->chat.kind != TG_CHAT_PLAIN, err)))
        tg_chat_close(&c->chat);
    else
        (void)tg_chat_begin_with(&c->chat, bos);
    return status;
}

tg_status sample_chat(const cli_model *m, const sample_options *o, tg_err *err)
{
    conversation c = {.m = m, .o = o, .terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
    tg_status status;

    c.room = tg_size_min(m->model.config.n_ctx, TG_TOKENS_WINDOW);
    if ((status = open_chat(&c, err)))
        return status;
    if (!(status = tg_generator_open(&c.g, &m->model, (tg_weight_type)o->type, 1, c.room, err))) {
        status = steering_begin(&c.steering, &c.g.infer, o, m, err);
        if (!status && o->system)
            status = tg_chat_message(&c.chat, TG_CHAT_SYSTEM, o->system, strlen(o->system), err);
        if (!status)
            status = converse(&c, err);
        tg_generator_close(&c.g);
    } else if (status == TG_EDATA) {
        (void)tg_err_in(err, cli_input_name(m->path));
    }
    steering_free(&c.steering);
    tg_chat_close(&c.chat);
    free(c.ids);
    return status;
}
