/* The opcodes of pickles. */
#include "formats/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "formats/pickle_heap.h"
#include "lib/base/utf8.h"

/* What an opcode does; its operand is h->operand. */
typedef tg_status operation(tg_pickle_heap *h, tg_err *err);

/* ---- values */

static tg_status run_none(tg_pickle_heap *h, tg_err *err)
{
    return tg_pickle_push_value(h, (tg_pickle_value){.kind = TG_PICKLE_NONE}, err);
}

static tg_status run_bool(tg_pickle_heap *h, tg_err *err)
{
    return tg_pickle_push_value(h, (tg_pickle_value){.kind = TG_PICKLE_BOOL, .of.truth = h->operand != 0},
                                err);
}

static tg_status push_int(tg_pickle_heap *h, int64_t integer, tg_err *err)
{
    return tg_pickle_push_value(h, (tg_pickle_value){.kind = TG_PICKLE_INT, .of.integer = integer}, err);
}

static tg_status run_unsigned(tg_pickle_heap *h, tg_err *err)
{
    uint64_t number;
    const tg_status status = tg_pickle_take_number(h, &number, h->operand, err);

    return status ? status : push_int(h, (int64_t)number, err);
}

static tg_status run_int4(tg_pickle_heap *h, tg_err *err)
{
    uint64_t number;
    const tg_status status = tg_pickle_take_number(h, &number, 4, err);

    return status ? status : push_int(h, (int32_t)(uint32_t)number, err);
}

static tg_status run_long1(tg_pickle_heap *h, tg_err *err)
{
    uint64_t n, number;
    tg_status status = tg_pickle_take_number(h, &n, 1, err);

    if (status)
        return status;
    if (n > 8)
        return tg_pickle_fail(h, err, "an integer of %u bytes, more than 8", (unsigned)n);
    if ((status = tg_pickle_take_number(h, &number, (size_t)n, err)))
        return status;
    if (n > 0 && n < 8 && number >> (8 * n - 1) != 0)
        number |= UINT64_MAX << 8 * n;
    return push_int(h, (int64_t)number, err);
}

static tg_status run_float(tg_pickle_heap *h, tg_err *err)
{
    const unsigned char *bytes;
    const tg_status status = tg_pickle_take(h, &bytes, 8, err);
    tg_pickle_value value = {.kind = TG_PICKLE_FLOAT};
    uint64_t bits = 0;

    if (status)
        return status;
    for (size_t i = 0; i < 8; i++) /* big-endian, the only such number */
        bits = bits << 8 | bytes[i];
    memcpy(&value.of.real, &bits, sizeof bits);
    return tg_pickle_push_value(h, value, err);
}

static tg_status run_text(tg_pickle_heap *h, tg_err *err)
{
    const unsigned char *text;
    uint64_t n;
    uint32_t code;
    tg_status status = tg_pickle_take_number(h, &n, h->operand, err);

    if (status || (status = tg_pickle_take(h, &text, n, err)))
        return status;
    for (size_t at = 0, step; at < n; at += step) {
        step = text[at] < 0x80 ? 1 : tg_utf8_decode(&code, text + at, (size_t)n - at);
        if (step == 0)
            return tg_pickle_fail(h, err, "a string is not UTF-8");
    }
    return tg_pickle_push_value(
        h, (tg_pickle_value){.kind = TG_PICKLE_TEXT, .n = (uint32_t)n, .of.text = (const char *)text}, err);
}

/* ---- containers */

static tg_status run_empty(tg_pickle_heap *h, tg_err *err)
{
    return tg_pickle_pack(h, (tg_pickle_kind)h->operand, h->stack.n, err);
}

static tg_status run_short_tuple(tg_pickle_heap *h, tg_err *err)
{
    const size_t n = h->operand;
    const tg_status status = tg_pickle_need(h, n, err);

    return status ? status : tg_pickle_pack(h, TG_PICKLE_TUPLE, h->stack.n - n, err);
}

static tg_status run_pack(tg_pickle_heap *h, tg_err *err)
{
    const tg_pickle_kind kind = (tg_pickle_kind)h->operand;
    size_t from;
    tg_status status = tg_pickle_pop_mark(h, &from, err);

    if (status)
        return status;
    if (kind == TG_PICKLE_DICT && (h->stack.n - from) % 2 != 0)
        return tg_pickle_fail(h, err, "a key without a value");
    return tg_pickle_pack(h, kind, from, err);
}

/* APPEND and SETITEM. */
static tg_status run_extend_one(tg_pickle_heap *h, tg_err *err)
{
    const tg_pickle_kind kind = (tg_pickle_kind)h->operand;
    const size_t n = kind == TG_PICKLE_DICT ? 2 : 1;
    const tg_status status = tg_pickle_need(h, n + 1, err);

    return status ? status : tg_pickle_extend(h, kind, h->stack.n - n, err);
}

/* APPENDS and SETITEMS. */
static tg_status run_extend(tg_pickle_heap *h, tg_err *err)
{
    const tg_pickle_kind kind = (tg_pickle_kind)h->operand;
    size_t from, below;
    tg_status status = tg_pickle_pop_mark(h, &from, err);

    if (status)
        return status;
    below = h->marks.n > 0 ? h->marks.at[h->marks.n - 1] : 0;
    if (from == below)
        return tg_pickle_fail(h, err, "nothing below the mark to add to");
    return tg_pickle_extend(h, kind, from, err);
}

/* ---- the stack and the memo */

static tg_status run_mark(tg_pickle_heap *h, tg_err *err)
{
    return tg_pickle_words_add(h, &h->marks, (uint32_t)h->stack.n, err);
}

static tg_status run_pop(tg_pickle_heap *h, tg_err *err)
{
    const tg_status status = tg_pickle_need(h, 1, err);

    h->stack.n -= !status;
    return status;
}

static tg_status run_pop_mark(tg_pickle_heap *h, tg_err *err)
{
    size_t from;
    const tg_status status = tg_pickle_pop_mark(h, &from, err);

    if (!status)
        h->stack.n = from;
    return status;
}

static tg_status run_dup(tg_pickle_heap *h, tg_err *err)
{
    const tg_status status = tg_pickle_need(h, 1, err);

    return status ? status : tg_pickle_push(h, tg_pickle_top(h), err);
}

/* Remember the last value under a number. */
static tg_status put_memo(tg_pickle_heap *h, uint64_t number, tg_err *err)
{
    tg_status status = tg_pickle_need(h, 1, err);

    if (!status && number >= TG_PICKLE_VALUES)
        return tg_pickle_fail(h, err, "memo %llu, expected a number below %zu", (unsigned long long)number,
                              TG_PICKLE_VALUES);
    while (!status && h->memo.n <= number)
        status = tg_pickle_words_add(h, &h->memo, TG_PICKLE_NOTHING, err);
    if (!status)
        h->memo.at[number] = tg_pickle_top(h);
    return status;
}

static tg_status run_put(tg_pickle_heap *h, tg_err *err)
{
    uint64_t number;
    const tg_status status = tg_pickle_take_number(h, &number, h->operand, err);

    return status ? status : put_memo(h, number, err);
}

static tg_status run_memoize(tg_pickle_heap *h, tg_err *err)
{
    return put_memo(h, h->memo.n, err);
}

static tg_status run_get(tg_pickle_heap *h, tg_err *err)
{
    uint64_t number;
    const tg_status status = tg_pickle_take_number(h, &number, h->operand, err);

    if (status)
        return status;
    if (number >= h->memo.n || h->memo.at[number] == TG_PICKLE_NOTHING)
        return tg_pickle_fail(h, err, "nothing is memo %llu", (unsigned long long)number);
    return tg_pickle_push(h, h->memo.at[number], err);
}

/* ---- names and calls */

static tg_status run_global(tg_pickle_heap *h, tg_err *err)
{
    const char *module, *name;
    size_t module_n, name_n;
    uint32_t at;
    tg_status status;

    if ((status = tg_pickle_take_line(h, &module, &module_n, err)) ||
        (status = tg_pickle_take_line(h, &name, &name_n, err)) ||
        (status = tg_pickle_global(h, &at, module, module_n, name, name_n, err)))
        return status;
    return tg_pickle_push(h, at, err);
}

static tg_status run_stack_global(tg_pickle_heap *h, tg_err *err)
{
    tg_status status = tg_pickle_need(h, 2, err);
    const tg_pickle_value *module, *name;
    uint32_t at;

    if (status)
        return status;
    name = &h->value[tg_pickle_pop(h)];
    module = &h->value[tg_pickle_pop(h)];
    if (name->kind != TG_PICKLE_TEXT || module->kind != TG_PICKLE_TEXT)
        return tg_pickle_fail(h, err, "a name that is not a string");
    status = tg_pickle_global(h, &at, module->of.text, module->n, name->of.text, name->n, err);
    return status ? status : tg_pickle_push(h, at, err);
}

static tg_status run_reduce(tg_pickle_heap *h, tg_err *err)
{
    tg_status status = tg_pickle_need(h, 2, err);
    uint32_t arguments, result;

    if (status)
        return status;
    arguments = tg_pickle_pop(h);
    if ((status = tg_pickle_call(h, &result, tg_pickle_pop(h), arguments, err)))
        return status;
    return tg_pickle_push(h, result, err);
}

static tg_status run_persistent(tg_pickle_heap *h, tg_err *err)
{
    tg_status status = tg_pickle_need(h, 1, err);
    uint32_t result;

    if (status || (status = tg_pickle_persistent(h, &result, tg_pickle_pop(h), err)))
        return status;
    return tg_pickle_push(h, result, err);
}

/* Attributes: of an OrderedDict only, as in every state_dict(), and they are dropped. */
static tg_status run_build(tg_pickle_heap *h, tg_err *err)
{
    const tg_status status = tg_pickle_need(h, 2, err);

    if (status)
        return status;
    h->stack.n--;
    if (h->value[tg_pickle_top(h)].kind != TG_PICKLE_DICT)
        return tg_pickle_fail(h, err, "the pickle sets attributes of %s: refused",
                              tg_pickle_kind_text(h->value[tg_pickle_top(h)].kind));
    return TG_OK;
}

/* ---- the table */

static tg_status run_frame(tg_pickle_heap *h, tg_err *err)
{
    uint64_t n;
    const tg_status status = tg_pickle_take_number(h, &n, 8, err);

    if (!status && n > h->n - h->at)
        return tg_pickle_fail(h, err, "truncated: a frame of %llu bytes, got %zu", (unsigned long long)n,
                              h->n - h->at);
    return status;
}

/* Opcodes by their names in pickletools; those without a function are refused. */
static const struct {
    const char *name;
    operation *run;
    unsigned operand; /* a width in bytes, a number, a tg_pickle_kind */
} opcodes[256] = {
    ['('] = {"MARK", run_mark, 0},
    [')'] = {"EMPTY_TUPLE", run_empty, TG_PICKLE_TUPLE},
    ['.'] = {"STOP", NULL, 0}, /* handled before */
    ['0'] = {"POP", run_pop, 0},
    ['1'] = {"POP_MARK", run_pop_mark, 0},
    ['2'] = {"DUP", run_dup, 0},
    ['B'] = {"BINBYTES", NULL, 0},
    ['C'] = {"SHORT_BINBYTES", NULL, 0},
    ['F'] = {"FLOAT", NULL, 0},
    ['G'] = {"BINFLOAT", run_float, 0},
    ['I'] = {"INT", NULL, 0},
    ['J'] = {"BININT", run_int4, 0},
    ['K'] = {"BININT1", run_unsigned, 1},
    ['L'] = {"LONG", NULL, 0},
    ['M'] = {"BININT2", run_unsigned, 2},
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

static tg_status begin(tg_pickle_heap *h, tg_err *err)
{
    if (h->n > TG_PICKLE_BYTES)
        return tg_pickle_fail(h, err, "%zu bytes, expected at most %zu", h->n, TG_PICKLE_BYTES);
    if (h->n < 2 || h->bytes[0] != 0x80 || h->bytes[1] < 2 || h->bytes[1] > 5)
        return tg_pickle_fail(h, err, "not a pickle of protocol 2 to 5");
    h->at = 2;
    return TG_OK;
}

static tg_status step(tg_pickle_heap *h, unsigned char code, tg_err *err)
{
    h->operand = opcodes[code].operand;
    if (opcodes[code].run)
        return opcodes[code].run(h, err);
    if (opcodes[code].name)
        return tg_pickle_fail(h, err, "the pickle uses the opcode %s: refused", opcodes[code].name);
    return tg_pickle_fail(h, err, "0x%02X is no opcode", code);
}

static tg_status run(tg_pickle_heap *h, tg_err *err)
{
    tg_status status = begin(h, err);
    const unsigned char *code = NULL;

    while (!status) {
        h->opcode = h->at;
        if ((status = tg_pickle_take(h, &code, 1, err)) || *code == '.')
            break;
        status = step(h, *code, err);
    }
    if (status)
        return status;
    if (h->at < h->n)
        return tg_pickle_fail(h, err, "%zu bytes follow the end", h->n - h->at);
    if (h->stack.n != 1 || h->marks.n > 0)
        return tg_pickle_fail(h, err, "ends with %zu values and %zu marks on the stack, expected one value",
                              h->stack.n, h->marks.n);
    return TG_OK;
}

tg_status tg_pickle_read(tg_pickle *p, const void *bytes, size_t n, tg_err *err)
{
    tg_pickle_heap h = {.bytes = bytes, .n = n};
    tg_status status = run(&h, err);

    *p = (tg_pickle){0};
    if (!status) {
        p->root = tg_pickle_top(&h);
        status = tg_pickle_settle(p, &h, err);
    }
    tg_pickle_heap_free(&h);
    return status;
}
