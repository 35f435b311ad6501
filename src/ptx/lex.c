#include "ptx/lex.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT_TEXT_MAX 128 /* characters of a decimal number with a point */

void cot_ptx_lex_init(struct cot_ptx_lexer *lx, const char *text, size_t size, const char *name)
{
	while (size && !text[size - 1])
		size--;
	*lx = (struct cot_ptx_lexer){text, text + size, text, text, 1, name};
}

static uint32_t column(const struct cot_ptx_lexer *lx, const char *at)
{
	return (uint32_t)(at - lx->line_start) + 1;
}

static int fail(const struct cot_ptx_lexer *lx, struct cot_error *err, const char *what)
{
	return cot_error_set(err, -EINVAL, "%s:%u:%u: %s", lx->name, lx->line, column(lx, lx->at),
			     what);
}

int cot_ptx_lex_check(const struct cot_ptx_lexer *lx, struct cot_error *err)
{
	const char *nul =
		lx->at < lx->end ? memchr(lx->at, '\0', (size_t)(lx->end - lx->at)) : NULL;
	const char *at;
	uint32_t line = 1;

	if (!nul)
		return 0;
	for (at = lx->text; at < nul; at++)
		line += *at == '\n';
	return cot_error_set(err, -EINVAL, "%s:%u: a byte 0 in the text", lx->name, line);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c);
}

static char peek(const struct cot_ptx_lexer *lx, size_t ahead)
{
	return (size_t)(lx->end - lx->at) > ahead ? lx->at[ahead] : '\0';
}

static void newline(struct cot_ptx_lexer *lx)
{
	lx->at++;
	lx->line++;
	lx->line_start = lx->at;
}

static void skip_line(struct cot_ptx_lexer *lx)
{
	while (lx->at < lx->end && *lx->at != '\n')
		lx->at++;
}

static int skip_comment(struct cot_ptx_lexer *lx, struct cot_error *err)
{
	struct cot_ptx_lexer start = *lx;

	lx->at += 2;
	while (lx->at < lx->end && !(*lx->at == '*' && peek(lx, 1) == '/')) {
		if (*lx->at == '\n')
			newline(lx);
		else
			lx->at++;
	}
	if (lx->at == lx->end) {
		*lx = start;
		return fail(lx, err, "this comment has no end");
	}
	lx->at += 2;
	return 0;
}

/* Blank space, comments, and the line marks of a preprocessor (# 12 "file.cu"). */
static int skip_blanks(struct cot_ptx_lexer *lx, struct cot_error *err)
{
	int r;

	while (lx->at < lx->end) {
		char c = *lx->at;

		if (c == '\n') {
			newline(lx);
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
			lx->at++;
		} else if (c == '/' && peek(lx, 1) == '/') {
			skip_line(lx);
		} else if (c == '/' && peek(lx, 1) == '*') {
			r = skip_comment(lx, err);
			if (r)
				return r;
		} else if (c == '#' && lx->at == lx->line_start &&
			   (is_digit(peek(lx, 1)) ||
			    (peek(lx, 1) == ' ' && is_digit(peek(lx, 2))))) {
			skip_line(lx);
		} else {
			break;
		}
	}
	return 0;
}

/* Digits of a base; -ERANGE beyond 64 bits. */
static int read_digits(struct cot_ptx_lexer *lx, unsigned base, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned n;

	for (n = 0; hex_digit(peek(lx, 0)) >= 0 && (unsigned)hex_digit(peek(lx, 0)) < base; n++) {
		unsigned digit = (unsigned)hex_digit(*lx->at++);

		if (value > (UINT64_MAX - digit) / base)
			return -ERANGE;
		value = value * base + digit;
	}
	*ret_value = value;
	return n ? 0 : -EINVAL;
}

/* 0f3F800000 and 0d3FF0000000000000 */
static int read_bits(struct cot_ptx_lexer *lx, struct cot_ptx_token *t, struct cot_error *err)
{
	unsigned n_digits = peek(lx, 1) == 'f' || peek(lx, 1) == 'F' ? 8 : 16;
	const char *start = lx->at;
	uint64_t value;

	t->kind = n_digits == 8 ? COT_PTX_TOK_F32 : COT_PTX_TOK_F64;
	lx->at += 2;
	if (read_digits(lx, 16, &value) || lx->at - start != 2 + n_digits || is_word(peek(lx, 0))) {
		lx->at = start;
		return fail(lx, err,
			    n_digits == 8 ? "expected 8 hexadecimal digits after 0f"
					  : "expected 16 hexadecimal digits after 0d");
	}
	t->value = value;
	return 0;
}

/* 1.5, 1e-3. strtod() reads what the locale says, so it gets the one of C for the moment. */
static int read_float(struct cot_ptx_lexer *lx, struct cot_ptx_token *t, size_t length,
		      struct cot_error *err)
{
	char text[FLOAT_TEXT_MAX];
	locale_t c_locale, old;
	double value;
	char *end;

	if (length >= sizeof(text))
		return fail(lx, err, "this number is too long");
	memcpy(text, lx->at, length);
	text[length] = '\0';
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return -ENOMEM;
	old = uselocale(c_locale);
	value = strtod(text, &end);
	(void)uselocale(old);
	freelocale(c_locale);
	if (*end)
		return fail(lx, err, "this is no number");
	memcpy(&t->value, &value, sizeof(value));
	t->kind = COT_PTX_TOK_F64;
	lx->at += length;
	return 0;
}

/* How long the number is if it is one with a point or an exponent; else 0. */
static size_t float_length(const struct cot_ptx_lexer *lx)
{
	bool point = false, exponent = false;
	size_t n = 0;

	while (is_digit(peek(lx, n)))
		n++;
	if (peek(lx, n) == '.' && is_digit(peek(lx, n + 1))) {
		point = true;
		for (n++; is_digit(peek(lx, n)); n++)
			;
	}
	if (peek(lx, n) == 'e' || peek(lx, n) == 'E') {
		size_t sign = peek(lx, n + 1) == '+' || peek(lx, n + 1) == '-';

		if (is_digit(peek(lx, n + 1 + sign))) {
			exponent = true;
			for (n += 1 + sign; is_digit(peek(lx, n)); n++)
				;
		}
	}
	return point || exponent ? n : 0;
}

static int read_int(struct cot_ptx_lexer *lx, struct cot_ptx_token *t, struct cot_error *err)
{
	const char *start = lx->at;
	unsigned base = 10;
	int r;

	t->kind = COT_PTX_TOK_INT;
	if (*lx->at == '0' && (peek(lx, 1) == 'x' || peek(lx, 1) == 'X')) {
		base = 16;
		lx->at += 2;
	} else if (*lx->at == '0' && (peek(lx, 1) == 'b' || peek(lx, 1) == 'B')) {
		base = 2;
		lx->at += 2;
	} else if (*lx->at == '0') {
		base = 8;
	}
	t->is_hex = base == 16;
	r = read_digits(lx, base, &t->value);
	if (!r && peek(lx, 0) == 'U')
		lx->at++;
	if (r || is_word(peek(lx, 0))) {
		lx->at = start;
		return fail(lx, err,
			    r == -ERANGE ? "this number does not fit 64 bits"
					 : "this is no number");
	}
	return 0;
}

static int read_number(struct cot_ptx_lexer *lx, struct cot_ptx_token *t, struct cot_error *err)
{
	char second = peek(lx, 1);
	size_t length;

	if (*lx->at == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D'))
		return read_bits(lx, t, err);
	length = float_length(lx);
	return length ? read_float(lx, t, length, err) : read_int(lx, t, err);
}

static int read_string(struct cot_ptx_lexer *lx, struct cot_ptx_token *t, struct cot_error *err)
{
	const char *p;

	for (p = lx->at + 1; p < lx->end && *p != '"' && *p != '\n'; p++)
		if (*p == '\\' && p + 1 < lx->end && p[1] != '\n')
			p++;
	if (p >= lx->end || *p != '"')
		return fail(lx, err, "this string has no end");
	lx->at = p + 1;
	t->kind = COT_PTX_TOK_STRING;
	return 0;
}

/* After the dot: word characters, and :: between them. */
static void read_dot_word(struct cot_ptx_lexer *lx)
{
	for (lx->at++; lx->at < lx->end; lx->at++) {
		if (is_word(*lx->at))
			continue;
		if (*lx->at != ':' || peek(lx, 1) != ':' || !is_word(peek(lx, 2)))
			break;
		lx->at++;
	}
}

static int read_token(struct cot_ptx_lexer *lx, struct cot_ptx_token *t, struct cot_error *err)
{
	char c = *lx->at;

	if (is_digit(c))
		return read_number(lx, t, err);
	if (c == '"')
		return read_string(lx, t, err);
	if (is_letter(c) || (c == '%' && is_word(peek(lx, 1)))) {
		t->kind = COT_PTX_TOK_NAME;
		for (lx->at++; lx->at < lx->end && is_word(*lx->at);)
			lx->at++;
		return lx->at - t->text.at > COT_PTX_NAME_MAX
			       ? fail(lx, err, "this name is too long")
			       : 0;
	}
	if (c == '.' && is_word(peek(lx, 1))) {
		t->kind = COT_PTX_TOK_DOT;
		read_dot_word(lx);
		t->text.at++;
		return 0;
	}
	if (!strchr(";,:{}[]()<>@!|+-=*/~&^?.%", c) || !c)
		return fail(lx, err, "this character has no place in PTX");
	t->kind = COT_PTX_TOK_PUNCT;
	t->punct = c;
	lx->at++;
	return 0;
}

int cot_ptx_lex(struct cot_ptx_lexer *lx, struct cot_ptx_token *ret_token, struct cot_error *err)
{
	struct cot_ptx_token t = {0};
	int r = skip_blanks(lx, err);

	if (r)
		return r;
	t.line = lx->line;
	t.column = column(lx, lx->at);
	t.text.at = lx->at;
	if (lx->at < lx->end) {
		r = read_token(lx, &t, err);
		if (r)
			return r;
	}
	t.text.length = (size_t)(lx->at - t.text.at);
	*ret_token = t;
	return 0;
}

struct cot_ptx_str cot_ptx_lex_line(struct cot_ptx_lexer *lx)
{
	const char *start, *end;
	bool quoted = false;

	while (lx->at < lx->end && (*lx->at == ' ' || *lx->at == '\t'))
		lx->at++;
	start = lx->at;
	while (lx->at < lx->end && *lx->at != '\n') {
		if (*lx->at == '"')
			quoted = !quoted;
		if (!quoted && *lx->at == '/' && peek(lx, 1) == '/')
			break;
		lx->at++;
	}
	end = lx->at;
	skip_line(lx);
	while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (struct cot_ptx_str){start, (size_t)(end - start)};
}
