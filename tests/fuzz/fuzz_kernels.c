/*
 * Files of kernels for the models: whatever the bytes are, the reader gives kernels within their
 * limits, or one sentence; and what it gives, the models can take.
 */
#include <errno.h>
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "trace/kernels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void finite(double x)
{
	REQUIRE(x >= 0 && x <= DBL_MAX);
}

static void check_set(const struct cot_model_input *in, uint32_t n, bool concurrent)
{
	struct cot_model_options options = {.concurrent = concurrent, .piecewise = !concurrent};
	struct cot_model_set set;
	uint32_t i;

	if (cot_model_set_time(&in->machine.gpu, in->file.kernels, n, &options, &set))
		return;
	finite(set.cycles);
	finite(set.seconds);
	for (i = 0; i < n; i++)
		finite(set.end_cycles[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cot_model_input in;
	struct cot_error err = {""};
	struct cot_model_time time;
	struct cot_model_cost cost;
	uint32_t i;
	int rc;

	memset(&in, 0, sizeof(in));
	rc = cot_kernels_parse("fuzz", data, size, &in.file, &err);
	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(in.file.n >= 1 && in.file.n <= COT_KERNELS_MAX);
	cot_model_input_init(&in);
	for (i = 0; i < in.file.n; i++) {
		REQUIRE(in.file.names[i][0] && in.file.kernels[i].n_blocks >= 1);
		REQUIRE(!cot_model_time_alone(&in.machine.gpu, &in.file.kernels[i], &time));
		finite(time.seconds);
		REQUIRE(time.sm.mwp >= 1);
		REQUIRE(!cot_model_cost_of(&in.machine, &in.file.kernels[i], NULL, 1, &cost));
		finite(cost.energy_j);
	}
	check_set(&in, in.file.n < COT_MODEL_SET_MAX ? in.file.n : COT_MODEL_SET_MAX, false);
	check_set(&in, in.file.n < COT_MODEL_SET_MAX ? in.file.n : COT_MODEL_SET_MAX, true);
	return 0;
}
