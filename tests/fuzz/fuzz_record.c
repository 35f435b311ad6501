/* Recordings: any bytes give a recording within its bounds, or one sentence. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check(const struct cot_record *r)
{
	struct cot_record_total total;
	double at_ms = 0;
	uint32_t i;

	REQUIRE(r->n_programs <= COT_RECORD_PROGRAMS_MAX && r->n_points <= COT_RECORD_POINTS_MAX);
	for (i = 0; i < r->n_points; i++) {
		REQUIRE(r->points[i].program < r->n_programs);
		REQUIRE(r->points[i].sample < r->n_samples && r->points[i].at_ms >= at_ms);
		at_ms = r->points[i].at_ms;
	}
	for (i = 0; i < r->n_programs; i++) {
		cot_record_sum_up(r, i, &total);
		REQUIRE(total.to_ms >= total.from_ms && total.per_s >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_record r;
	struct cot_error err = {""};
	int rc = cot_record_parse("fuzz", (const char *)data, size, &r, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	check(&r);
	cot_record_finish(&r);
	return 0;
}
