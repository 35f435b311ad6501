#include "base/quote.h"

void cot_quote_write(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	(void)fputc('"', out);
	for (; *p; p++) {
		if (*p == '"' || *p == '\\')
			(void)fprintf(out, "\\%c", *p);
		else if (*p < 0x20)
			(void)fprintf(out, "\\u%04x", *p);
		else
			(void)fputc(*p, out);
	}
	(void)fputc('"', out);
}

void cot_quote_write_member(FILE *out, const char *key, const char *text)
{
	cot_quote_write(out, key);
	(void)fputc(':', out);
	cot_quote_write(out, text);
}
