/* The opcodes of pickles. */
#include "formats/pickle.h"

#include <string.h>

#include "formats/pickle_heap.h"
#include "lib/base/utf8.h"

/* ---- operands */

/* The next n bytes.  TG_EDATA: truncated. */
static const unsigned char *take(tg_pickle_heap *h, uint64_t n)
{
    const unsigned char *const bytes = h->bytes + h->at;

    if (n > h->n - h->at)
        tg_pickle_fail(h, "truncated: expected %llu more bytes, got %zu", (unsigned long long)n,
                       h->n - h->at);
    if (h->status)
        return NULL;
    h->at += (size_t)n;
    return bytes;
}

/* The little-endian number in the next `width` bytes, at most 8. */
static uint64_t take_number(tg_pickle_heap *h, size_t width)
{
    const unsigned char *const bytes = take(h, width);
    uint64_t number = 0;

    if (bytes)
        memcpy(&number, bytes, width);
    return number;
}

/* The next bytes up to a newline. */
static tg_span take_line(tg_pickle_heap *h)
{
    const char *const begin = (const char *)h->bytes + h->at, *const end = memchr(begin, '\n', h->n - h->at);

    if (!end)
        tg_pickle_fail(h, "truncated: a name does not end");
    if (h->status)
        return (tg_span){"", 0};
    h->at += (size_t)(end - begin) + 1;
    return (tg_span){begin, (size_t)(end - begin)};
}

/* ---- the stack */

static void push(tg_pickle_heap *h, uint32_t at)
{
    tg_pickle_words_add(h, &h->stack, at);
}

static void push_value(tg_pickle_heap *h, tg_pickle_value value)
{
    push(h, tg_pickle_add(h, value));
}

/* Values above the last mark. */
static size_t height(const tg_pickle_heap *h)
{
    return h->stack.n - (h->marks.n > 0 ? h->marks.at[h->marks.n - 1] : 0);
}

/* Whether n values are above the last mark.  TG_EDATA: fewer. */
static bool need(tg_pickle_heap *h, size_t n)
{
    if (height(h) < n)
        tg_pickle_fail(h, "needs %zu values on the stack, has %zu", n, height(h));
    return !h->status;
}

/* The last value, which must exist: removed, or left. */
static uint32_t pop(tg_pickle_heap *h)
{
    return h->stack.at[--h->stack.n];
}

static uint32_t top(const tg_pickle_heap *h)
{
    return h->stack.at[h->stack.n - 1];
}

/* Remove the last mark; returns the height of the stack where it was.  TG_EDATA: there is none. */
static size_t pop_mark(tg_pickle_heap *h)
{
    if (h->marks.n == 0)
        tg_pickle_fail(h, "needs a mark on the stack");
    return h->status ? h->stack.n : h->marks.at[--h->marks.n];
}

/* Move the values from height `from` on into a container. */
static void move(tg_pickle_heap *h, uint32_t container, size_t from)
{
    for (size_t i = from; i < h->stack.n && !h->status; i++)
        tg_pickle_append(h, container, h->stack.at[i]);
    h->stack.n = from;
}

/* Replace the values from height `from` on by a container that holds them. */
static void pack(tg_pickle_heap *h, tg_pickle_kind kind, size_t from)
{
    const uint32_t at = tg_pickle_add(h, (tg_pickle_value){.kind = kind});

    move(h, at, from);
    push(h, at);
}

/* Move the values from height `from` on into the container below them, which must be of this kind. */
static void extend(tg_pickle_heap *h, tg_pickle_kind kind, size_t from)
{
    const uint32_t container = h->stack.at[from - 1];
    const tg_pickle_kind got = h->value[container].kind;

    if (got != kind)
        tg_pickle_fail(h, "expected %s to add to, got %s", tg_pickle_kind_text(kind),
                       tg_pickle_kind_text(got));
    if (kind == TG_PICKLE_DICT && (h->stack.n - from) % 2 != 0)
        tg_pickle_fail(h, "a key without a value");
    move(h, container, from);
}

/* ---- values: what the opcodes do, whose operands are in h->operand */

static void run_none(tg_pickle_heap *h)
{
    push_value(h, (tg_pickle_value){.kind = TG_PICKLE_NONE});
}

static void run_bool(tg_pickle_heap *h)
{
    push_value(h, (tg_pickle_value){.kind = TG_PICKLE_BOOL, .of.truth = h->operand != 0});
}

static void push_int(tg_pickle_heap *h, int64_t integer)
{
    push_value(h, (tg_pickle_value){.kind = TG_PICKLE_INT, .of.integer = integer});
}

/* Of these numbers only that of 4 bytes has a sign. */
static void run_int(tg_pickle_heap *h)
{
    const uint64_t number = take_number(h, h->operand);

    push_int(h, h->operand == 4 ? (int32_t)(uint32_t)number : (int64_t)number);
}

static void run_long1(tg_pickle_heap *h)
{
    const size_t n = (size_t)take_number(h, 1);
    uint64_t number;

    if (n > 8) {
        tg_pickle_fail(h, "an integer of %u bytes, more than 8", (unsigned)n);
        return;
    }
    number = take_number(h, n);
    if (n > 0 && n < 8 && number >> (8 * n - 1) != 0)
        number |= UINT64_MAX << 8 * n;
    push_int(h, (int64_t)number);
}

static void run_float(tg_pickle_heap *h)
{
    const unsigned char *const bytes = take(h, 8);
    tg_pickle_value value = {.kind = TG_PICKLE_FLOAT};
    uint64_t bits = 0;

    for (size_t i = 0; bytes && i < 8; i++) /* big-endian, the only such number */
        bits = bits << 8 | bytes[i];
    memcpy(&value.of.real, &bits, sizeof bits);
    push_value(h, value);
}

static void run_text(tg_pickle_heap *h)
{
    const uint64_t n = take_number(h, h->operand);
    const unsigned char *const text = take(h, n);
    uint32_t code;

    for (size_t at = 0, step = 1; text && at < n && step > 0; at += step) {
        step = text[at] < 0x80 ? 1 : tg_utf8_decode(&code, text + at, (size_t)n - at);
        if (step == 0)
            tg_pickle_fail(h, "a string is not UTF-8");
    }
    push_value(h, (tg_pickle_value){.kind = TG_PICKLE_TEXT, .n = (uint32_t)n, .of.text = (const char *)text});
}

/* ---- containers */

static void run_empty(tg_pickle_heap *h)
{
    pack(h, (tg_pickle_kind)h->operand, h->stack.n);
}

static void run_short_tuple(tg_pickle_heap *h)
{
    if (need(h, h->operand))
        pack(h, TG_PICKLE_TUPLE, h->stack.n - h->operand);
}

static void run_pack(tg_pickle_heap *h)
{
    const tg_pickle_kind kind = (tg_pickle_kind)h->operand;
    const size_t from = pop_mark(h);

    if (kind == TG_PICKLE_DICT && (h->stack.n - from) % 2 != 0)
        tg_pickle_fail(h, "a key without a value");
    pack(h, kind, from);
}

/* APPEND and SETITEM. */
static void run_extend_one(tg_pickle_heap *h)
{
    const tg_pickle_kind kind = (tg_pickle_kind)h->operand;
    const size_t n = kind == TG_PICKLE_DICT ? 2 : 1;

    if (need(h, n + 1))
        extend(h, kind, h->stack.n - n);
}

/* APPENDS and SETITEMS. */
static void run_extend(tg_pickle_heap *h)
{
    const size_t from = pop_mark(h);
    const size_t below = h->marks.n > 0 ? h->marks.at[h->marks.n - 1] : 0;

    if (from == below)
        tg_pickle_fail(h, "nothing below the mark to add to");
    if (!h->status)
        extend(h, (tg_pickle_kind)h->operand, from);
}

/* ---- the stack and the memo */

static void run_mark(tg_pickle_heap *h)
{
    tg_pickle_words_add(h, &h->marks, (uint32_t)h->stack.n);
}

static void run_pop(tg_pickle_heap *h)
{
    h->stack.n -= need(h, 1);
}

static void run_pop_mark(tg_pickle_heap *h)
{
    h->stack.n = pop_mark(h);
}

static void run_dup(tg_pickle_heap *h)
{
    if (need(h, 1))
        push(h, top(h));
}

/* Remember the last value under a number. */
static void put_memo(tg_pickle_heap *h, uint64_t number)
{
    if (need(h, 1) && number >= TG_PICKLE_VALUES)
        tg_pickle_fail(h, "memo %llu, expected a number below %zu", (unsigned long long)number,
                       TG_PICKLE_VALUES);
    while (!h->status && h->memo.n <= number)
        tg_pickle_words_add(h, &h->memo, TG_PICKLE_NOTHING);
    if (!h->status)
        h->memo.at[number] = top(h);
}

static void run_put(tg_pickle_heap *h)
{
    put_memo(h, take_number(h, h->operand));
}

static void run_memoize(tg_pickle_heap *h)
{
    put_memo(h, h->memo.n);
}

static void run_get(tg_pickle_heap *h)
{
    const uint64_t number = take_number(h, h->operand);

    if (number >= h->memo.n || h->memo.at[number] == TG_PICKLE_NOTHING)
        tg_pickle_fail(h, "nothing is memo %llu", (unsigned long long)number);
    else
        push(h, h->memo.at[number]);
}

/* ---- names and calls */

static void run_global(tg_pickle_heap *h)
{
    const tg_span module = take_line(h), name = take_line(h);

    if (!h->status)
        push(h, tg_pickle_global(h, module, name));
}

static void run_stack_global(tg_pickle_heap *h)
{
    const tg_pickle_value *module, *name;

    if (!need(h, 2))
        return;
    name = &h->value[pop(h)];
    module = &h->value[pop(h)];
    if (name->kind != TG_PICKLE_TEXT || module->kind != TG_PICKLE_TEXT)
        tg_pickle_fail(h, "a name that is not a string");
    else
        push(h, tg_pickle_global(h, tg_pickle_text(module), tg_pickle_text(name)));
}

static void run_reduce(tg_pickle_heap *h)
{
    uint32_t arguments;

    if (!need(h, 2))
        return;
    arguments = pop(h);
    push(h, tg_pickle_call(h, pop(h), arguments));
}

static void run_persistent(tg_pickle_heap *h)
{
    if (need(h, 1))
        push(h, tg_pickle_persistent(h, pop(h)));
}

/* Attributes: of an OrderedDict only, as in every state_dict(), and they are dropped. */
static void run_build(tg_pickle_heap *h)
{
    tg_pickle_kind kind;

    if (!need(h, 2))
        return;
    h->stack.n--;
    kind = h->value[top(h)].kind;
    if (kind != TG_PICKLE_DICT)
        tg_pickle_fail(h, "the pickle sets attributes of %s: refused", tg_pickle_kind_text(kind));
}

/* ---- the table */

static void run_frame(tg_pickle_heap *h)
{
    const uint64_t n = take_number(h, 8);

    if (n > h->n - h->at)
        tg_pickle_fail(h, "truncated: a frame of %llu bytes, got %zu", (unsigned long long)n, h->n - h->at);
}

/* Opcodes by their names in pickletools; those without a function are refused. */
static const struct {
    const char *name;
    void (*run)(tg_pickle_heap *h);
    unsigned operand; /* a width in bytes, a number, a tg_pickle_kind */
} opcodes[256] = {
    ['('] = {"MARK", run_mark, 0},
    [')'] = {"EMPTY_TUPLE", run_empty, TG_PICKLE_TUPLE},
    ['.'] = {"STOP", NULL, 0}, /* the end */
    ['0'] = {"POP", run_pop, 0},
    ['1'] = {"POP_MARK", run_pop_mark, 0},
    ['2'] = {"DUP", run_dup, 0},
    ['B'] = {"BINBYTES", NULL, 0},
    ['C'] = {"SHORT_BINBYTES", NULL, 0},
    ['F'] = {"FLOAT", NULL, 0},
    ['G'] = {"BINFLOAT", run_float, 0},
    ['I'] = {"INT", NULL, 0},
    ['J'] = {"BININT", run_int, 4},
    ['K'] = {"BININT1", run_int, 1},
    ['L'] = {"LONG", NULL, 0},
    ['M'] = {"BININT2", run_int, 2},
    ['N'] = {"NONE", run_none, 0},
    ['P'] = {"PERSID", NULL, 0},
    ['Q'] = {"BINPERSID", run_persistent, 0},
    ['R'] = {"REDUCE", run_reduce, 0},
    ['S'] = {"STRING", NULL, 0},
    ['T'] = {"BINSTRING", NULL, 0},
    ['U'] = {"SHORT_BINSTRING", NULL, 0},
    ['V'] = {"UNICODE", NULL, 0},
    ['X'] = {"BINUNICODE", run_text, 4},
    [']'] = {"EMPTY_LIST", run_empty, TG_PICKLE_LIST},
    ['a'] = {"APPEND", run_extend_one, TG_PICKLE_LIST},
    ['b'] = {"BUILD", run_build, 0},
    ['c'] = {"GLOBAL", run_global, 0},
    ['d'] = {"DICT", run_pack, TG_PICKLE_DICT},
    ['e'] = {"APPENDS", run_extend, TG_PICKLE_LIST},
    ['g'] = {"GET", NULL, 0},
    ['h'] = {"BINGET", run_get, 1},
    ['i'] = {"INST", NULL, 0},
    ['j'] = {"LONG_BINGET", run_get, 4},
    ['l'] = {"LIST", run_pack, TG_PICKLE_LIST},
    ['o'] = {"OBJ", NULL, 0},
    ['p'] = {"PUT", NULL, 0},
    ['q'] = {"BINPUT", run_put, 1},
    ['r'] = {"LONG_BINPUT", run_put, 4},
    ['s'] = {"SETITEM", run_extend_one, TG_PICKLE_DICT},
    ['t'] = {"TUPLE", run_pack, TG_PICKLE_TUPLE},
    ['u'] = {"SETITEMS", run_extend, TG_PICKLE_DICT},
    ['}'] = {"EMPTY_DICT", run_empty, TG_PICKLE_DICT},
    [0x80] = {"PROTO", NULL, 0}, /* only at the beginning */
    [0x81] = {"NEWOBJ", NULL, 0},
    [0x82] = {"EXT1", NULL, 0},
    [0x83] = {"EXT2", NULL, 0},
    [0x84] = {"EXT4", NULL, 0},
    [0x85] = {"TUPLE1", run_short_tuple, 1},
    [0x86] = {"TUPLE2", run_short_tuple, 2},
    [0x87] = {"TUPLE3", run_short_tuple, 3},
    [0x88] = {"NEWTRUE", run_bool, 1},
    [0x89] = {"NEWFALSE", run_bool, 0},
    [0x8A] = {"LONG1", run_long1, 0},
    [0x8B] = {"LONG4", NULL, 0},
    [0x8C] = {"SHORT_BINUNICODE", run_text, 1},
    [0x8D] = {"BINUNICODE8", run_text, 8},
    [0x8E] = {"BINBYTES8", NULL, 0},
    [0x8F] = {"EMPTY_SET", NULL, 0},
    [0x90] = {"ADDITEMS", NULL, 0},
    [0x91] = {"FROZENSET", NULL, 0},
    [0x92] = {"NEWOBJ_EX", NULL, 0},
    [0x93] = {"STACK_GLOBAL", run_stack_global, 0},
    [0x94] = {"MEMOIZE", run_memoize, 0},
    [0x95] = {"FRAME", run_frame, 0},
    [0x96] = {"BYTEARRAY8", NULL, 0},
    [0x97] = {"NEXT_BUFFER", NULL, 0},
    [0x98] = {"READONLY_BUFFER", NULL, 0},
};

static void run(tg_pickle_heap *h)
{
    size_t code = 0;

    if (h->n > TG_PICKLE_BYTES)
        tg_pickle_fail(h, "%zu bytes, expected at most %zu", h->n, TG_PICKLE_BYTES);
    else if (h->n < 2 || h->bytes[0] != 0x80 || h->bytes[1] < 2 || h->bytes[1] > 5)
        tg_pickle_fail(h, "not a pickle of protocol 2 to 5");
    for (h->at = 2; !h->status && code != '.';) {
        h->opcode = h->at;
        code = (size_t)take_number(h, 1);
        h->operand = opcodes[code].operand;
        if (opcodes[code].run)
            opcodes[code].run(h);
        else if (!opcodes[code].name)
            tg_pickle_fail(h, "0x%02zX is no opcode", code);
        else if (code != '.')
            tg_pickle_fail(h, "the pickle uses the opcode %s: refused", opcodes[code].name);
    }
    if (!h->status && h->at < h->n)
        tg_pickle_fail(h, "%zu bytes follow the end", h->n - h->at);
    if (h->stack.n != 1 || h->marks.n > 0)
        tg_pickle_fail(h, "ends with %zu values and %zu marks on the stack, expected one value", h->stack.n,
                       h->marks.n);
}

tg_status tg_pickle_read(tg_pickle *p, const void *bytes, size_t n, tg_err *err)
{
    tg_pickle_heap h = {.err = err, .bytes = bytes, .n = n};

    *p = (tg_pickle){0};
    run(&h);
    if (!h.status) {
        tg_pickle_settle(p, &h, top(&h));
    }
    tg_pickle_heap_free(&h);
    return h.status;
}
