#include "bench/contention/meter.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS(F)                                                               \
	F(nvmlInit_v2, (void))                                                 \
	F(nvmlShutdown, (void))                                                \
	F(nvmlSystemGetDriverVersion, (char *, unsigned))                      \
	F(nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))           \
	F(nvmlDeviceGetTotalEnergyConsumption, (void *, unsigned long long *)) \
	F(nvmlDeviceGetPowerUsage, (void *, unsigned *))                       \
	F(nvmlDeviceGetEnforcedPowerLimit, (void *, unsigned *))               \
	F(nvmlDeviceGetClockInfo, (void *, int, unsigned *))                   \
	F(nvmlDeviceGetTemperature, (void *, int, unsigned *))                 \
	F(nvmlDeviceGetCurrentClocksThrottleReasons, (void *, unsigned long long *))

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

struct cot_meter_calls {
#define F(name, parameters) int(*name) parameters;
	CALLS(F)
#undef F
};

double cot_meter_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int find_calls(struct cot_meter *m)
{
	void *symbol;

#define F(name, parameters)                                                                       \
	symbol = dlsym(m->library, #name);                                                        \
	if (!symbol)                                                                              \
		return cot_error_set(&m->why_not, -ENOSYS,                                        \
				     "libnvidia-ml.so.1 has no %s: no power is measured", #name); \
	memcpy((void *)&m->calls->name, &symbol, sizeof(symbol));
	CALLS(F)
#undef F
	return 0;
}

static int fail(struct cot_meter *m, const char *what, int result)
{
	return cot_error_set(&m->why_not, -EIO, "%s failed (%d): no power is measured", what,
			     result);
}

static int open_device(struct cot_meter *m, const char *bus_id)
{
	unsigned long long mj;
	int result = m->calls->nvmlInit_v2();

	if (result)
		return fail(m, "nvmlInit", result);
	m->calls->nvmlSystemGetDriverVersion(m->driver_version, sizeof(m->driver_version));
	result = m->calls->nvmlDeviceGetHandleByPciBusId_v2(bus_id, &m->device);
	if (result)
		return fail(m, "nvmlDeviceGetHandleByPciBusId", result);
	result = m->calls->nvmlDeviceGetTotalEnergyConsumption(m->device, &mj);
	return result ? fail(m, "nvmlDeviceGetTotalEnergyConsumption", result) : 0;
}

void cot_meter_open(struct cot_meter *m, const char *bus_id)
{
	memset(m, 0, sizeof(*m));
	m->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!m->library) {
		cot_error_set(&m->why_not, 0,
			      "there is no libnvidia-ml.so.1: no power is measured");
		return;
	}
	m->calls = calloc(1, sizeof(*m->calls));
	if (m->calls && !find_calls(m))
		m->has_energy = open_device(m, bus_id) == 0;
}

void cot_meter_close(struct cot_meter *m)
{
	if (m->calls && m->calls->nvmlShutdown)
		m->calls->nvmlShutdown();
	free(m->calls);
	memset(m, 0, sizeof(*m));
}

void cot_meter_read(const struct cot_meter *m, struct cot_meter_state *ret_state)
{
	memset(ret_state, 0, sizeof(*ret_state));
	if (!m->has_energy)
		return;
	m->calls->nvmlDeviceGetClockInfo(m->device, CLOCK_SM, &ret_state->sm_mhz);
	m->calls->nvmlDeviceGetClockInfo(m->device, CLOCK_MEMORY, &ret_state->memory_mhz);
	m->calls->nvmlDeviceGetTemperature(m->device, SENSOR_GPU, &ret_state->celsius);
	m->calls->nvmlDeviceGetPowerUsage(m->device, &ret_state->power_mw);
	m->calls->nvmlDeviceGetEnforcedPowerLimit(m->device, &ret_state->limit_mw);
	m->calls->nvmlDeviceGetCurrentClocksThrottleReasons(m->device, &ret_state->throttle);
}

static unsigned long long energy(const struct cot_meter *m)
{
	unsigned long long mj = 0;

	if (m->has_energy)
		m->calls->nvmlDeviceGetTotalEnergyConsumption(m->device, &mj);
	return mj;
}

void cot_meter_begin(const struct cot_meter *m, struct cot_meter_window *w)
{
	memset(w, 0, sizeof(*w));
	w->seen_mj = energy(m);
	w->least_step_s = 1e9;
}

void cot_meter_watch(const struct cot_meter *m, struct cot_meter_window *w)
{
	unsigned long long mj = energy(m);
	double now = cot_meter_now_s();

	w->n_reads++;
	if (!mj || mj == w->seen_mj)
		return;
	w->seen_mj = mj;
	if (!w->n_steps++) {
		w->first_mj = mj;
		w->first_s = now;
	} else if (now - w->last_s < w->least_step_s) {
		w->least_step_s = now - w->last_s;
	}
	w->last_mj = mj;
	w->last_s = now;
}

void cot_meter_watch_until(const struct cot_meter *m, struct cot_meter_window *w, double until_s)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (cot_meter_now_s() < until_s) {
		cot_meter_watch(m, w);
		nanosleep(&pause, NULL);
	}
}

double cot_meter_watts(const struct cot_meter_window *w)
{
	if (w->n_steps < 2 || w->last_s <= w->first_s)
		return -1.0;
	return (double)(w->last_mj - w->first_mj) * 1e-3 / (w->last_s - w->first_s);
}
