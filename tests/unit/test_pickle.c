/* Pickles: every opcode that is read, every one that is refused, hostile ones, cut ones, and with memory
 * failing. */
#include "formats/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "tests/unit/failing.h"

/* A pickle that is written down: its bytes and their number. */
#define P(text) text, sizeof(text) - 1

#define SHOWN 8192

/* ---- a tree, written as Python would */

static void show_value(char *out, const tg_pickle *p, const tg_pickle_value *v);

static void show_items(char *out, const tg_pickle *p, const tg_pickle_value *v, const char *open,
                       const char *close)
{
    strcat(out, open);
    for (size_t i = 0; i < v->n; i++) {
        if (i > 0)
            strcat(out, v->kind == TG_PICKLE_DICT && i % 2 ? ":" : ",");
        show_value(out, p, tg_pickle_item(p, v, i));
    }
    strcat(out, close);
}

static void show_tensor(char *out, const tg_pickle_tensor *t)
{
    char dtype[TG_ARRAY_TEXT_MAX], shape[TG_ARRAY_TEXT_MAX], stride[TG_ARRAY_TEXT_MAX];

    sprintf(out + strlen(out), "T<%s,%.*s[%zu]+%zu,%s,%s>", tg_dtype_text(dtype, t->dtype), (int)t->storage.n,
            t->storage.p, t->storage_count, t->offset, tg_shape_text(shape, t->ndim, t->shape),
            tg_shape_text(stride, t->ndim, t->stride));
}

static void show_value(char *out, const tg_pickle *p, const tg_pickle_value *v)
{
    char *const end = out + strlen(out);

    switch (v->kind) {
    case TG_PICKLE_BOOL:
        sprintf(end, "%s", v->of.truth ? "True" : "False");
        break;
    case TG_PICKLE_INT:
        sprintf(end, "%lld", (long long)v->of.integer);
        break;
    case TG_PICKLE_FLOAT:
        sprintf(end, "%.17g", v->of.real);
        break;
    case TG_PICKLE_TEXT:
        sprintf(end, "'%.*s'", (int)v->n, v->of.text);
        break;
    case TG_PICKLE_TUPLE:
        show_items(out, p, v, "(", ")");
        break;
    case TG_PICKLE_LIST:
        show_items(out, p, v, "[", "]");
        break;
    case TG_PICKLE_DICT:
        show_items(out, p, v, "{", "}");
        break;
    case TG_PICKLE_TENSOR:
        show_tensor(out, &p->tensor[v->of.first]);
        break;
    default:
        sprintf(end, "%s", tg_pickle_kind_text(v->kind));
    }
}

/* Read a copy of the bytes that ends where they do, and show it, or the error. */
static tg_status show(char out[SHOWN], const char *bytes, size_t n, tg_err *err)
{
    char *const copy = malloc(n + 1);
    tg_pickle p;
    tg_status status;

    memcpy(copy + 1, bytes, n);
    status = tg_pickle_read(&p, copy + 1, n, err);
    *out = '\0';
    if (!status)
        show_value(out, &p, p.root);
    tg_pickle_free(&p);
    free(copy);
    return status;
}

static void check_reads(const char *bytes, size_t n, const char *want)
{
    char got[SHOWN];
    tg_err err = {0};

    CHECK_OK(show(got, bytes, n, &err), &err);
    CHECK(strcmp(got, want) == 0);
    if (strcmp(got, want) != 0)
        printf("    got %s, expected %s\n", got, want);
}

static void check_refused(const char *bytes, size_t n, const char *why)
{
    char got[SHOWN];
    tg_err err = {0};

    CHECK_EQ(show(got, bytes, n, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
}

/* ---- what is read */

static void test_scalars(void)
{
    check_reads(P("\x80\2N."), "None");
    check_reads(P("\x80\2\x88."), "True");
    check_reads(P("\x80\2\x89."), "False");
    check_reads(P("\x80\2K\xFF."), "255");
    check_reads(P("\x80\2M\1\2."), "513");
    check_reads(P("\x80\2J\xFF\xFF\xFF\xFF."), "-1");
    check_reads(P("\x80\2J\0\0\0\x80."), "-2147483648");
    check_reads(P("\x80\2\x8A\0."), "0");
    check_reads(P("\x80\2\x8A\1\xFF."), "-1");
    check_reads(P("\x80\2\x8A\5\0\0\0\0\1."), "4294967296");
    check_reads(P("\x80\2\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F."), "9223372036854775807");
    check_reads(P("\x80\2\x8A\x08\0\0\0\0\0\0\0\x80."), "-9223372036854775808");
    check_reads(P("\x80\2G\x3F\xF8\0\0\0\0\0\0."), "1.5");
    check_reads(P("\x80\2X\3\0\0\0a\xC3\xA9."), "'a\xC3\xA9'");
    check_reads(P("\x80\4\x8C\2ab."), "'ab'");
    check_reads(P("\x80\4\x8D\2\0\0\0\0\0\0\0ab."), "'ab'");
    check_reads(P("\x80\5\x95\2\0\0\0\0\0\0\0N."), "None");
}

static void test_containers(void)
{
    check_reads(P("\x80\2)."), "()");
    check_reads(P("\x80\2]."), "[]");
    check_reads(P("\x80\2}."), "{}");
    check_reads(P("\x80\2K\1\x85."), "(1)");
    check_reads(P("\x80\2K\1K\2\x86."), "(1,2)");
    check_reads(P("\x80\2K\1K\2K\3\x87."), "(1,2,3)");
    check_reads(P("\x80\2(K\1K\2K\3K\4t."), "(1,2,3,4)");
    check_reads(P("\x80\2(K\1K\2l."), "[1,2]");
    check_reads(P("\x80\2(K\1Nd."), "{1:None}");
    check_reads(P("\x80\2]K\1a(K\2K\3e(e."), "[1,2,3]");
    check_reads(P("\x80\2}K\1Ns(K\2]K\3)u(u."), "{1:None,2:[],3:()}");
    check_reads(P("\x80\2](K\1(K\2te."), "[1,(2)]");
}

static void test_stack(void)
{
    check_reads(P("\x80\2K\1N0."), "1");
    check_reads(P("\x80\2K\1(NN1."), "1");
    check_reads(P("\x80\2K\1"
                  "2\x86."),
                "(1,1)");
    check_reads(P("\x80\2K\7q\0"
                  "0h\0."),
                "7");
    check_reads(P("\x80\2K\7r\0\1\0\0"
                  "0j\0\1\0\0."),
                "7");
    check_reads(P("\x80\4]\x94K\1\x94"
                  "ah\1a."),
                "[1,1]");
    /* a list that is in a dict before it has its items, and has two parents */
    check_reads(P("\x80\2}X\1\0\0\0a]q\0sX\1\0\0\0bh\0sh\0K\5a0."), "{'a':[5],'b':[5]}");
}

/* ---- tensors */

#define OD "ccollections\nOrderedDict\n)R"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define STORAGE(type, key, count) "(X\7\0\0\0storagectorch\n" type "\nX\1\0\0\0" key "X\3\0\0\0cpu" count "tQ"

static void test_tensors(void)
{
    check_reads(
        P("\x80\2" REBUILD "(" STORAGE("FloatStorage", "7", "K\6") "K\0K\2K\3\x86K\3K\1\x86\x89" OD "tR."),
        "T<<f4,7[6]+0,(2, 3),(3, 1)>");
    check_reads(P("\x80\2" REBUILD "(" STORAGE("BFloat16Storage", "0", "K\x09") "K\1))\x88N}tR."),
                "T<bf16,0[9]+1,(),()>");
    check_reads(P("\x80\2ctorch._utils\n_rebuild_parameter\n" REBUILD
                  "(" STORAGE("LongStorage", "0", "K\1") "K\0ctorch\nSize\nK\1\x85\x85RK\1\x85\x89" OD
                                                         "tR\x88" OD "\x87R."),
                "T<<i8,0[1]+0,(1,),(1,)>");
    check_reads(P("\x80\2" OD "X\1\0\0\0wNs}X\x09\0\0\0_metadata}sb."), "{'w':None}");
    check_reads(P("\x80\4\x8C\x0B"
                  "collections\x8C\x0BOrderedDict\x93)R."),
                "{}");
}

static void test_storage_types(void)
{
    static const struct {
        const char *name, *type;
    } types[] = {{"FloatStorage", "<f4"},     {"DoubleStorage", "<f8"}, {"HalfStorage", "<f2"},
                 {"BFloat16Storage", "bf16"}, {"LongStorage", "<i8"},   {"IntStorage", "<i4"},
                 {"ShortStorage", "<i2"},     {"CharStorage", "|i1"},   {"ByteStorage", "|u1"},
                 {"BoolStorage", "|b1"}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char bytes[512], want[64];
        const char before[] = "\x80\2" REBUILD "((X\7\0\0\0storagectorch\n";
        const char after[] = "\nX\1\0\0\0"
                             "0X\3\0\0\0cpuK\1tQK\0))\x89}tR.";
        size_t n = sizeof before - 1;

        memcpy(bytes, before, n);
        memcpy(bytes + n, types[i].name, strlen(types[i].name));
        n += strlen(types[i].name);
        memcpy(bytes + n, after, sizeof after - 1);
        sprintf(want, "T<%s,0[1]+0,(),()>", types[i].type);
        check_reads(bytes, n + sizeof after - 1, want);
    }
}

static void test_bad_tensors(void)
{
#define TENSOR(storage, offset, shape, strides, grad, rest)                                                  \
    P("\x80\2" REBUILD "(" storage offset shape strides grad rest "tR.")
#define FLOATS STORAGE("FloatStorage", "0", "K\6")
    check_refused(TENSOR("N", "K\0", ")", ")", "\x89", "N"),
                  "a tensor's storage: expected a storage, got None");
    check_refused(TENSOR(FLOATS, "J\xFF\xFF\xFF\xFF", ")", ")", "\x89", "N"), "a tensor's offset is -1");
    check_refused(TENSOR(FLOATS, "N", ")", ")", "\x89", "N"), "a tensor's offset: expected an integer");
    check_refused(TENSOR(FLOATS, "K\0", "]", ")", "\x89", "N"),
                  "a tensor's shape: expected a tuple, got a list");
    check_refused(TENSOR(FLOATS, "K\0", "N\x85", ")", "\x89", "N"), "a tensor's shape: expected an integer");
    check_refused(TENSOR(FLOATS, "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", ")", "\x89", "N"),
                  "a tensor's shape: expected 0 to 8 values, got 9");
    check_refused(TENSOR(FLOATS, "K\0", "K\1\x85", ")", "\x89", "N"), "1 dimensions and 0 strides");
    check_refused(TENSOR(FLOATS, "K\0", "K\1\x85", "J\xFE\xFF\xFF\xFF\x85", "\x89", "N"), "strides is -2");
    check_refused(TENSOR(FLOATS, "K\0", ")", ")", "K\1", "N"), "requires_grad: expected True or False");
    check_refused(TENSOR(FLOATS, "K\0", ")", ")", "\x89", "K\1"), "hooks");
    check_refused(TENSOR(FLOATS, "K\0", ")", ")", "\x89", "N}K\1Ns"), "metadata");
    check_refused(TENSOR(FLOATS, "K\0", ")", ")", "\x89", ""), "expected 6 to 7 values, got 5");
    check_refused(TENSOR(FLOATS, "K\0", ")", ")", "\x89", "NNN"), "expected 6 to 7 values, got 8");
    check_refused(TENSOR(STORAGE("FloatStorage", "0", "J\xFF\xFF\xFF\xFF"), "K\0", ")", ")", "\x89", "N"),
                  "number of elements is -1");
    check_refused(TENSOR(STORAGE("Size", "0", "K\1"), "K\0", ")", ")", "\x89", "N"), "got torch.Size");
    check_refused(P("\x80\2NQ."), "a persistent identifier: expected a tuple");
    check_refused(P("\x80\2(NNNNNtQ."), "does not name a storage");
    check_refused(P("\x80\2(X\7\0\0\0storageNNNNtQ."), "a storage's type: expected a function");
    check_refused(P("\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nK\0X\3\0\0\0cpuK\1tQ."),
                  "a storage's key: expected a string, got an integer");
    check_refused(P("\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                    "0K\0K\1tQ."),
                  "a storage's device: expected a string, got an integer");
    check_refused(P("\x80\2" FLOATS "."), "a storage where a value is expected");
    check_refused(P("\x80\2ctorch._utils\n_rebuild_parameter\nN\x88N\x87R."), "expected a tensor, got None");
    check_refused(
        P("\x80\2ctorch._utils\n_rebuild_parameter\n" REBUILD "(" FLOATS "K\0))\x89NtR\x88K\1\x87R."),
        "a parameter with hooks: refused");
    check_refused(P("\x80\2"
                    "ctorch\nSize\n)R."),
                  "torch.Size: expected 1 to 1 values, got 0");
}

/* ---- what is refused */

static void test_calls(void)
{
    check_refused(P("\x80\2"
                    "cos\nsystem\nX\4\0\0\0true\x85R."),
                  "the pickle calls os.system: refused");
    check_refused(P("\x80\2"
                    "cposix\nsystem\n."),
                  "byte 2 of the pickle: the pickle calls posix.system: refused");
    check_refused(P("\x80\2"
                    "cbuiltins\neval\n."),
                  "the pickle calls builtins.eval: refused");
    check_refused(P("\x80\2"
                    "c__builtin__\nexec\n."),
                  "the pickle calls __builtin__.exec: refused");
    check_refused(P("\x80\2"
                    "ctorch\nload\n."),
                  "the pickle calls torch.load: refused");
    check_refused(P("\x80\2"
                    "ctorch._utils\n_rebuild_tensor_v3\n."),
                  "_rebuild_tensor_v3: refused");
    check_refused(P("\x80\2"
                    "ctorch\nFloatStorage2\n."),
                  "torch.FloatStorage2: refused");
    check_refused(P("\x80\2"
                    "ctorch.x\nFloatStorage\n."),
                  "torch.x.FloatStorage: refused");
    check_refused(P("\x80\2"
                    "c\x1B[31m\n\xFF\n."),
                  "the pickle calls ?[31m.?: refused");
    check_refused(P("\x80\4\x8C\2os\x8C\6system\x93."), "the pickle calls os.system: refused");
    check_refused(P("\x80\2"
                    "ctorch\nFloatStorage\n)R."),
                  "the pickle calls torch.FloatStorage: refused");
    check_refused(P("\x80\2N)R."), "expected a function, got None");
    check_refused(P("\x80\2"
                    "ccollections\nOrderedDict\nN\x85R."),
                  "OrderedDict: expected 0 to 0 values, got 1");
    check_refused(P("\x80\2"
                    "ccollections\nOrderedDict\n."),
                  "a function where a value is expected");
    check_refused(P("\x80\2]Nb."), "sets attributes of a list: refused");
    check_refused(P("\x80\2NN\x93."), "a name that is not a string");
}

static void test_opcodes(void)
{
    static const struct {
        unsigned char code;
        const char *name;
    } refused[] = {{'B', "BINBYTES"},
                   {'C', "SHORT_BINBYTES"},
                   {'F', "FLOAT"},
                   {'I', "INT"},
                   {'L', "LONG"},
                   {'P', "PERSID"},
                   {'S', "STRING"},
                   {'T', "BINSTRING"},
                   {'U', "SHORT_BINSTRING"},
                   {'V', "UNICODE"},
                   {'g', "GET"},
                   {'i', "INST"},
                   {'o', "OBJ"},
                   {'p', "PUT"},
                   {0x80, "PROTO"},
                   {0x81, "NEWOBJ"},
                   {0x82, "EXT1"},
                   {0x83, "EXT2"},
                   {0x84, "EXT4"},
                   {0x8B, "LONG4"},
                   {0x8E, "BINBYTES8"},
                   {0x8F, "EMPTY_SET"},
                   {0x90, "ADDITEMS"},
                   {0x91, "FROZENSET"},
                   {0x92, "NEWOBJ_EX"},
                   {0x96, "BYTEARRAY8"},
                   {0x97, "NEXT_BUFFER"}};

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char bytes[] = "\x80\2?\0\0\0\0.", want[128];

        bytes[2] = (char)refused[i].code;
        sprintf(want, "byte 2 of the pickle: the pickle uses the opcode %s: refused", refused[i].name);
        check_refused(bytes, sizeof bytes - 1, want);
    }
    check_refused(P("\x80\2\xFF."), "0xFF is no opcode");
}

/* Every opcode on an empty stack, after a mark, and with few bytes left. */
static void test_every_byte(void)
{
    static const char *const before[] = {"", "(", "N", "N(", "NN", "](", "}(N", "NNNN"};
    char got[SHOWN];
    tg_err err;

    for (unsigned code = 0; code < 256; code++)
        for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
            for (size_t rest = 0; rest < 12; rest++) {
                char bytes[32] = "\x80\2";
                size_t n = 2 + strlen(before[i]);

                memcpy(bytes + 2, before[i], strlen(before[i]));
                bytes[n++] = (char)code;
                memset(bytes + n, '.', rest);
                err = (tg_err){0};
                CHECK(show(got, bytes, n + rest, &err) == TG_OK || err.message[0] != '\0');
            }
}

static void test_bad_structure(void)
{
    check_refused(P(""), "not a pickle");
    check_refused(P("\x80"), "not a pickle");
    check_refused(P("\x80\1N."), "not a pickle of protocol 2 to 5");
    check_refused(P("\x80\6N."), "not a pickle of protocol 2 to 5");
    check_refused(P("(lp0\n."), "not a pickle");
    check_refused(P("\x80\2."), "ends with 0 values");
    check_refused(P("\x80\2NN."), "ends with 2 values");
    check_refused(P("\x80\2N(."), "1 marks");
    check_refused(P("\x80\2N.N"), "1 bytes follow the end");
    check_refused(P("\x80\2t."), "needs a mark");
    check_refused(P("\x80\2(e."), "nothing below the mark");
    check_refused(P("\x80\2N((e."), "nothing below the mark");
    check_refused(P("\x80\2N(e."), "expected a list to add to, got None");
    check_refused(P("\x80\2](NNu."), "expected a dict to add to, got a list");
    check_refused(P("\x80\2}(Nu."), "a key without a value");
    check_refused(P("\x80\2(Nd."), "a key without a value");
    check_refused(P("\x80\2N(\x85."), "needs 1 values on the stack, has 0");
    check_refused(P("\x80\2h\0."), "nothing is memo 0");
    check_refused(P("\x80\2Nq\1h\0."), "nothing is memo 0");
    check_refused(P("\x80\2X\2\0\0\0\xC3(."), "a string is not UTF-8");
    check_refused(P("\x80\2}(NNu."), "a dict's key: expected a string or an integer, got None");
    check_refused(P("\x80\2}(K\1NK\2NK\1Nu."), "a dict has the key 1 twice");
    check_refused(P("\x80\2}(X\1\0\0\0aNX\1\0\0\0bNX\1\0\0\0aNu."), "a dict has the key \"a\" twice");
    check_refused(P("\x80\2\x8A\x09\0\0\0\0\0\0\0\0\0."), "an integer of 9 bytes");
}

/* ---- size */

static void test_claims(void)
{
    check_refused(P("\x80\2X\xFF\xFF\xFF\xFFx."), "expected 4294967295 more bytes, got 2");
    check_refused(P("\x80\4\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFx."), "truncated");
    check_refused(P("\x80\4\x95\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFN."), "truncated: a frame");
    check_refused(P("\x80\2Nr\xFF\xFF\xFF\xFF."), "memo 4294967295");
    check_reads(P("\x80\2Nr\xFF\xFF\x0F\0."), "None");
}

/* n times `part`, between `begin` and `end`. */
static char *repeat(size_t *n, const char *begin, const char *part, size_t times, const char *end)
{
    const size_t a = strlen(begin), b = strlen(part), c = strlen(end);
    char *const text = malloc(a + b * times + c + 1);

    memcpy(text, begin, a);
    for (size_t i = 0; i < times; i++)
        memcpy(text + a + i * b, part, b);
    memcpy(text + a + b * times, end, c + 1);
    *n = a + b * times + c;
    return text;
}

static void check_repeated(const char *begin, const char *part, size_t times, const char *end,
                           const char *why)
{
    size_t n;
    char *const text = repeat(&n, begin, part, times, end);

    if (why) {
        check_refused(text, n, why);
    } else {
        tg_pickle p;
        tg_err err = {0};

        CHECK_OK(tg_pickle_read(&p, text, n, &err), &err);
        tg_pickle_free(&p);
    }
    free(text);
}

static void test_bombs(void)
{
    const size_t many = TG_PICKLE_VALUES + 10;

    check_repeated("\x80\2", "N", many, ".", "more than 1048576 values");
    check_repeated("\x80\2N", "2", many, ".", "more than 1048576 values");
    check_repeated("\x80\2", "(", many, ".", "more than 1048576 values");
    check_repeated("\x80\2]q\1N", "2a", 10, ".", "expected a list to add to");
    check_repeated("\x80\2", "]", TG_PICKLE_BYTES, ".", "expected at most");
    check_repeated("\x80\2](", "N", 500000, "e.", NULL);
    /* a list of two lists of two lists: as many values as 2 to the number of its levels */
    check_repeated("\x80\2]", "2\x86", 25, ".", "values are repeated so often");
    check_repeated("\x80\2]", "2\x86", 5, ".", NULL);
}

static void test_depth(void)
{
    check_repeated("\x80\2)", "\x85", TG_PICKLE_DEPTH - 1, ".", NULL);
    check_repeated("\x80\2)", "\x85", TG_PICKLE_DEPTH, ".", "more than 32 levels");
    check_repeated("\x80\2N", "\x85", TG_PICKLE_DEPTH, ".", NULL);
    check_repeated("\x80\2N", "\x85", 100000, ".", "more than 32 levels");
    check_repeated("\x80\2", "(", 100000, "N.", "marks on the stack");
    /* deep only through a list that was visited before */
    check_repeated("\x80\2]q\1)", "\x85", TG_PICKLE_DEPTH - 4, "ah\1\x85\x86.", NULL);
    check_repeated("\x80\2]q\1)", "\x85", TG_PICKLE_DEPTH - 3, "ah\1\x85\x86.", "more than 32 levels");
}

static void test_circles(void)
{
    check_refused(P("\x80\2]q\1h\1a."), "a list contains itself");
    check_refused(P("\x80\2}q\1K\1h\1s."), "a dict contains itself");
    check_refused(P("\x80\2]q\1h\1\x85\x85"
                    "a."),
                  "contains itself");
    check_refused(P("\x80\2]q\1]q\2h\1aa."), "contains itself");
    /* a circle that nothing leads to does no harm */
    check_reads(P("\x80\2]q\1h\1a0K\5."), "5");
}

/* ---- cut, damaged, without memory */

static const char sample[] =
    "\x80\2}q\0(X\5\0\0\0modelq\1" OD "q\2(X\1\0\0\0wq\3" REBUILD
    "q\4(" STORAGE("FloatStorage", "0",
                   "K\6") "K\0K\2K\3\x86K\3K\1\x86\x89" OD
                          "tRq\5X\1\0\0\0vh\5u}X\x09\0\0\0_metadata}sbX\1\0\0\0lG\x3F\xF8\0\0\0\0\0\0X\1\0"
                          "\0\0i\x8A\2\0\1X\1\0\0\0t](K\1NeX\1\0\0\0b\x88u.";

static void test_truncated(void)
{
    char got[SHOWN];
    tg_err err;

    check_reads(P(sample),
                "{'model':{'w':T<<f4,0[6]+0,(2, 3),(3, 1)>,'v':T<<f4,0[6]+0,(2, 3),(3, 1)>},'l':1.5,"
                "'i':256,'t':[1,None],'b':True}");
    for (size_t n = 0; n + 1 < sizeof sample; n++) {
        err = (tg_err){0};
        CHECK_EQ(show(got, sample, n, &err), TG_EDATA);
    }
}

static void test_damaged(void)
{
    char bytes[sizeof sample], got[SHOWN];
    tg_err err;

    for (size_t i = 0; i + 1 < sizeof sample; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(bytes, sample, sizeof sample);
            bytes[i] ^= (char)(1u << bit);
            err = (tg_err){0};
            CHECK(show(got, bytes, sizeof sample - 1, &err) == TG_OK || err.message[0] != '\0');
        }
}

static void test_no_memory(void)
{
    tg_status status = TG_ENOMEM;
    tg_pickle p;
    tg_err err;
    long n = 0;

    for (; status && n < 100; n++) {
        failing_after(n);
        status = tg_pickle_read(&p, sample, sizeof sample - 1, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        tg_pickle_free(&p);
    }
    CHECK(n > 5 && n < 100);
}

static void test_find(void)
{
    tg_pickle p;
    tg_err err = {0};
    const tg_pickle_value *root;

    CHECK_OK(tg_pickle_read(&p, sample, sizeof sample - 1, &err), &err);
    root = p.root;
    CHECK_EQ(tg_pickle_find(&p, root, "i")->of.integer, 256);
    CHECK(tg_pickle_find(&p, root, "mode") == NULL);
    CHECK(tg_pickle_find(&p, tg_pickle_find(&p, root, "i"), "i") == NULL);
    CHECK(tg_pickle_find(&p, tg_pickle_find(&p, root, "model"), "w") ==
          tg_pickle_find(&p, tg_pickle_find(&p, root, "model"), "v"));
    tg_pickle_free(&p);
}

/* A tensor after any number of values, so that each list of the reader has to grow there once. */
static void test_no_memory_for_tensor(void)
{
    static const char tensor[] = REBUILD "(" FLOATS "K\0))\x89NtR.";
    char bytes[4 * 130 + sizeof tensor] = "\x80\2";
    size_t failures = 0;

    for (size_t n = 2; n < 2 + 2 * 130; n += 2) {
        tg_status status = TG_ENOMEM;

        memcpy(bytes + n, tensor, sizeof tensor - 1);
        for (long left = 0; status == TG_ENOMEM; left++, failures++) {
            tg_pickle p;
            tg_err err = {0};

            failing_after(left);
            status = tg_pickle_read(&p, bytes, n + sizeof tensor - 1, &err);
            failing_after(-1);
            tg_pickle_free(&p);
        }
        CHECK_EQ(status, TG_OK);
        memcpy(bytes + n, "N0", 2);
    }
    CHECK(failures > 3 * 130);
}

int main(void)
{
    RUN(test_scalars);
    RUN(test_containers);
    RUN(test_stack);
    RUN(test_tensors);
    RUN(test_storage_types);
    RUN(test_bad_tensors);
    RUN(test_calls);
    RUN(test_opcodes);
    RUN(test_every_byte);
    RUN(test_bad_structure);
    RUN(test_claims);
    RUN(test_bombs);
    RUN(test_depth);
    RUN(test_circles);
    RUN(test_truncated);
    RUN(test_damaged);
    RUN(test_no_memory);
    RUN(test_find);
    RUN(test_no_memory_for_tensor);
    return check_done();
}
