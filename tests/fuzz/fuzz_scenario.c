/*
 * Scenario files: whatever the bytes are, the reader gives a scenario whose numbers are within
 * their limits, or one sentence.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/scenario_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_program(const struct cot_program *p)
{
	uint32_t i;

	REQUIRE(p->n_steps >= 1 && p->n_steps <= COT_MAX_STEPS);
	REQUIRE(p->n_kernels <= COT_MAX_KERNELS);
	for (i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == COT_STEP_KERNEL) {
			REQUIRE(p->steps[i].kernel < p->n_kernels);
			REQUIRE(p->steps[i].launches >= 1);
		}
	for (i = 0; i < p->n_kernels; i++) {
		const struct cot_kernel *k = &p->kernels[i];

		REQUIRE(k->n_blocks >= 1 && k->n_blocks <= COT_MAX_BLOCKS);
		REQUIRE(k->blocks_per_sm >= 1 && k->blocks_per_sm <= COT_MAX_BLOCKS_PER_SM);
		REQUIRE(k->block_ps >= 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_error err = {""};
	struct cot_scenario *sc = NULL;
	uint32_t i;
	int rc = cot_scenario_parse("fuzz", data, size, NULL, &sc, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && !sc && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(sc->n_apps >= 1 && sc->n_apps <= COT_MAX_APPS);
	REQUIRE(sc->stop_runs || sc->stop_ps);
	for (i = 0; i < sc->n_apps; i++) {
		REQUIRE(sc->apps[i].name[0] && sc->apps[i].context < sc->n_apps);
		REQUIRE(sc->apps[i].weight >= 1 && sc->apps[i].weight <= 10000);
		REQUIRE(sc->apps[i].block_hint_us <= 1000000000);
		check_program(&sc->apps[i].program);
	}
	cot_scenario_destroy(sc);
	return 0;
}
