/* JSON read value by value, whole, cut, damaged, deep, and with memory failing. */
#include "formats/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"

/* ---- all of a text, written down in a form of its own */

#define SHOWN 4096

/* Append a value's scalar, or its opening: n, t, f, #size, "bytes in hex", [, {. */
static void show_value(char *out, tg_json *j, char *close)
{
    const tg_json_kind kind = tg_json_peek(j);
    tg_span text;

    *close = 0;
    out += strlen(out);
    if (j->status)
        return;
    if (kind == TG_JSON_ARRAY || kind == TG_JSON_OBJECT) {
        strcpy(out, kind == TG_JSON_ARRAY ? "[" : "{");
        *close = kind == TG_JSON_ARRAY ? ']' : '}';
        tg_json_enter(j, kind);
    } else if (kind == TG_JSON_BOOL) {
        strcpy(out, tg_json_get_bool(j) ? "t" : "f");
    } else if (kind == TG_JSON_STRING) {
        text = tg_json_get_text(j);
        for (size_t i = 0; i < text.n; i++)
            sprintf(out + 2 * i, "%02x", (unsigned char)text.p[i]);
        strcat(out, "'");
    } else if (kind == TG_JSON_NUMBER) {
        sprintf(out, "#%zu", tg_json_get_size(j));
    } else if (kind == TG_JSON_NULL) {
        tg_json_skip(j);
        strcpy(out, "n");
    }
}

/* Show a whole text. */
static tg_status show(char out[SHOWN], const void *text, size_t n, tg_err *err)
{
    char close[TG_JSON_DEPTH + 1] = "", opened;
    size_t depth = 0;
    tg_span key;
    tg_json j;
    bool more;

    tg_json_open(&j, text, n, err);
    *out = '\0';
    do {
        show_value(out, &j, &opened);
        if (opened && !j.status)
            close[depth++] = opened;
        for (more = false; depth > 0 && !more && !j.status;) {
            if (close[depth - 1] != '}')
                more = tg_json_element(&j);
            else if ((more = tg_json_key(&j, &key)))
                sprintf(out + strlen(out), "%.*s=", (int)key.n, key.p);
            if (!more && !j.status)
                sprintf(out + strlen(out), "%c", close[--depth]);
        }
    } while (!j.status && depth > 0);
    tg_json_end(&j);
    return tg_json_close(&j);
}

/* What skipping finds. */
static tg_status skip(const void *text, size_t n, tg_err *err)
{
    tg_json j;

    tg_json_open(&j, text, n, err);
    tg_json_skip(&j);
    tg_json_end(&j);
    return tg_json_close(&j);
}

static const char sample[] = "{\"a\": [1, 2, {}, [], null], \"\": \"x\\u0041\\uD83D\\uDE00\\n\\\\\\\"\",\n"
                             " \"b\" : {\"c\":true , \"d\":[[false]], \"\xC3\xA9\":\"\xE2\x82\xAC\"}}\n";
static const char sample_shown[] = "{a=[#1#2{}[]n]=7841f09f98800a5c22'b={c=td=[[f]]\xC3\xA9=e282ac'}}";

static void values(void)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"null", "n"},
        {" true\n", "t"},
        {"false", "f"},
        {"0", "#0"},
        {"18446744073709551615", "#18446744073709551615"},
        {"\"\"", "'"},
        {"\"\\u0000\"", "00'"},
        {"\"\\/\\b\\f\\r\\t\"", "2f080c0d09'"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"[[],[[]]]", "[[][[]]]"},
        {"{\"a\":{\"b\":[{}]}}", "{a={b=[{}]}}"},
        {sample, sample_shown},
    };
    char out[SHOWN];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_err err = {0};

        CHECK_OK(show(out, cases[i].text, strlen(cases[i].text), &err), &err);
        CHECK(strcmp(out, cases[i].shown) == 0);
        CHECK_OK(skip(cases[i].text, strlen(cases[i].text), &err), &err);
    }
}

/* Both ways of reading refuse a text, with the same place and words. */
static void bad_texts(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "line 1, column 1 (byte 0): expected a value, the text ends"},
        {"\n\n  x", "line 3, column 3 (byte 4): expected a value, got 'x'"},
        {"nul", "expected a value, got 'n'"},
        {"[1,]", "column 4 (byte 3): expected a value, got ']'"},
        {"[,1]", "column 2 (byte 1): expected a value, got ','"},
        {"[1 2]", "column 4 (byte 3): expected ',' or ']', got '2'"},
        {"[1", "expected ',' or ']', the text ends"},
        {"[1}", "expected ',' or ']', got '}'"},
        {"{\"a\" 1}", "expected ':' after the key, got '1'"},
        {"{a:1}", "column 2 (byte 1): expected a key in quotes, got 'a'"},
        {"{\"a\":1,}", "expected a key in quotes, got '}'"},
        {"{\"a\":}", "expected a value, got '}'"},
        {"{\"a\":1 \"b\":2}", "expected ',' or '}', got '\"'"},
        {"1 2", "column 3 (byte 2): expected the end of the text, got '2'"},
        {"{} ]", "expected the end of the text, got ']'"},
        {"\"a", "column 3 (byte 2): expected the string's closing quote, the text ends"},
        {"\"\xC3\xA9\xC3\xA9\n\"",
         "column 4 (byte 5): expected no control characters in a string, got byte 0x0A"},
        {"\"\\x\"", "column 2 (byte 1): expected \\\", \\\\, \\/"},
        {"\"\\", "got '\\'"},
        {"\"\\u12\"", "column 2 (byte 1): expected"},
        {"\"\\u12G4\"", "column 2 (byte 1): expected"},
        {"\"\\uD800\"", "or a pair of surrogates, got '\\'"},
        {"\"\\uD800\\u0041\"", "or a pair of surrogates"},
        {"\"\\uD800\\uD800\"", "or a pair of surrogates"},
        {"\"\\uDC00\\uD800\"", "or a pair of surrogates"},
        {"\"\\uD83Dx\"", "or a pair of surrogates"},
        {"\"\xC3\"", "column 2 (byte 1): expected UTF-8, got byte 0xC3"},
        {"\"\xED\xA0\x80\"", "expected UTF-8, got byte 0xED"},
        {"\"\xF5\x80\x80\x80\"", "expected UTF-8, got byte 0xF5"},
        {"-", "expected a digit, the text ends"},
        {"+1", "expected a value, got '+'"},
        {".5", "expected a value, got '.'"},
        {"1.", "expected a digit, the text ends"},
        {"1.e3", "expected a digit, got 'e'"},
        {"1e", "expected a digit, the text ends"},
        {"1e+", "expected a digit, the text ends"},
        {"01", "column 2 (byte 1): expected the end of the text, got '1'"},
        {"NaN", "expected a value, got 'N'"},
        {"\xEF\xBB\xBF[]", "expected a value, got byte 0xEF"},
        {"/**/[]", "expected a value, got '/'"},
    };
    char out[SHOWN];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_err read = {0}, skipped = {0};

        CHECK_EQ(show(out, cases[i].text, strlen(cases[i].text), &read), TG_EDATA);
        CHECK_EQ(skip(cases[i].text, strlen(cases[i].text), &skipped), TG_EDATA);
        CHECK_HAS(read.message, cases[i].message);
        CHECK_HAS(skipped.message, cases[i].message);
    }
}

static void numbers(void)
{
    static const char *const good[] = {"-0",  "-1",   "1.5",        "0.0",
                                       "1e3", "1E-3", "-12.25e+10", "99999999999999999999"};
    static const char *const bad[] = {
        "-0", "-1", "1.5", "1e3", "18446744073709551616", "99999999999999999999"};
    tg_json j;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        tg_err err = {0};

        CHECK_OK(skip(good[i], strlen(good[i]), &err), &err);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char want[96];
        tg_err err = {0};

        tg_json_open(&j, bad[i], strlen(bad[i]), &err);
        CHECK_EQ(tg_json_get_size(&j), 0);
        CHECK_EQ(tg_json_close(&j), TG_EDATA);
        snprintf(want, sizeof want, "expected an integer from 0 to 18446744073709551615, got %s", bad[i]);
        CHECK_HAS(err.message, want);
    }
}

static void doubles(void)
{
    static char digits[3000] = "0.";
    static const struct {
        const char *text, *message;
    } bad[] = {{"-", "expected a digit, the text ends"},
               {"1e999", "1e999 is beyond the range of a double"},
               {digits, "a number of 2999 characters, expected at most"}};
    tg_json j;
    tg_err err = {0};

    memset(digits + 2, '1', sizeof digits - 3);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tg_json_open(&j, bad[i].text, strlen(bad[i].text), &err);
        CHECK(tg_json_get_number(&j) == 0);
        CHECK_EQ(tg_json_close(&j), TG_EDATA);
        CHECK_HAS(err.message, bad[i].message);
    }
    tg_json_open(&j, "-2.5e1", 6, &err);
    CHECK(tg_json_get_number(&j) == -25);
    CHECK_OK(tg_json_close(&j), &err);
}

static void other_types(void)
{
    tg_json j;
    tg_err err = {0};

    tg_json_open(&j, "[1]", 3, &err);
    tg_json_enter(&j, TG_JSON_OBJECT);
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
    CHECK_HAS(err.message, "line 1, column 1 (byte 0): expected an object, got an array");
    tg_json_open(&j, " 1", 2, &err);
    CHECK_EQ(tg_json_get_text(&j).n, 0);
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
    CHECK_HAS(err.message, "column 2 (byte 1): expected a string, got a number");
    tg_json_open(&j, "null", 4, &err);
    CHECK(!tg_json_get_bool(&j));
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
    CHECK_HAS(err.message, "expected true or false, got null");
    tg_json_open(&j, "tru", 3, &err);
    (void)tg_json_get_bool(&j);
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
}

/* After a failure everything does nothing, and the first message stays. */
static void first_failure(void)
{
    static const char *const names[] = {"a"};
    tg_err err = {0};
    tg_span key = {0};
    size_t at = 1;
    tg_json j;

    tg_json_open(&j, "[true, {\"a\": 7}]", 16, &err);
    tg_json_enter(&j, TG_JSON_ARRAY);
    CHECK(tg_json_element(&j));
    CHECK_EQ(tg_json_get_size(&j), 0);
    CHECK_HAS(err.message, "line 1, column 2 (byte 1): expected a number, got true or false");
    at = j.at;
    CHECK(!tg_json_get_bool(&j) && !tg_json_element(&j) && tg_json_peek(&j) == TG_JSON_NULL);
    tg_json_skip(&j);
    tg_json_enter(&j, TG_JSON_ARRAY);
    CHECK_EQ(j.at, at);
    (void)tg_json_go(&j, 7); /* of the object */
    tg_json_members(&j, names, 1, &at);
    CHECK(at == 0 && !tg_json_key(&j, &key) && !tg_json_element_at(&j, &at));
    CHECK(tg_json_get_text(&j).n == 0 && tg_json_get_number(&j) == 0 && tg_json_get_size(&j) == 0);
    tg_json_end(&j);
    CHECK_EQ(tg_json_fail(&j, "another failure"), TG_EDATA);
    CHECK_EQ(j.depth, 1);
    CHECK_HAS(err.message, "line 1, column 2 (byte 1): expected a number, got true or false");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
}

/* Every character, as \uXXXX and as it is, against UTF-8 written naively. */
static void characters(void)
{
    for (unsigned code = 1; code <= 0x10FFFF; code++) {
        char escaped[32], plain[16];
        unsigned char want[5] = {0};
        const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        tg_json j;
        tg_span text;
        size_t n = 0;

        if (code < 0x80)
            want[n++] = (unsigned char)code;
        else if (code < 0x800)
            want[n++] = (unsigned char)(0xC0 + code / 0x40);
        else if (code < 0x10000)
            want[n++] = (unsigned char)(0xE0 + code / 0x1000),
            want[n++] = (unsigned char)(0x80 + code / 0x40 % 0x40);
        else
            want[n++] = (unsigned char)(0xF0 + code / 0x40000),
            want[n++] = (unsigned char)(0x80 + code / 0x1000 % 0x40),
            want[n++] = (unsigned char)(0x80 + code / 0x40 % 0x40);
        if (code >= 0x80)
            want[n++] = (unsigned char)(0x80 + code % 0x40);
        if (code < 0x10000)
            sprintf(escaped, "\"\\u%04x\"", code);
        else
            sprintf(escaped, "\"\\u%04X\\u%04x\"", 0xD800 + (code - 0x10000) / 0x400,
                    0xDC00 + (code - 0x10000) % 0x400);
        sprintf(plain, "\"%s\"", (char *)want);
        tg_json_open(&j, escaped, strlen(escaped), NULL);
        text = tg_json_get_text(&j);
        CHECK(surrogate ? text.n == 0 : text.n == n && memcmp(text.p, want, n) == 0);
        CHECK_EQ(tg_json_close(&j), surrogate ? TG_EDATA : TG_OK);
        if (!surrogate && code >= 0x20 && code != '"' && code != '\\') {
            tg_json_open(&j, plain, strlen(plain), NULL);
            text = tg_json_get_text(&j);
            CHECK(text.n == n && memcmp(text.p, want, n) == 0);
            CHECK_OK(tg_json_close(&j), NULL);
        }
    }
}

/* Every beginning of a text fails; it is allocated to the byte, for the sanitizer. */
static void cut_anywhere(void)
{
    char out[SHOWN];

    for (size_t n = 0; n < strlen(sample); n++) {
        char *text = malloc(n + (n == 0));
        const tg_status want = n + 1 < strlen(sample) ? TG_EDATA : TG_OK; /* the newline may be missing */
        tg_err err = {0};

        memcpy(text, sample, n);
        CHECK_EQ(show(out, text, n, &err), want);
        CHECK_EQ(skip(text, n, &err), want);
        free(text);
    }
}

/* Any byte anywhere: refused or read, alike by both ways except for sizes, which skipping does not need. */
static void damaged_anywhere(void)
{
    char out[SHOWN];

    for (size_t at = 0; at < strlen(sample); at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[sizeof sample];
            tg_err err = {0};

            memcpy(text, sample, sizeof sample);
            text[at] = (char)byte;
            if (skip(text, strlen(sample), &err)) {
                CHECK_EQ(show(out, text, strlen(sample), &err), TG_EDATA);
                CHECK_HAS(err.message, "(byte ");
            }
        }
    }
}

/* ---- depth */

static void depth(void)
{
    enum { DEEP = 1000000 };
    char *text = malloc(2 * DEEP), out[SHOWN];
    tg_err err = {0};

    for (size_t n = TG_JSON_DEPTH; n <= TG_JSON_DEPTH + 1; n++) {
        const tg_status want = n == TG_JSON_DEPTH ? TG_OK : TG_EDATA;

        memset(text, '[', n);
        memset(text + n, ']', n);
        CHECK_EQ(show(out, text, 2 * n, &err), want);
        CHECK_EQ(skip(text, 2 * n, &err), want);
    }
    CHECK_HAS(err.message, "column 65 (byte 64): more than 64 nested arrays and objects");
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    CHECK_EQ(skip(text, (size_t)2 * DEEP, &err), TG_EDATA);
    CHECK_HAS(err.message, "more than 64");
    for (size_t i = 0; i + 5 < (size_t)2 * DEEP; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    CHECK_EQ(show(out, text, (size_t)2 * DEEP, &err), TG_EDATA);
    CHECK_HAS(err.message, "column 321 (byte 320): more than 64");
    free(text);
}

/* ---- members, and values read later */

static void members(void)
{
    static const char text[] =
        "{\"b\": [1, 2], \"x\": {\"a\": 9}, \"a\" :  \"\\u0041\", \"c\": null, \"c\": 3}";
    static const char *const names[] = {"a", "b", "c", "d"};
    size_t at[4], end, n;
    tg_span value;
    tg_json j;
    tg_err err = {0};

    tg_json_open(&j, text, strlen(text), &err);
    tg_json_members(&j, names, 4, at);
    tg_json_end(&j);
    CHECK_OK(j.status, &err);
    CHECK_EQ(at[0], strstr(text, "\"\\u") - text);
    CHECK_EQ(at[1], 6);
    CHECK_EQ(at[2], strstr(text, "3}") - text);
    CHECK_EQ(at[3], 0);
    end = tg_json_go(&j, at[0]);
    value = tg_json_get_text(&j);
    CHECK(tg_span_is(value, "A") && !tg_span_is(value, "AB") && !tg_span_is(value, ""));
    (void)tg_json_go(&j, at[1]);
    tg_json_enter(&j, TG_JSON_ARRAY);
    for (n = 0; tg_json_element_at(&j, &at[3]); n++)
        CHECK(n < 2 && text[at[3]] == "12"[n]);
    CHECK_EQ(n, 2);
    CHECK(j.depth == 0 && text[j.at] == ',');
    CHECK_EQ(tg_json_go(&j, end), at[1] + 6);
    tg_json_end(&j);
    CHECK_OK(j.status, &err);
    (void)tg_json_go(&j, at[1]);
    tg_json_enter(&j, TG_JSON_ARRAY);
    CHECK(tg_json_element(&j));
    CHECK_EQ(tg_json_get_size(&j), 1);
    CHECK_EQ(tg_json_fail(&j, "%d is odd", 1), TG_EDATA);
    CHECK_HAS(err.message, "line 1, column 8 (byte 7): 1 is odd");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);

    tg_json_open(&j, "[1 2]", 5, &err);
    tg_json_enter(&j, TG_JSON_ARRAY);
    CHECK(tg_json_element_at(&j, &n) && !tg_json_element_at(&j, &n));
    CHECK_HAS(err.message, "expected ',' or ']', got '2'");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
    tg_json_open(&j, "[x]", 3, &err);
    tg_json_enter(&j, TG_JSON_ARRAY);
    CHECK(!tg_json_element_at(&j, &n));
    CHECK_HAS(err.message, "expected a value, got 'x'");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
    tg_json_open(&j, "{\"a\":1,\"a\":2}", 13, &err);
    tg_json_members(&j, names, 1, at);
    CHECK_HAS(err.message, "column 12 (byte 11): \"a\" occurs twice");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
}

/* ---- writing */

/* A value of the wrong type is named, until the reader goes elsewhere. */
static void found_member(void)
{
    static const char text[] = "{\"a\": {\"b\": [1, -2]}, \"c\": 3}";
    size_t elsewhere;
    tg_json j;
    tg_err err = {0};

    tg_json_open(&j, text, strlen(text), &err);
    CHECK(tg_json_find(&j, 0, "c"));
    elsewhere = j.at;
    CHECK(!tg_json_find(&j, 0, "d") && !j.member);
    CHECK(tg_json_find(&j, 0, "a") && tg_json_find(&j, j.at, "b"));
    tg_json_enter(&j, TG_JSON_ARRAY);
    CHECK(tg_json_element(&j) && tg_json_get_size(&j) == 1 && tg_json_element(&j));
    CHECK_EQ(tg_json_get_size(&j), 0);
    CHECK_HAS(err.message, "line 1, column 17 (byte 16): \"b\": expected an integer from 0 to ");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);

    tg_json_open(&j, text, strlen(text), &err);
    CHECK(tg_json_find(&j, 0, "a"));
    (void)tg_json_go(&j, elsewhere);
    (void)tg_json_get_bool(&j);
    CHECK_HAS(err.message, "line 1, column 28 (byte 27): expected true or false, got a number");
    CHECK_EQ(tg_json_close(&j), TG_EDATA);
}

static void escapes(void)
{
    static const char *const also[] = {"", "<>&", "\"\\"};

    for (size_t k = 0; k < 3; k++) {
        char text[2 + 128 * TG_JSON_ESCAPE_MAX + 1] = "\"";
        size_t n = 1;
        tg_span back;
        tg_json j;
        tg_err err = {0};

        for (unsigned byte = 0; byte < 128; byte++)
            n += tg_json_escape(text + n, (unsigned char)byte, also[k]);
        text[n++] = '"';
        for (const char *p = also[k]; *p; p++)
            CHECK(*p == '\\' || *p == '"' || !memchr(text, *p, n));
        tg_json_open(&j, text, n, &err);
        back = tg_json_get_text(&j);
        tg_json_end(&j);
        CHECK_EQ(back.n, 128);
        for (size_t i = 0; i < back.n; i++)
            CHECK_EQ(back.p[i], i);
        CHECK_OK(tg_json_close(&j), &err);
    }
}

static void no_memory(void)
{
    char out[SHOWN];
    tg_status status = TG_ENOMEM;
    size_t n = 0;
    tg_err err = {0};

    for (; n < 10 && status == TG_ENOMEM; n++) {
        failing_after((long)n);
        status = show(out, sample, strlen(sample), &err);
        failing_after(-1);
    }
    CHECK_OK(status, &err);
    CHECK(n > 1);
}

int main(void)
{
    RUN(values);
    RUN(bad_texts);
    RUN(numbers);
    RUN(doubles);
    RUN(other_types);
    RUN(first_failure);
    RUN(characters);
    RUN(cut_anywhere);
    RUN(damaged_anywhere);
    RUN(depth);
    RUN(members);
    RUN(found_member);
    RUN(escapes);
    RUN(no_memory);
    return check_done();
}
