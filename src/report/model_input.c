#include "model/launch.h"
#include "report/model.h"

_Static_assert(COT_KERNELS_COPIES_MAX <= COT_MODEL_COPIES_MAX, "more copies than a plan takes");
_Static_assert(COT_KERNELS_LAYOUT_MAX <= COT_MODEL_SMS_MAX, "more entries than a layout takes");

void cot_model_input_init(struct cot_model_input *in)
{
	uint32_t i;

	in->machine.gpu = in->file.gpu;
	in->machine.power = in->file.power;
	/* The reader has seen that a block fits on an SM. */
	for (i = 0; i < in->file.n; i++)
		(void)cot_model_calibrate(&in->file.gpu, &in->file.kernels[i]);
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
