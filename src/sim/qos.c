#include "sim/qos.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/inside.h"
#include "sim/sim.h"

bool cot_qos_is_counted(const struct cot_scenario *sc)
{
	uint32_t i, j;

	for (i = 0; i < sc->n_apps; i++)
		for (j = 0; j < sc->apps[i].program.n_kernels; j++)
			if (sc->apps[i].program.kernels[j].work.insts)
				return true;
	return false;
}

int cot_qos_isolated_ipc(const struct cot_scenario *sc, uint32_t index, double *ret_ipc)
{
	struct cot_scenario *alone = malloc(sizeof(*alone));
	enum cot_sim_status status;
	struct cot_sim *sim;
	double ipc;

	if (!alone)
		return -ENOMEM;
	*alone = *sc;
	alone->n_apps = 1;
	alone->apps[0] = sc->apps[index];
	alone->apps[0].context = 0;
	alone->apps[0].start_ps = 0;
	if (alone->stop_ps)
		alone->stop_runs = 0;
	if (cot_sim_create(alone, hw_sched_find("fcfs"), NULL, NULL, &sim, NULL)) {
		free(alone);
		return -ENOMEM;
	}
	status = cot_sim_run(sim, UINT64_MAX);
	ipc = hw_insts(cot_sim_hw(sim), 0) / ((double)sim->now_ps * sc->gpu.clock_mhz / 1e6);
	cot_sim_destroy(sim);
	free(alone);
	if (status != COT_SIM_DONE)
		return status == COT_SIM_NO_MEMORY ? -ENOMEM : -EDEADLK;
	*ret_ipc = ipc;
	return 0;
}

int cot_qos_resolve(struct cot_scenario *sc)
{
	double ipc;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < sc->n_apps && !rc; i++) {
		struct cot_qos *qos = &sc->apps[i].qos;

		if (!(qos->percent > 0.0))
			continue;
		rc = cot_qos_isolated_ipc(sc, i, &ipc);
		if (!rc)
			qos->ipc = ipc * qos->percent / 100.0;
	}
	return rc;
}
