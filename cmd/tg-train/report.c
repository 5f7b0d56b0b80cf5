#include "cmd/tg-train/report.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cmd/cli/cli.h"

#define LONG_STEP 2.0 /* seconds */

tg_status train_report_open(train_report *r, const tg_settings *settings, size_t first, const char *log_path,
                            tg_err *err)
{
    *r = (train_report){
        .settings = settings,
        .first = first,
        .step = first,
        .shown = -1,
        .val_loss = nan(""),
    };
    return log_path ? train_log_open(&r->log, log_path, first, err) : TG_OK;
}

static double seconds(const train_report *r)
{
    return (r->pausing ? r->pause_began : cli_now()) - r->start;
}

/* Steps done by this process, with the part of the current one. */
static double steps_done(const train_report *r)
{
    return (double)(r->step - r->first) + (r->pausing ? 0 : r->part);
}

static double tokens_per_second(const train_report *r)
{
    const tg_settings *s = r->settings;
    double tokens = steps_done(r) * (double)(s->batch * s->context * s->accumulate);
    double t = seconds(r);

    return t > 0 ? tokens / t : 0;
}

/* Of the steps from `first` to `end`, those in which the learning rate falls. */
static double falling(const tg_settings *s, double first, double end)
{
    return fmax(0, end - fmax(first, (double)(s->steps - s->decay)));
}

/* Some steps are done. */
static double time_left(const train_report *r)
{
    const tg_settings *s = r->settings;
    const double first = (double)r->first, end = (double)s->steps, done = steps_done(r);
    const double per_step = (seconds(r) - r->longer * falling(s, first, first + done)) / done;

    return per_step * (end - first - done) + r->longer * falling(s, first + done, end);
}

/* Append to a line; what does not fit is cut. */
TG_PRINTF(3, 4) static void add(char *line, size_t size, const char *format, ...)
{
    const size_t used = strlen(line);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(line + used, size - used, format, ap);
    va_end(ap);
}

/* How far the current step or evaluation is: "step 3/6 + 45%".  Quick steps do not show it. */
static void add_part(const train_report *r, char *line, size_t size)
{
    const double done = steps_done(r);

    if (r->part <= 0)
        return;
    if (r->pausing)
        add(line, size, ", validating %.0f%%", 100 * r->part);
    else if (r->step == r->first || seconds(r) > LONG_STEP * done)
        add(line, size, " + %.0f%%", 100 * r->part);
}

static void format(const train_report *r, char *line, size_t size)
{
    const tg_settings *s = r->settings;
    const double done = steps_done(r);

    snprintf(line, size, r->estimated ? "step %s of about %s" : "step %s/%s", cli_count(r->step),
             cli_count(s->steps));
    add_part(r, line, size);
    if (r->step > r->first)
        add(line, size, "  loss %.4f", r->last.loss);
    if (!isnan(r->val_loss))
        add(line, size, "  val %.4f", r->val_loss);
    if (r->step > r->first)
        add(line, size, "  lr %.1e", r->last.lr);
    if (done > 0)
        add(line, size, "  %s tok/s  %s left", cli_count((uint64_t)tokens_per_second(r)),
            cli_duration(time_left(r)));
}

static void show(train_report *r)
{
    char line[256];

    format(r, line, sizeof line);
    cli_progress(line);
}

void train_report_say(const train_report *r)
{
    char line[256];

    format(r, line, sizeof line);
    cli_say("%s", line);
}

static tg_status write_log(train_report *r, bool evaluated, tg_err *err)
{
    char line[TRAIN_LOG_LINE];

    snprintf(line, sizeof line, "%zu\t%.6f\t", r->step, r->last.loss);
    if (evaluated)
        add(line, sizeof line, "%.6f", r->val_loss);
    add(line, sizeof line, "\t%.6e\t%.6f\t%.0f\t%.3f\n", r->last.lr, r->last.grad_norm, tokens_per_second(r),
        seconds(r));
    return train_log_write(&r->log, line, strlen(line), err);
}

void train_report_part(train_report *r, double fraction)
{
    /* the first line, which a quick step shows at once, is not due before a long one has begun */
    double shown = r->shown < 0 ? r->start : r->shown;

    r->part = fraction;
    if (!cli_progress_due(&shown))
        return;
    r->shown = shown;
    show(r);
}

tg_status train_report_step(train_report *r, tg_err *err)
{
    const bool evaluated = r->val_step == r->step;

    if (evaluated)
        r->shown = -1; /* show a line at once */
    if (cli_progress_due(&r->shown))
        show(r);
    return r->log.path ? write_log(r, evaluated, err) : TG_OK;
}

/* ", validation loss 1.2345, 0.6789 bits per byte"; nothing, if there is none. */
static void add_validation(char *line, size_t size, const train_report *r)
{
    if (isnan(r->val_loss))
        return;
    add(line, size, ", validation loss %.4f", r->val_loss);
    if (r->val_bytes > 0)
        add(line, size, ", %.4f bits per byte", r->val_loss / log(2) / r->val_bytes);
}

void train_report_begin(const train_report *r)
{
    char validation[120] = "";

    add_validation(validation, sizeof validation, r);
    if (*validation)
        cli_note("before the first step%s", validation);
}

void train_report_conclude(const train_report *r)
{
    char validation[120] = "";

    if (r->step == r->first)
        return;
    add_validation(validation, sizeof validation, r);
    if (!isnan(r->val_loss) && r->val_step != r->step)
        add(validation, sizeof validation, " (at step %s)", cli_count(r->val_step));
    cli_note("step %s: loss %.4f%s", cli_count(r->step), r->last.loss, validation);
}

void train_report_pause(train_report *r)
{
    r->pause_began = cli_now();
    r->pausing = true;
}

void train_report_resume(train_report *r)
{
    r->start += cli_now() - r->pause_began;
    r->pausing = false;
    r->part = 0;
}
