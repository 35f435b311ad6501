#include "report/epochs.h"

#include <stdlib.h>

#include "base/units.h"

struct cot_epochs {
	const struct cot_scenario *sc;
	uint32_t n, merge; /* epochs in a full row */
	uint32_t in_last;  /* epochs in the last row */
	struct cot_epoch_row rows[COT_EPOCHS_MAX];
};

struct cot_epochs *cot_epochs_create(const struct cot_scenario *sc)
{
	struct cot_epochs *e = calloc(1, sizeof(*e));

	if (e) {
		e->sc = sc;
		e->merge = 1;
		e->in_last = 1;
	}
	return e;
}

void cot_epochs_destroy(struct cot_epochs *e)
{
	free(e);
}

/* Adds `from`, which represents wb epochs, to `to`, which represents wa. */
static void add_row(struct cot_epoch_row *to, double wa, const struct cot_epoch_row *from,
		    double wb, uint32_t n_apps)
{
	uint32_t i;

	to->end_us = from->end_us;
	to->us += from->us;
	for (i = 0; i < n_apps; i++) {
		to->counts.insts[i] += from->counts.insts[i];
		to->counts.bytes[i] += from->counts.bytes[i];
		to->sms[i] = (wa * to->sms[i] + wb * from->sms[i]) / (wa + wb);
	}
	to->gated = (wa * to->gated + wb * from->gated) / (wa + wb);
	to->counts.transfer_bytes += from->counts.transfer_bytes;
	to->counts.energy_j += from->counts.energy_j;
	to->counts.gated_sm_us += from->counts.gated_sm_us;
	to->counts.active_sm_us += from->counts.active_sm_us;
}

static void halve(struct cot_epochs *e)
{
	uint32_t i;

	for (i = 0; i < COT_EPOCHS_MAX / 2; i++) {
		struct cot_epoch_row row = e->rows[2 * i];

		add_row(&row, 1.0, &e->rows[2 * i + 1], 1.0, e->sc->n_apps);
		e->rows[i] = row;
	}
	e->n = COT_EPOCHS_MAX / 2;
	e->merge *= 2;
	e->in_last = e->merge;
}

static void on_epoch_done(void *arg, const struct cot_sim_epoch *epoch)
{
	struct cot_epochs *e = arg;
	struct cot_epoch_row row = {
		.end_us = cot_us_from_ps(epoch->end_ps),
		.us = cot_us_from_ps(epoch->end_ps - epoch->begin_ps),
		.counts = epoch->counts,
		.gated = epoch->n_gated,
	};
	uint32_t i;

	for (i = 0; i < e->sc->n_apps; i++)
		row.sms[i] = epoch->sms[i];
	if (e->n && e->in_last < e->merge) {
		add_row(&e->rows[e->n - 1], e->in_last, &row, 1.0, e->sc->n_apps);
		e->in_last++;
		return;
	}
	if (e->n == COT_EPOCHS_MAX)
		halve(e);
	e->rows[e->n++] = row;
	e->in_last = 1;
}

const struct cot_sim_observer cot_epochs_observer = {.epoch_done = on_epoch_done};

uint32_t cot_epochs_count(const struct cot_epochs *e)
{
	return e->n;
}

const struct cot_epoch_row *cot_epochs_row(const struct cot_epochs *e, uint32_t i)
{
	return &e->rows[i];
}

double cot_epochs_ipc(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	return e->rows[row].counts.insts[app] / (e->rows[row].us * e->sc->gpu.clock_mhz);
}

double cot_epochs_watts(const struct cot_epochs *e, uint32_t row)
{
	return e->rows[row].counts.energy_j / (e->rows[row].us * 1e-6);
}

double cot_epochs_dram_bps(const struct cot_epochs *e, uint32_t row)
{
	double bytes = e->rows[row].counts.transfer_bytes;
	uint32_t i;

	for (i = 0; i < e->sc->n_apps; i++)
		bytes += e->rows[row].counts.bytes[i];
	return bytes / (e->rows[row].us * 1e-6);
}
