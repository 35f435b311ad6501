#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model.h"

#define DIGITS 10

_Static_assert(COT_KERNELS_COPIES_MAX <= COT_MODEL_COPIES_MAX, "more copies than a plan takes");
_Static_assert(COT_KERNELS_LAYOUT_MAX <= COT_MODEL_SMS_MAX, "more entries than a layout takes");

void cot_model_input_init(struct cot_model_input *in)
{
	in->machine.gpu = in->file.gpu;
	in->machine.power = in->file.power;
}

json_t *cot_model_number(double x)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.*g", DIGITS, x);
	return json_real(strtod(text, NULL));
}

int cot_model_write_json(json_t *object, FILE *out, struct cot_error *err)
{
	int rc;

	if (!object)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
	json_decref(object);
	if (rc)
		return cot_error_set(err, -EIO, "cannot write the JSON");
	(void)fputc('\n', out);
	return 0;
}

const char *cot_model_set_name(const struct cot_kernels *file, const uint32_t *copies, char *buf,
			       size_t size)
{
	size_t n = 0;
	uint32_t i;

	buf[0] = '\0';
	for (i = 0; i < file->n && n < size; i++) {
		if (!copies[i])
			continue;
		if (n)
			n += (size_t)snprintf(buf + n, size - n, " + ");
		if (n < size && copies[i] > 1)
			n += (size_t)snprintf(buf + n, size - n, "%u ", copies[i]);
		if (n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s", file->names[i]);
	}
	return buf;
}
