/* What bench/live measured: any bytes give numbers within their limits, or one sentence. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "study/live/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_row(const struct cot_live *l, const struct cot_live_row *r)
{
	REQUIRE(r->run < l->n_runs && r->group[0] && r->window[0] && r->app[0] && r->program[0]);
	REQUIRE(r->p50_us >= 0 && r->p99_us >= 0 && r->per_s >= 0);
	REQUIRE(r->on_gpu_us >= 0 && r->off_gpu_us >= 0 && r->per_s < 1e13);
}

/* What follows from such numbers is sound, too: the scenario of each mix has room, or is refused.
 */
static void check_cases(const struct cot_live *l)
{
	const struct cot_live_pace pace = {1, 1};
	static struct cot_live_check c;
	static char text[COT_LIVE_SCENARIO_MAX];
	struct cot_error err = {""};
	uint32_t i;
	int rc = cot_live_find(l, "fuzz", &c, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	for (i = 0; i < c.n_cases; i++) {
		REQUIRE(c.cases[i].why || c.cases[i].n_apps);
		if (!c.cases[i].why)
			rc = cot_live_scenario(&c.cases[i], &c.gpu, &pace, 1, text);
		REQUIRE(!rc || rc == -ENOSPC);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_live l;
	struct cot_error err = {""};
	uint32_t i;
	int rc = cot_live_parse("fuzz", (const char *)data, size, &l, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(l.n_runs && l.n_runs <= COT_LIVE_RUNS_MAX && l.n_rows <= COT_LIVE_ROWS_MAX);
	for (i = 0; i < l.n_rows; i++)
		check_row(&l, &l.rows[i]);
	check_cases(&l);
	cot_live_finish(&l);
	return 0;
}
