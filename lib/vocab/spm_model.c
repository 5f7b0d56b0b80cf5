/*
 * SentencePiece's tokenizer.model: a message in Google's encoding.
 *
 *   ModelProto       1 pieces (repeated), 2 trainer_spec, 3 normalizer_spec, 5 denormalizer_spec
 *   pieces           1 piece, 2 score, 3 type
 *   trainer_spec     3 model_type, 24 treat_whitespace_as_suffix, 35 byte_fallback
 *   normalizer_spec  1 name, 2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces,
 *                    5 escape_whitespaces
 *
 * Source: sentencepiece_model.proto of the project; protobuf.dev/programming-guides/encoding.
 */
#include <string.h>

#include "formats/span.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/spm_pieces.h"

/* ---- the encoding */

/* How a field's value is encoded. */
enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_START, WIRE_END, WIRE_32 };

/* A message, or what of it has not been read. */
struct message {
    const unsigned char *file; /* for offsets in messages */
    const unsigned char *p, *end;
};

/* One field.  Of the value, one member is set, the other is 0. */
struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;
    struct message bytes;
    size_t at; /* its offset */
};

static size_t offset_of(const struct message *m)
{
    return (size_t)(m->p - m->file);
}

static tg_status take_varint(struct message *m, uint64_t *value, tg_err *err)
{
    const size_t at = offset_of(m);

    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (m->p == m->end)
            return tg_fail(err, TG_EDATA, "the number at offset %zu ends after its message", at);
        *value |= (uint64_t)(*m->p & 0x7F) << shift;
        if (*m->p++ < 0x80)
            return TG_OK;
    }
    return tg_fail(err, TG_EDATA, "the number at offset %zu has more than 10 bytes", at);
}

/* n: 4 or 8. */
static tg_status take_fixed(struct message *m, uint64_t *value, size_t n, tg_err *err)
{
    if ((size_t)(m->end - m->p) < n)
        return tg_fail(err, TG_EDATA, "the value at offset %zu has %zu bytes, its message ends after %zu",
                       offset_of(m), n, (size_t)(m->end - m->p));
    *value = n == 8 ? tg_get64(m->p) : tg_get32(m->p);
    m->p += n;
    return TG_OK;
}

static tg_status take_bytes(struct message *m, struct message *bytes, tg_err *err)
{
    uint64_t n;
    const tg_status status = take_varint(m, &n, err);

    if (status)
        return status;
    if (n > (uint64_t)(m->end - m->p))
        return tg_fail(err, TG_EDATA, "the value at offset %zu has %llu bytes, its message ends after %zu",
                       offset_of(m), (unsigned long long)n, (size_t)(m->end - m->p));
    *bytes = (struct message){m->file, m->p, m->p + n};
    m->p += n;
    return TG_OK;
}

/* The next field of a message that has not ended. */
static tg_status take_field(struct message *m, struct field *f, tg_err *err)
{
    uint64_t tag;
    tg_status status;

    *f = (struct field){.at = offset_of(m)};
    if ((status = take_varint(m, &tag, err)))
        return status;
    f->number = tag >> 3;
    f->wire = (enum wire)(tag & 7);
    switch (f->wire) {
    case WIRE_VARINT:
        return take_varint(m, &f->value, err);
    case WIRE_64:
        return take_fixed(m, &f->value, 8, err);
    case WIRE_32:
        return take_fixed(m, &f->value, 4, err);
    case WIRE_BYTES:
        return take_bytes(m, &f->bytes, err);
    default:
        return tg_fail(err, TG_EDATA, "the field at offset %zu has wire type %d, expected 0, 1, 2 or 5",
                       f->at, (int)f->wire);
    }
}

/* What a field of a known number must be. */
static tg_status expect(const struct field *f, const char *name, enum wire wire, tg_err *err)
{
    if (f->wire == wire)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s at offset %zu has wire type %d, expected %d", name, f->at, (int)f->wire,
                   (int)wire);
}

/* ---- settings */

/* A setting that a reader understands. */
struct setting {
    const char *name;
    unsigned number;
    enum wire wire;
    uint64_t value; /* the default before */
    size_t n;       /* bytes, of WIRE_BYTES */
    const unsigned char *bytes;
};

/* Read those of a message's fields that are settings, the last of several. */
static tg_status take_settings(struct setting *s, size_t n, struct message m, tg_err *err)
{
    struct field f;
    tg_status status = TG_OK;

    while (!status && m.p < m.end && !(status = take_field(&m, &f, err)))
        for (size_t i = 0; !status && i < n; i++)
            if (f.number == s[i].number && !(status = expect(&f, s[i].name, s[i].wire, err))) {
                s[i].value = f.value;
                s[i].bytes = f.bytes.p;
                s[i].n = f.wire == WIRE_BYTES ? (size_t)(f.bytes.end - f.bytes.p) : 0;
            }
    return status;
}

/* What the file says besides its pieces. */
struct model {
    tg_spm_pieces pieces;
    size_t n_byte_pieces;
    bool byte_fallback, dummy_prefix;
};

static tg_status take_trainer(struct model *model, struct message m, tg_err *err)
{
    static const char *const types[] = {"", "UNIGRAM", "BPE", "WORD", "CHAR"};
    struct setting s[] = {{"model_type", 3, WIRE_VARINT, 1, 0, NULL},
                          {"treat_whitespace_as_suffix", 24, WIRE_VARINT, 0, 0, NULL},
                          {"byte_fallback", 35, WIRE_VARINT, 0, 0, NULL}};
    const tg_status status = take_settings(s, 3, m, err);

    if (status)
        return status;
    if (s[0].value != 2)
        return tg_fail(err, TG_EDATA, "model_type %llu%s%s is not supported, expected 2, BPE",
                       (unsigned long long)s[0].value, s[0].value >= 1 && s[0].value <= 4 ? ", " : "",
                       s[0].value >= 1 && s[0].value <= 4 ? types[s[0].value] : "");
    if (s[1].value != 0)
        return tg_fail(err, TG_EDATA, "treat_whitespace_as_suffix is not supported");
    model->byte_fallback = s[2].value != 0;
    return TG_OK;
}

static tg_status take_normalizer(struct model *model, struct message m, tg_err *err)
{
    struct setting s[] = {{"name", 1, WIRE_BYTES, 0, 0, NULL},
                          {"precompiled_charsmap", 2, WIRE_BYTES, 0, 0, NULL},
                          {"add_dummy_prefix", 3, WIRE_VARINT, 1, 0, NULL},
                          {"remove_extra_whitespaces", 4, WIRE_VARINT, 1, 0, NULL},
                          {"escape_whitespaces", 5, WIRE_VARINT, 1, 0, NULL}};
    char shown[TG_TOKEN_SHOWN];
    const tg_status status = take_settings(s, 5, m, err);

    if (status)
        return status;
    if (s[1].n > 0)
        return tg_fail(err, TG_EDATA, "normalizer \"%s\" is not supported, expected identity",
                       tg_token_shown(shown, s[0].bytes, s[0].n));
    if (s[3].value != 0)
        return tg_fail(err, TG_EDATA, "normalizer with remove_extra_whitespaces is not supported");
    if (s[4].value == 0)
        return tg_fail(err, TG_EDATA, "normalizer without escape_whitespaces is not supported");
    model->dummy_prefix = s[2].value != 0;
    return TG_OK;
}

/* It changes decoded texts. */
static tg_status take_denormalizer(struct message m, tg_err *err)
{
    struct setting s[] = {{"precompiled_charsmap", 2, WIRE_BYTES, 0, 0, NULL}};
    const tg_status status = take_settings(s, 1, m, err);

    if (!status && s[0].n > 0)
        return tg_fail(err, TG_EDATA, "a denormalizer is not supported");
    return status;
}

static tg_status take_piece(struct model *model, struct message m, tg_err *err)
{
    struct setting s[] = {{"piece", 1, WIRE_BYTES, 0, 0, (const unsigned char *)""},
                          {"score", 2, WIRE_32, 0, 0, NULL},
                          {"type", 3, WIRE_VARINT, TG_SPM_NORMAL, 0, NULL}};
    uint32_t bits;
    float score;
    const tg_status status = take_settings(s, 3, m, err);

    if (status)
        return status;
    bits = (uint32_t)s[1].value;
    memcpy(&score, &bits, sizeof score);
    model->n_byte_pieces += s[2].value == TG_SPM_BYTE;
    return tg_spm_pieces_add(&model->pieces, s[0].bytes, s[0].n, (double)score, (int64_t)s[2].value, err);
}

/* ---- the file */

static tg_status take_message(struct model *model, const struct field *f, tg_err *err)
{
    static const char *const names[] = {
        "", "pieces", "trainer_spec", "normalizer_spec", "self_test_data", "denormalizer_spec"};
    tg_status status;

    if (f->number < 1 || f->number > 5 || f->number == 4)
        return TG_OK;
    if ((status = expect(f, names[f->number], WIRE_BYTES, err)))
        return status;
    switch (f->number) {
    case 1:
        return take_piece(model, f->bytes, err);
    case 2:
        return take_trainer(model, f->bytes, err);
    case 3:
        return take_normalizer(model, f->bytes, err);
    default:
        return take_denormalizer(f->bytes, err);
    }
}

/* The messages that decide how text is encoded must be there: their defaults are not supported. */
static tg_status take_messages(struct model *model, const tg_file_text *file, tg_err *err)
{
    struct message m = {file->text, file->text, file->text + file->n};
    bool trainer = false, normalizer = false;
    struct field f;
    tg_status status = TG_OK;

    while (!status && m.p < m.end && !(status = take_field(&m, &f, err))) {
        trainer = trainer || f.number == 2;
        normalizer = normalizer || f.number == 3;
        status = take_message(model, &f, err);
    }
    if (status)
        return status;
    if (!trainer || !normalizer)
        return tg_fail(err, TG_EDATA, "the model has no %s", trainer ? "normalizer_spec" : "trainer_spec");
    if (model->byte_fallback != (model->n_byte_pieces > 0))
        return tg_fail(err, TG_EDATA, "byte_fallback is %s, but %zu pieces are bytes",
                       model->byte_fallback ? "set" : "not set", model->n_byte_pieces);
    return TG_OK;
}

bool tg_spm_model_recognize(const void *first, size_t n)
{
    const unsigned char *p = first;
    struct message m = {p, p, p + n}, piece;
    struct field f;

    if (take_field(&m, &f, NULL) || f.number != 1 || f.wire != WIRE_BYTES)
        return false;
    piece = f.bytes;
    return !take_field(&piece, &f, NULL) && f.number == 1 && f.wire == WIRE_BYTES && piece.p < piece.end &&
           *piece.p == (2 << 3 | WIRE_32);
}

tg_status tg_spm_model_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    struct model model = {0};
    tg_status status = take_messages(&model, file, err);

    *tok = NULL;
    if (!status)
        status = tg_spm_pieces_build(tok, &model.pieces,
                                     model.dummy_prefix ? TG_SPM_PREFIX_PARTS : TG_SPM_PREFIX_NONE, err);
    tg_spm_pieces_free(&model.pieces);
    return status ? tg_err_in(err, file->name) : TG_OK;
}
