#include "report/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"

/* Three significant digits, but never an exponent. */
static int digits_after_point(double x)
{
	if (x < 0)
		x = -x;
	if (x >= 99.95)
		return 0;
	return x >= 9.995 ? 1 : 2;
}

static const char *with_unit(struct cot_text *t, double x, const char *unit)
{
	(void)snprintf(t->s, sizeof(t->s), "%.*f %s", digits_after_point(x), x, unit);
	return t->s;
}

const char *cot_format_us(struct cot_text *t, double us)
{
	if (us >= 999500.0)
		return with_unit(t, us / 1e6, "s");
	if (us >= 999.5)
		return with_unit(t, us / 1e3, "ms");
	if (us >= 0.9995 || us == 0.0)
		return with_unit(t, us, "us");
	return with_unit(t, us * 1e3, "ns");
}

const char *cot_format_bytes(struct cot_text *t, double bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	unsigned i = 0;

	if (bytes < 1000.0) {
		(void)snprintf(t->s, sizeof(t->s), "%.0f B", bytes);
		return t->s;
	}
	bytes /= 1e3;
	while (bytes >= 999.5 && i + 1 < COT_ARRAY_LEN(units)) {
		bytes /= 1e3;
		i++;
	}
	return with_unit(t, bytes, units[i]);
}

const char *cot_format_count(struct cot_text *t, uint64_t n)
{
	char plain[24];
	size_t len, i, o = 0;

	len = (size_t)snprintf(plain, sizeof(plain), "%" PRIu64, n);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t->s[o++] = ',';
		t->s[o++] = plain[i];
	}
	t->s[o] = '\0';
	return t->s;
}

const char *cot_format_ratio(struct cot_text *t, double x)
{
	(void)snprintf(t->s, sizeof(t->s), "%.*f", digits_after_point(x), x);
	return t->s;
}

const char *cot_format_exact_us(struct cot_text *t, uint64_t t_ps, int real)
{
	uint64_t whole = t_ps / COT_PS_PER_US, fraction = t_ps % COT_PS_PER_US;
	size_t len;

	if (!fraction) {
		(void)snprintf(t->s, sizeof(t->s), "%" PRIu64 "%s", whole, real ? ".0" : "");
		return t->s;
	}
	len = (size_t)snprintf(t->s, sizeof(t->s), "%" PRIu64 ".%06" PRIu64, whole, fraction);
	while (t->s[len - 1] == '0')
		t->s[--len] = '\0';
	return t->s;
}
