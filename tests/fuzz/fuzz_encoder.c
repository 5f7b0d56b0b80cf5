/*
 * Text into ids, in pieces: the kinds "bytes", "char", "ids" and "bpe", with special or added tokens
 * and without.
 *
 * The first two bytes of an input choose a kind and pieces; the rest is the text.  The ids are those of the
 * text in one piece, their tokens are the text, and where the encoder says that it may be cut, the ids of the
 * parts are those of the whole.  Characters are found by their definition, and special tokens naively.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/bare_ids.h"
#include "lib/text/chars.h"
#include "lib/text/encoder.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokenizer_read.h"
#include "tests/fuzz/input.h"
#include "tests/unit/ref_bpe.h"

#define TEXT_MAX ((size_t)4096)

enum { BYTES, CHARS, HALF_CHARS, IDS, BPE, KINDS };

/* Ids of a text; n is SIZE_MAX if it was refused. */
struct ids {
    int32_t id[TEXT_MAX];
    size_t n;
};

static const char *const specials[] = {"<|e|>", "<|e|>\n", "<|", "ab<|e", "\xC3"};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* ---- tokenizers */

static size_t length_of_piece(size_t left, unsigned *random)
{
    const size_t n = 1 + (*random >> 16) % 7;

    *random = *random * 1664525u + 1013904223u;
    return n < left ? n : left;
}

static const tg_tokenizer *chars_of(const uint8_t *text, size_t n, unsigned random)
{
    const tg_tokenizer *tok;
    tg_chars *chars;

    must(tg_chars_create(&chars, NULL) == TG_OK);
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = length_of_piece(n - at, &random);
        tg_chars_add(chars, text + at, piece);
    }
    must((tg_chars_finish(chars, &tok, NULL) == TG_OK) == (n > 0));
    tg_chars_free(chars);
    return tok;
}

/* added: its tokens of `specials` are added ones. */
static const tg_tokenizer *get_bpe(bool added)
{
    static const tg_tokenizer *made[2];
    ref_vocab v;

    if (made[added])
        return tg_tokenizer_ref(made[added]);
    ref_vocab_begin(&v, TG_SPLIT_GPT2);
    ref_vocab_add_bytes(&v);
    (void)ref_vocab_merge(&v, 'a', 'b');
    (void)ref_vocab_merge(&v, 256, 'c');
    (void)ref_vocab_merge(&v, ' ', 'a');
    for (size_t i = 0; i < SPECIALS; i++)
        (void)(added ? ref_vocab_add_added : ref_vocab_add_special)(&v, specials[i]);
    made[added] = ref_vocab_tokenizer(&v);
    ref_vocab_free(&v);
    return tg_tokenizer_ref(made[added]);
}

static const tg_tokenizer *make_tokenizer(unsigned kind, bool added, const uint8_t *text, size_t n,
                                          unsigned random)
{
    const tg_tokenizer *tok;

    switch (kind) {
    case CHARS:
        return chars_of(text, n, random);
    case HALF_CHARS:
        return chars_of(text, n / 2, random);
    case IDS:
        must(tg_bare_ids_create(&tok, 1 + n, NULL) == TG_OK);
        return tok;
    case BPE:
        return get_bpe(added);
    default:
        must(tg_tokenizer_create(&tok, "bytes", NULL) == TG_OK);
        return tok;
    }
}

/* ---- encoding */

/* In pieces, with room for few ids at a time, unless random is 0. */
static void encode(struct ids *out, const tg_tokenizer *tok, bool special, const uint8_t *text, size_t size,
                   unsigned random)
{
    static int32_t ids[TEXT_MAX];
    const size_t room = random ? 1 + random % 5 : TEXT_MAX;
    bool ended = false;
    tg_status status = TG_OK;
    tg_encoder *e;
    tg_err err = {0};
    size_t at = 0, n;

    out->n = 0;
    must(tg_encoder_create(&e, tok, NULL) == TG_OK);
    must(!special || tg_encoder_match_special(e, NULL) == TG_OK);
    while (!status && !ended) {
        const size_t max = TEXT_MAX - out->n < room ? TEXT_MAX - out->n + (out->n == TEXT_MAX) : room;
        tg_text piece = {text + at, random ? length_of_piece(size - at, &random) : size - at};

        if (at < size) {
            status = tg_encoder_encode(e, &piece, ids, max, &n, &err);
            at = (size_t)(piece.next - text);
            must(status || piece.n == 0 || n == max);
        } else {
            status = tg_encoder_finish(e, ids, max, &n, &err);
            ended = n < max;
        }
        if (!status) {
            must(n <= max && out->n + n <= size);
            memcpy(out->id + out->n, ids, n * sizeof *ids);
            out->n += n;
        }
    }
    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    if (status)
        out->n = SIZE_MAX;
    tg_encoder_free(e);
}

static bool same(const struct ids *a, const struct ids *b)
{
    return a->n == b->n && (a->n == SIZE_MAX || memcmp(a->id, b->id, a->n * sizeof *a->id) == 0);
}

/* ---- what the ids must be */

/* Bytes of the character that a text begins with, by Unicode's table 3-7; 1 if it begins with none. */
static size_t character(const uint8_t *p, size_t n)
{
    const size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    const uint8_t low = p[0] == 0xE0   ? 0xA0
                        : p[0] == 0xF0 ? 0x90
                                       : 0x80,
                  high = p[0] == 0xED   ? 0x9F
                         : p[0] == 0xF4 ? 0x8F
                                        : 0xBF;

    if (p[0] < 0xC2 || p[0] > 0xF4 || n < length || p[1] < low || p[1] > high)
        return 1;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 1;
    return length;
}

/* The id of a token with this text, SIZE_MAX if there is none. */
static size_t find_token(const tg_tokenizer *tok, const uint8_t *text, size_t n)
{
    size_t length;

    for (size_t id = 0; id < tg_tokenizer_vocab_size(tok); id++) {
        const unsigned char *const token = tg_tokenizer_token(tok, (int32_t)id, &length);

        if (length == n && memcmp(token, text, n) == 0)
            return id;
    }
    return SIZE_MAX;
}

static void check_characters(const struct ids *got, const tg_tokenizer *tok, const uint8_t *text, size_t size)
{
    const bool refused = got->n == SIZE_MAX;
    size_t at = 0, n, id = 0;

    for (size_t i = 0; at < size && id != SIZE_MAX; i++, at += n) {
        n = character(text + at, size - at);
        id = find_token(tok, text + at, n);
        must(refused || (i < got->n && (size_t)got->id[i] == id));
    }
    must(refused == (id == SIZE_MAX));
}

/* The longest of these tokens that a text begins with; SPECIALS if there is none. */
static size_t special_at(const uint8_t *text, size_t n)
{
    size_t best = SPECIALS;

    for (size_t i = 0; i < SPECIALS; i++)
        if (strlen(specials[i]) <= n && memcmp(text, specials[i], strlen(specials[i])) == 0 &&
            (best == SPECIALS || strlen(specials[i]) > strlen(specials[best])))
            best = i;
    return best;
}

static void add_part(struct ids *all, const tg_tokenizer *tok, const uint8_t *text, size_t n)
{
    static struct ids part;

    if (n == 0)
        return;
    encode(&part, tok, false, text, n, 0);
    memcpy(all->id + all->n, part.id, part.n * sizeof *part.id);
    all->n += part.n;
}

/* Each part between special or added tokens as a text of its own. */
static void encode_naively(struct ids *all, const tg_tokenizer *tok, const uint8_t *text, size_t size)
{
    const uint32_t *ids;
    size_t at = 0, begin = 0;

    must(tg_tokenizer_specials(tok, &ids) == SPECIALS || tg_tokenizer_added(tok, &ids) == SPECIALS);
    all->n = 0;
    while (at < size) {
        const size_t found = special_at(text + at, size - at);

        if (found == SPECIALS) {
            at++;
            continue;
        }
        add_part(all, tok, text + begin, at - begin);
        all->id[all->n++] = (int32_t)ids[found];
        begin = at += strlen(specials[found]);
    }
    add_part(all, tok, text + begin, at - begin);
}

static void check_text(const struct ids *got, const tg_tokenizer *tok, const uint8_t *text, size_t size)
{
    size_t at = 0, n;

    for (size_t i = 0; i < got->n; i++) {
        const unsigned char *const token = tg_tokenizer_token(tok, got->id[i], &n);

        must(n <= size - at && memcmp(token, text + at, n) == 0);
        at += n;
    }
    must(at == size);
}

/* Before and after the place where it may be cut. */
static void check_cut(const struct ids *whole, const tg_tokenizer *tok, bool special, const uint8_t *text,
                      size_t size, size_t reach)
{
    static struct ids before, after;
    tg_encoder *e;
    size_t cut;

    must(tg_encoder_create(&e, tok, NULL) == TG_OK);
    must(!special || tg_encoder_match_special(e, NULL) == TG_OK);
    cut = tg_encoder_cut(e, text, size, reach);
    tg_encoder_free(e);
    must(cut == 0 || cut < size);
    if (cut == 0)
        return;
    encode(&before, tok, special, text, cut, 0);
    encode(&after, tok, special, text + cut, size - cut, 0);
    must(before.n + after.n == whole->n && memcmp(before.id, whole->id, before.n * sizeof *before.id) == 0);
    must(memcmp(after.id, whole->id + before.n, after.n * sizeof *after.id) == 0);
}

/* Ids in each width that holds them come back, and the first that is too large is found. */
static void check_widths(const struct ids *ids, size_t vocab_size)
{
    static unsigned char packed[4 * TEXT_MAX], other[4 * TEXT_MAX];
    static int32_t back[TEXT_MAX];
    const size_t least = tg_ids_width(vocab_size);

    must(tg_ids_check(ids->id, ids->n, vocab_size) == ids->n);
    for (size_t width = least; width <= 4; width *= 2) {
        const size_t bound = ids->n > 0 ? (size_t)ids->id[ids->n / 2] : 0;
        size_t first = 0;

        tg_ids_pack(packed, width, ids->id, ids->n);
        tg_ids_unpack(back, packed, width, ids->n);
        must(memcmp(back, ids->id, ids->n * sizeof *back) == 0);
        tg_ids_convert(other, 4, packed, width, ids->n);
        must(memcmp(other, ids->id, ids->n * sizeof *back) == 0);
        while (first < ids->n && (size_t)ids->id[first] < bound)
            first++;
        must(tg_ids_check(ids->id, ids->n, bound) == first);
        must(tg_ids_check_packed(packed, width, ids->n, bound) == first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ids whole, pieces, naive;
    const unsigned kind = size > 2 ? data[0] % KINDS : 0, random = size > 2 ? 1u + data[1] : 0;
    const bool special = kind == BPE && data[0] & 128, added = kind == BPE && data[0] & 64;
    const tg_tokenizer *tok;

    if (size < 3 || size - 2 > TEXT_MAX)
        return 0;
    data += 2;
    size -= 2;
    if (!(tok = make_tokenizer(kind, added, data, size, random)))
        return 0; /* of no characters */
    encode(&whole, tok, special, data, size, 0);
    encode(&pieces, tok, special, data, size, random);
    must(same(&whole, &pieces));
    must(kind == HALF_CHARS || (whole.n == SIZE_MAX) == (kind == IDS));
    if (kind == CHARS || kind == HALF_CHARS)
        check_characters(&whole, tok, data, size);
    if (special || added) {
        encode_naively(&naive, tok, data, size);
        must(same(&whole, &naive));
    }
    if (whole.n != SIZE_MAX) {
        check_text(&whole, tok, data, size);
        check_cut(&whole, tok, special, data, size, 1 + random % 40);
        check_widths(&whole, tg_tokenizer_vocab_size(tok));
    }
    tg_tokenizer_free(tok);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char text[] =
        "\x84\1ab<|e|>\n abc<|e ab<|ab <|e|\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80 \xE2\x82\xFF";

    if (size < 3) {
        size = input_seed(data, max, text);
        if (size > 1)
            data[0] = (uint8_t)(seed % KINDS + (seed & 128));
    }
    return LLVMFuzzerMutate(data, size, max);
}
