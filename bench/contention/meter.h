/*
 * The GPU's power, clocks and temperature, read through NVML (libnvidia-ml.so.1, opened at run
 * time). Nothing is ever set.
 *
 * NVML counts energy since the driver was loaded, and the count moves in steps. A window from one
 * step to another has no error of a step: cot_meter_watch() keeps the first and the last step that
 * it saw. One thread.
 */
#ifndef COT_BENCH_CONTENTION_METER_H
#define COT_BENCH_CONTENTION_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cot_meter {
	void *library, *device;
	char driver_version[80];
	bool has_energy;
	struct cot_error why_not; /* there is no power to be read */
	struct cot_meter_calls *calls;
};

struct cot_meter_state {
	unsigned sm_mhz, memory_mhz, celsius;
	unsigned power_mw, limit_mw;
	unsigned long long throttle; /* NVML's reasons, bit by bit */
};

/* Steps of the energy counter, and what was seen last. */
struct cot_meter_window {
	unsigned long long seen_mj, first_mj, last_mj;
	double first_s, last_s; /* by cot_meter_now_s() */
	double least_step_s;
	uint32_t n_steps, n_reads;
};

double cot_meter_now_s(void);

/* Succeeds where there is no NVML as well: has_energy says. */
void cot_meter_open(struct cot_meter *m, const char *bus_id);
void cot_meter_close(struct cot_meter *m);

void cot_meter_read(const struct cot_meter *m, struct cot_meter_state *ret_state);

/* Begins a window; then call cot_meter_watch() every few milliseconds. */
void cot_meter_begin(const struct cot_meter *m, struct cot_meter_window *w);
void cot_meter_watch(const struct cot_meter *m, struct cot_meter_window *w);
/* Watches for so long, with pauses of a millisecond. */
void cot_meter_watch_until(const struct cot_meter *m, struct cot_meter_window *w, double until_s);

/* Mean power between the first and the last step; below 0: fewer than two were seen. */
double cot_meter_watts(const struct cot_meter_window *w);

#endif
