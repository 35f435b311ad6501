/* The device's printf: the format and its arguments lie in memory that the kernel wrote. */
#include <stdio.h>
#include <string.h>

#include "emu/exec/ops.h"

#define MAX_FORMAT 1024u
#define MAX_SPEC   32u

struct state {
	struct cot_exec_warp *w;
	unsigned lane;
	uint64_t args; /* address of the next one */
	char *text;
	size_t n, size;
	bool broken; /* an argument could not be read */
};

static uint64_t next_arg(struct state *s, uint32_t bytes)
{
	uint64_t value = 0;
	const uint8_t *p;

	s->args = (s->args + bytes - 1) & ~(uint64_t)(bytes - 1);
	p = cot_exec_generic(s->w, s->lane, s->args, bytes, false);
	s->args += bytes;
	if (!p) {
		s->broken = true;
		return 0;
	}
	memcpy(&value, p, bytes);
	return value;
}

static void put(struct state *s, const char *text, size_t n)
{
	if (n > s->size - s->n)
		n = s->size - s->n;
	memcpy(s->text + s->n, text, n);
	s->n += n;
}

/* One conversion: flags, width and precision in `spec`, which ends with the letter. */
struct conversion {
	char spec[MAX_SPEC];
	size_t n;
	bool wide; /* 64 bits */
	char letter;
};

/* The format is not a literal: it was put together from checked parts. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int print_number(struct state *s, struct conversion *c, char *out, size_t size)
{
	uint64_t value;

	switch (c->letter) {
	case 'd':
	case 'i':
		value = next_arg(s, c->wide ? 8 : 4);
		return snprintf(out, size, c->spec,
				c->wide ? (long long)value : (long long)(int32_t)value);
	case 'c':
		return snprintf(out, size, c->spec, (int)next_arg(s, 4));
	case 'p':
		return snprintf(out, size, c->spec, (void *)(uintptr_t)next_arg(s, 8));
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		return snprintf(out, size, c->spec,
				(unsigned long long)next_arg(s, c->wide ? 8 : 4));
	default:
		return snprintf(out, size, c->spec, f64_bits(next_arg(s, 8)));
	}
}

static int print_string(struct state *s, struct conversion *c, char *out, size_t size)
{
	char text[MAX_FORMAT];

	if (!cot_exec_read_text(s->w, s->lane, next_arg(s, 8), text, sizeof(text)))
		memcpy(text, "(null)", sizeof("(null)"));
	return snprintf(out, size, c->spec, text);
}

#pragma GCC diagnostic pop

static void add(struct conversion *c, const char *text, size_t n)
{
	if (n < sizeof(c->spec) - 4 - c->n) {
		memcpy(c->spec + c->n, text, n);
		c->n += n;
	}
}

/* A number, or the next argument for a star. */
static const char *add_number(struct state *s, struct conversion *c, const char *f)
{
	char digits[16];
	int n;

	if (*f == '*') {
		n = snprintf(digits, sizeof(digits), "%d", (int)next_arg(s, 4));
		add(c, digits, (size_t)n);
		return f + 1;
	}
	n = (int)strspn(f, "0123456789");
	add(c, f, n > 4 ? 4 : (size_t)n);
	return f + n;
}

/* f is behind the %; returns what follows the conversion. */
static const char *convert(struct state *s, const char *f)
{
	struct conversion c = {.spec = "%", .n = 1};
	size_t flags = strspn(f, "-+ #0");
	char out[MAX_FORMAT + 64];
	int n;

	add(&c, f, flags > 5 ? 5 : flags);
	f = add_number(s, &c, f + flags);
	if (*f == '.') {
		add(&c, ".", 1);
		f = add_number(s, &c, f + 1);
	}
	for (; *f && strchr("hljztL", *f); f++)
		c.wide |= *f == 'l' || *f == 'j' || *f == 'z' || *f == 't';
	if (!*f || !strchr("diouxXcpsaAeEfFgG", *f)) {
		put(s, f, *f ? 1 : 0);
		return *f ? f + 1 : f;
	}
	c.letter = *f;
	if (strchr("diouxX", *f))
		add(&c, "ll", 2);
	c.spec[c.n++] = *f;
	c.spec[c.n] = '\0';
	n = *f == 's' ? print_string(s, &c, out, sizeof(out))
		      : print_number(s, &c, out, sizeof(out));
	if (n > 0)
		put(s, out, (size_t)n < sizeof(out) ? (size_t)n : sizeof(out) - 1);
	return f + 1;
}

size_t cot_exec_format(struct cot_exec_warp *w, unsigned lane, uint64_t format, uint64_t args,
		       char *text, size_t size)
{
	struct state s = {.w = w, .lane = lane, .args = args, .text = text, .size = size};
	char copy[MAX_FORMAT];
	const char *f = copy;

	if (!cot_exec_read_text(w, lane, format, copy, sizeof(copy)))
		return 0;
	while (*f && !s.broken) {
		size_t plain = strcspn(f, "%");

		put(&s, f, plain);
		f += plain;
		if (*f)
			f = convert(&s, f + 1);
	}
	return s.n;
}
