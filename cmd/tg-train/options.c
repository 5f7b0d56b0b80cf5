/* The options of tg-train, and commands that its messages suggest. */
#include "cmd/tg-train/options.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/choice.h"

/* ---- commands that a message suggests */

static void add_word(char command[TRAIN_COMMAND_SIZE], const char *word)
{
    cli_command_add(command, TRAIN_COMMAND_SIZE, word);
}

/* Add an option, unless its value is NULL. */
static void add_option(char command[TRAIN_COMMAND_SIZE], const char *option, const char *value)
{
    if (!value)
        return;
    add_word(command, option);
    add_word(command, value);
}

/* The command as it was given, for a run that was stopped. */
static void command_again(char command[TRAIN_COMMAND_SIZE], int argc, char **argv)
{
    *command = '\0';
    add_word(command, "tg-train");
    for (int i = 1; i < argc; i++)
        add_word(command, argv[i]);
}

void train_command_of_steps(char command[TRAIN_COMMAND_SIZE], const train_options *o, size_t steps)
{
    char number[24];
    bool dashed = false; /* a file looks like an option */

    *command = '\0';
    add_word(command, "tg-train");
    add_option(command, "-m", o->model);
    add_option(command, "-o", o->output);
    add_option(command, "--adapter", o->adapter);
    if (o->lora.rank > 0) {
        snprintf(number, sizeof number, "%zu", o->lora.rank);
        add_option(command, "--lora", number);
    }
    snprintf(number, sizeof number, "%zu", steps);
    add_option(command, "--steps", number);
    for (size_t i = 0; i < o->n_files; i++)
        dashed |= o->files[i][0] == '-' && !cli_is_dash(o->files[i]);
    if (dashed)
        add_word(command, "--");
    for (size_t i = 0; i < o->n_files; i++)
        add_word(command, o->files[i]);
}

/* ---- options */

/* Make the option for a setting that is saved with the run. */
static cli_option setting(train_options *o, char letter, tg_setting_id id, const char *metavar,
                          const char *help)
{
    cli_option option =
        cli_field_option(&tg_settings_fields.row[id], &o->asked, o->name[id], &o->given[id], metavar, help);

    option.letter = letter;
    return option;
}

const char *train_target(const train_options *o)
{
    return o->output ? o->output : cli_model_path(o->model);
}

/* Derive a name from the model's: NAME + suffix for NAME.npz, or for another NAME. */
static int name_after_model(char path[TRAIN_PATH_SIZE], const train_options *o, const char *suffix,
                            const char *option)
{
    const char *const target = train_target(o), *const ending = cli_ending(target);
    const size_t n = strlen(target) - (ending && strcmp(ending, "npz") == 0 ? strlen(".npz") : 0);

    if (n + strlen(suffix) >= TRAIN_PATH_SIZE)
        return cli_usage("the model's name is too long for --%s", option);
    memcpy(path, target, n);
    strcpy(path + n, suffix);
    return CLI_OK;
}

static int name_best(train_options *o)
{
    const char *const ending = cli_ending(train_target(o));

    return name_after_model(o->best, o, ending && strcmp(ending, "npz") == 0 ? ".best.npz" : ".best",
                            "keep-best");
}

/* A text to probe the model with is one of the built-in ones, by name, or any other. */
static int check_probe(train_options *o)
{
    if (!o->probe_text && (o->probe_dir || o->probe_every_given))
        return cli_usage("--%s goes with --probe", o->probe_dir ? "probe-dir" : "probe-every");
    if (!o->probe_text)
        return CLI_OK;
    if (*o->probe_text == '\0')
        return cli_usage("--probe must not be empty");
    if (o->probe_dir && cli_is_dash(o->probe_dir))
        return cli_usage("--probe-dir is a directory, not standard output");
    o->probe.has_probe = tg_choice_find(&o->probe.probe, TG_PROBES, o->probe_text);
    if (!o->probe.has_probe)
        o->probe.text = o->probe_text;
    if (!o->probe_dir)
        return name_after_model(o->snapshots, o, ".probe", "probe");
    if (strlen(o->probe_dir) >= sizeof o->snapshots)
        return cli_usage("--probe-dir is too long");
    strcpy(o->snapshots, o->probe_dir);
    return CLI_OK;
}

/* The options of an adapter. */
static int check_adapter(train_options *o)
{
    const bool more = o->lora_targets || o->lora_alpha > 0 || o->lora.rank_stabilized;

    if (cli_adapters.n > 1 || (cli_adapters.n == 1 && cli_adapters.file[0].weight != 1))
        return cli_usage("--adapter is given once, and without a weight");
    o->adapter = cli_adapters.n > 0 ? cli_adapters.file[0].path : NULL;
    if (o->adapter && o->lora.rank > 0)
        return cli_usage("--adapter begins with an adapter that is there, --lora with a new one");
    if (o->freeze && train_wants_adapter(o))
        return cli_usage(
            "--freeze is for a model that is trained: with an adapter, all of it stays as it is");
    if (more && o->lora.rank == 0)
        return cli_usage("--%s goes with --lora", o->lora_targets     ? "lora-targets"
                                                  : o->lora_alpha > 0 ? "lora-alpha"
                                                                      : "rslora");
    if (train_wants_adapter(o) && !o->output)
        return cli_usage("the model is not changed: name the adapter's file with -o FILE");
    o->lora.alpha = o->lora_alpha > 0 ? o->lora_alpha : 2 * (double)o->lora.rank;
    return CLI_OK;
}

static int check(train_options *o)
{
    if (check_adapter(o))
        return CLI_USAGE;
    if (o->val && (o->given[TG_SET_VAL_FRACTION] || o->given[TG_SET_VAL_BLOCKS]))
        return cli_usage("--val names a separate text for validation: --%s does not apply",
                         o->name[o->given[TG_SET_VAL_FRACTION] ? TG_SET_VAL_FRACTION : TG_SET_VAL_BLOCKS]);
    if (o->minutes > 0 && (o->given[TG_SET_STEPS] || o->given[TG_SET_DECAY]))
        return cli_usage("--minutes chooses the number of steps: --%s does not apply",
                         o->name[o->given[TG_SET_STEPS] ? TG_SET_STEPS : TG_SET_DECAY]);
    if (o->keep_best && name_best(o))
        return CLI_USAGE;
    return check_probe(o);
}

static const cli_tool about = {
    .name = "tg-train",
    .usage = "[-m MODEL] [OPTION]... [TOKENS]...",
    .summary = "Train a model on token archives from standard input or files. A missing model is\n"
               "created. A run that was stopped continues when the same command is given again,\n"
               "also with -o.",
    .examples = "  $ tg-tokenize < text | tg-train\n"
                "  $ tg-tokenize text > tokens.npz\n"
                "  $ tg-train --steps 500 --lr 3e-4 --log log.tsv tokens.npz",
    .files = true,
};

#define PROBE_OPTIONS(o)                                                                                     \
    CLI_TEXT_OPTION(0, "probe", &(o)->probe_text, "TEXT",                                                    \
                    "write dumps of the attention on TEXT as the model learns: snapshots, for "              \
                    "tg-attn-view; repeat, names and text are the texts of tg-attn-dump --probe"),           \
        CLI_SIZE_OPTION(0, "probe-every", &(o)->probe_every, "N", 0, TG_STEPS_MAX,                           \
                        "steps between snapshots; 0 for only the first and the last",                        \
                        .given = &(o)->probe_every_given),                                                   \
        CLI_OUTPUT_OPTION(0, "probe-dir", &(o)->probe_dir, "DIR",                                            \
                          "the directory of the snapshots (default: NAME.probe of NAME.npz)")

#define ADAPTER_OPTIONS(o)                                                                                   \
    CLI_SIZE_OPTION(0, "lora", &(o)->lora.rank, "R", 1, TG_ADAPTER_RANK_MAX,                                 \
                    "leave the model as it is, and train an adapter of rank R, which -o names"),             \
        CLI_NUMBER_OPTION(0, "lora-alpha", &(o)->lora_alpha, "X", 1e-6, 1e6,                                 \
                          "the adapter's change is multiplied with X/R (default: 2R)"),                      \
        CLI_TEXT_OPTION(                                                                                     \
            0, "lora-targets", &(o)->lora_targets, "NAMES",                                                  \
            "the matrices that it changes, as q_proj,v_proj (default: all of the blocks, all-linear)"),      \
        CLI_FLAG_OPTION(0, "rslora", &(o)->lora.rank_stabilized, "multiply with X/sqrt(R) instead"),         \
        CLI_ADAPTERS_OPTION("FILE", "leave the model as it is, and train the adapter in FILE, or in a "      \
                                    "directory of PEFT's, further")

#define BATCH_OPTIONS(o)                                                                                     \
    setting(o, 'b', TG_SET_BATCH, "N", "sequences per pass; 4 for weights that are not new"),                \
        setting(o, 'c', TG_SET_CONTEXT, "N",                                                                 \
                "tokens per sequence; 0 for the model's context, of weights that are not new at most 512"),  \
        setting(o, 0, TG_SET_FIRST_CONTEXT, "N",                                                             \
                "tokens per sequence until the learning rate begins to fall (--decay, --minutes), then "     \
                "--context; every step has the same number of tokens; 0 for --context throughout"),          \
        setting(o, 'a', TG_SET_ACCUMULATE, "N", "passes per step"),                                          \
        setting(o, 0, TG_SET_PACKING, NULL, "whether short documents share a sequence (default: yes)")

#define RATE_OPTIONS(o)                                                                                      \
    setting(o, 'l', TG_SET_LR, "X", "peak learning rate (default: 0.004 or less, see tg-train(1))"),         \
        setting(o, 0, TG_SET_MIN_LR, "X", "final learning rate (default: a tenth of --lr)"),                 \
        setting(o, 0, TG_SET_WARMUP, "N", "steps of warm-up (default: a tenth, at most 100)"),               \
        setting(o, 0, TG_SET_DECAY, "N",                                                                     \
                "steps at the end in which the learning rate falls linearly; 0 for a cosine over the run"),  \
        setting(o, 0, TG_SET_AVERAGE, "N",                                                                   \
                "after the last step, give the model the mean of the weights that it had after each of the " \
                "last N; 0 for none")

#define OPTIMIZER_OPTIONS(o)                                                                                 \
    setting(o, 0, TG_SET_OPTIMIZER, NULL,                                                                    \
            "what updates the matrices of the blocks; AdamW updates all other parameters"),                  \
        setting(o, 0, TG_SET_MOMENTUM, "X", "Muon's decay rate of the momentum"),                            \
        setting(o, 0, TG_SET_BETA1, "X", "AdamW's decay rate of the first moment"),                          \
        setting(o, 0, TG_SET_BETA2, "X", "AdamW's decay rate of the second moment")

#define TYPE_OPTIONS(o)                                                                                      \
    setting(o, 0, TG_SET_PRECISION, NULL,                                                                    \
            "type of activations between matrix products, which also round the weights to it; sums stay "    \
            "float32 (default: bf16 where the processor is faster with it)"),                                \
        setting(o, 0, TG_SET_MASTER, NULL,                                                                   \
                "type in which parameters and moments are kept between steps; bf16 takes half the memory, "  \
                "and is rounded at random")

#define VAL_OPTIONS(o)                                                                                       \
    CLI_INPUT_OPTION(0, "val", &(o)->val, "FILE",                                                            \
                     "a token archive to validate on, in place of a share of the text"),                     \
        setting(o, 0, TG_SET_VAL_FRACTION, "X", "share of the text, at its end, kept for validation"),       \
        setting(o, 0, TG_SET_VAL_BLOCKS, "N",                                                                \
                "blocks of the text of which each keeps the share, at its end, for validation")

static int parse(int argc, char **argv, train_options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model to train; created if missing (default: $TG_MODEL, else model.npz)"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
                          "save to FILE, and continue from it if it exists; '-' is standard output"),
        CLI_FLAG_OPTION(0, "force", &cli_force,
                        "with -o: do not continue from FILE but replace it, whatever it is"),
        ADAPTER_OPTIONS(o),
        CLI_TEXT_OPTION(0, "freeze", &o->freeze, "NAMES",
                        "parameters that stay as they are: embedding, layers:0-11, or patterns of names as "
                        "*.mlp.*, separated by commas; saved"),
        setting(o, 'n', TG_SET_STEPS, "N",
                "total number of steps (default: 2000, or 4000 of a short context; fewer of a short text, "
                "and for "
                "weights that are not new: see tg-train(1))"),
        CLI_NUMBER_OPTION(0, "minutes", &o->minutes, "X", 0.01, TG_MINUTES_MAX,
                          "train for X minutes in place of --steps, with other defaults: see tg-train(1)"),
        BATCH_OPTIONS(o),
        RATE_OPTIONS(o),
        OPTIMIZER_OPTIONS(o),
        setting(o, 0, TG_SET_WEIGHT_DECAY, "X", "weight decay, applied to matrices only"),
        setting(o, 0, TG_SET_CLIP, "X", "maximum norm of the gradient; 0 for no limit"),
        setting(o, 0, TG_SET_DROPOUT, "P", "probability of dropping an activation"),
        VAL_OPTIONS(o),
        TYPE_OPTIONS(o),
        setting(o, 's', TG_SET_SEED, "N",
                "seed for the order of the text, dropout, and a new model's weights"),
        CLI_SIZE_OPTION(0, "eval-every", &o->eval_every, "N", 0, TG_STEPS_MAX,
                        "steps between validations; 0 to validate only at the end"),
        CLI_SIZE_OPTION(0, "eval-tokens", &o->eval_tokens, "N", 0, 1e15, "tokens per validation; 0 for all"),
        CLI_SIZE_OPTION(0, "save-every", &o->save_every, "N", 0, TG_STEPS_MAX,
                        "steps between saves; 0 to save only at the end"),
        CLI_FLAG_OPTION(0, "keep-best", &o->keep_best,
                        "also keep the model with the least validation loss, as NAME.best.npz"),
        PROBE_OPTIONS(o),
        CLI_APPEND_OPTION(0, "log", &o->log, "FILE", "append a line per step to FILE, as TSV"),
        CLI_FLAG_OPTION(0, "recompute", &o->recompute,
                        "recompute most activations in backward instead of keeping them: less memory, more "
                        "time, the same model"),
        CLI_FLAG_OPTION(
            0, "no-lock", &o->no_lock,
            "do not keep other runs away from the file that is saved to, where its file system has no locks"),
        CLI_THREADS(&o->threads, "the model"),
        {0},
    };
    cli_tool tool = about;
    int n;

    command_again(o->again, argc, argv); /* before the arguments are rearranged */
    tool.options = options;
    n = cli_parse(argc, argv, &tool);
    if (n < 0)
        return CLI_USAGE;
    o->files = argv + 1;
    o->n_files = (size_t)n;
    return check(o);
}

/* No default to show for what lib/train/recipe.h chooses, and for what follows --lr. */
static void hide_defaults(tg_settings *s)
{
    s->steps = 0;
    s->warmup = SIZE_MAX;
    s->lr = s->min_lr = -1;
    s->precision = (tg_precision)-1;
}

int train_options_parse(int argc, char **argv, train_options *o)
{
    *o = (train_options){.asked = tg_settings_default(),
                         .eval_every = 250,
                         .eval_tokens = 32768,
                         .save_every = 500,
                         .probe_every = 250};
    hide_defaults(&o->asked);
    return parse(argc, argv, o);
}
