#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

json_t *cot_json_number(double x)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.10g", x);
	return json_real(strtod(text, NULL));
}

json_t *cot_json_rounded(double x)
{
	return json_real(floor(x * 1e6 + 0.5) / 1e6);
}

int cot_json_write(json_t *object, size_t flags, FILE *out)
{
	int rc = object ? json_dumpf(object, out, flags) : -1;

	(void)fputc('\n', out);
	json_decref(object);
	return rc && !ferror(out) ? -ENOMEM : 0;
}
