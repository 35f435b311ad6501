/*
 * Applications alone on the GPU, under FCFS.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/host_measure.h"
#include "sim/inside.h"

#define INSTANTS_A_LOOK 200000u /* some 30 ms */

struct cot_scenario *cot_alone_make(const struct cot_scenario *sc, uint32_t index)
{
	struct cot_scenario *alone = malloc(sizeof(*alone));

	if (!alone)
		return NULL;
	*alone = *sc;
	alone->n_apps = 1;
	alone->apps[0] = sc->apps[index];
	alone->apps[0].context = 0;
	alone->policy[0] = '\0';
	return alone;
}

/* `m` NULL: nothing is measured. */
static int play(const struct cot_scenario *alone, struct host_measures *m,
		bool (*keep_going)(void *arg), void *arg, struct cot_sim_result *ret)
{
	const struct cot_sim_observer *obs = m ? &cot_sim_measures_observer : NULL;
	enum cot_sim_status status;
	struct cot_sim *sim;

	if (cot_sim_create(alone, hw_sched_find("fcfs"), obs, m, &sim, NULL))
		return -ENOMEM;
	if (m)
		cot_sim_host_measure_start(m, sim);
	do {
		status = cot_sim_run(sim, INSTANTS_A_LOOK);
	} while (status == COT_SIM_MORE && (!keep_going || keep_going(arg)));
	cot_sim_result(sim, ret);
	cot_sim_destroy(sim);
	if (status == COT_SIM_MORE)
		return -EINTR;
	if (status != COT_SIM_DONE)
		return status == COT_SIM_NO_MEMORY ? -ENOMEM : -EDEADLK;
	return 0;
}

int cot_sim_isolated_us(const struct cot_scenario *sc, uint32_t index,
			bool (*keep_going)(void *arg), void *arg, double *ret_us)
{
	struct cot_scenario *alone = cot_alone_make(sc, index);
	const struct cot_app *app = &sc->apps[index];
	uint32_t n = app->n_sizes ? app->n_sizes : 1, i;
	struct cot_sim_result r;
	double sum_ps = 0.0;
	int rc = 0;

	if (!alone)
		return -ENOMEM;
	alone->apps[0].start_ps = 0;
	alone->apps[0].arrivals = (struct cot_arrivals){0};
	alone->stop_runs = 1;
	alone->stop_ps = 0;
	for (i = 0; !rc && i < n; i++) {
		cot_app_set_size(&alone->apps[0], app->sizes[i]);
		rc = play(alone, NULL, keep_going, arg, &r);
		sum_ps += (double)r.apps[0].turnaround_sum_ps;
	}
	if (!rc)
		*ret_us = sum_ps / n / (double)COT_PS_PER_US;
	free(alone);
	return rc;
}

int cot_sim_alone_p99_ps(const struct cot_scenario *sc, uint32_t index,
			 bool (*keep_going)(void *arg), void *arg, uint64_t *ret_ps)
{
	struct cot_scenario *alone = cot_alone_make(sc, index);
	struct cot_sim_host_times times;
	struct cot_sim_result r;
	struct host_measures m;
	int rc;

	if (!alone)
		return -ENOMEM;
	rc = cot_sim_host_measure_init(&m, alone, NULL, NULL, NULL);
	if (!rc)
		rc = play(alone, &m, keep_going, arg, &r);
	if (!rc) {
		cot_sim_host_measure_times(&m, 0, &times);
		*ret_ps = (uint64_t)times.response_p99_ps;
	}
	cot_sim_host_measure_finish(&m);
	free(alone);
	return rc;
}
