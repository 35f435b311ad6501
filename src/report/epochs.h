/*
 * Records what every application did in every epoch of a simulation, in bounded memory: when the
 * run outgrows the rows, two neighbours become one.
 * Not thread-safe.
 */
#ifndef COT_REPORT_EPOCHS_H
#define COT_REPORT_EPOCHS_H

#include "sim/sim.h"

#define COT_EPOCHS_MAX 2000u

/* One row; sms is a mean over the epochs in it. */
struct cot_epoch_row {
	double end_us, us;
	struct cot_sim_counts counts;
	double sms[COT_MAX_APPS], gated;
};

struct cot_epochs;

struct cot_epochs *cot_epochs_create(const struct cot_scenario *sc); /* NULL: out of memory */
void cot_epochs_destroy(struct cot_epochs *e);

/* Its argument is the cot_epochs. */
extern const struct cot_sim_observer cot_epochs_observer;

uint32_t cot_epochs_count(const struct cot_epochs *e);
const struct cot_epoch_row *cot_epochs_row(const struct cot_epochs *e, uint32_t i);

/* Warp instructions per cycle of an app, and watts, in a row. */
double cot_epochs_ipc(const struct cot_epochs *e, uint32_t row, uint32_t app);
double cot_epochs_watts(const struct cot_epochs *e, uint32_t row);
/* Bytes per second moved to and from memory, by apps and transfers. */
double cot_epochs_dram_bps(const struct cot_epochs *e, uint32_t row);

#endif
