/*
 * The lexer: text to tokens, one after the other, without a copy. The text is bounded by its size
 * and need not end with a NUL.
 */
#ifndef COT_PTX_LEX_H
#define COT_PTX_LEX_H

#include "base/error.h"
#include "ptx/names.h"

enum cot_ptx_token_kind {
	COT_PTX_TOK_END,
	COT_PTX_TOK_NAME, /* add, %r1, $L__BB0_1, _Z3fooi */
	COT_PTX_TOK_DOT,  /* .global, .shared::cta, .2d; the text is without the dot */
	COT_PTX_TOK_INT,  /* value; is_hex */
	COT_PTX_TOK_F32,  /* value: the bits */
	COT_PTX_TOK_F64,
	COT_PTX_TOK_STRING, /* the text is with its quotes */
	COT_PTX_TOK_PUNCT,  /* one character: punct */
};

struct cot_ptx_token {
	enum cot_ptx_token_kind kind;
	struct cot_ptx_str text;
	uint64_t value;
	uint32_t line, column;
	char punct; /* 0 unless PUNCT */
	bool is_hex;
};

struct cot_ptx_lexer {
	const char *text, *end, *at, *line_start;
	uint32_t line;
	const char *name; /* of the text, for messages */
};

void cot_ptx_lex_init(struct cot_ptx_lexer *lx, const char *text, size_t size, const char *name);

/* -EINVAL with a sentence when there is a NUL in the text: those at its end do not count. */
int cot_ptx_lex_check(const struct cot_ptx_lexer *lx, struct cot_error *err);

/* The next token. -EINVAL with a sentence: bytes that are no PTX; the lexer stays there. */
int cot_ptx_lex(struct cot_ptx_lexer *lx, struct cot_ptx_token *ret_token, struct cot_error *err);

/* What is left of the line, without a comment and the blanks around it. */
struct cot_ptx_str cot_ptx_lex_line(struct cot_ptx_lexer *lx);

#endif
