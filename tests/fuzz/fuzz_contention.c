/* What bench_contention measured: any bytes give numbers within their limits, or one sentence. */
#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/contention.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_run(const struct cot_contention *c, const struct cot_contention_run *run)
{
	bool may_starve = run->shared && !run->is_power;
	uint32_t sms = 0, i;

	REQUIRE(run->n <= COT_CONTENTION_PARTS_MAX && (run->n || run->is_power));
	for (i = 0; i < run->n; i++) {
		const struct cot_contention_part *p = &run->parts[i];

		REQUIRE(p->kernel < c->n_kernels && p->memory < COT_CONTENTION_N_MEMORIES);
		REQUIRE(p->warps && p->warps <= COT_CONTENTION_WARPS_MAX && p->sms);
		REQUIRE(p->chunks_per_s >= 0 && p->chunks_per_s < DBL_MAX && p->mhz >= 0);
		REQUIRE(p->mhz >= 1 || (may_starve && !(p->chunks_per_s > 0)));
		sms = run->shared ? p->sms : sms + p->sms;
	}
	REQUIRE(!run->shared || (run->n == 2 && run->parts[0].sms == run->parts[1].sms));
	REQUIRE(sms <= c->sms);
	REQUIRE(!run->is_power || (run->watts > 0 && run->seconds > 0 && run->sm_mhz >= 1));
	REQUIRE(!run->benchmark[0] || (!run->n && run->runs_per_s > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_contention c;
	struct cot_error err = {""};
	uint32_t i;
	int rc = cot_contention_parse("fuzz", data, size, &c, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(c.sms && c.gpu[0] && c.n_kernels <= COT_CONTENTION_KERNELS_MAX);
	for (i = 0; i < c.n_kernels; i++)
		REQUIRE(c.kernels[i].insts >= 1 && c.kernels[i].loads >= 0);
	for (i = 0; i < c.n_runs; i++)
		check_run(&c, &c.runs[i]);
	cot_contention_finish(&c);
	return 0;
}
