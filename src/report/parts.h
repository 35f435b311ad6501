/*
 * Records which parts of the GPU a software policy put the applications on. Memory does not grow
 * with the run. Not thread-safe.
 */
#ifndef COT_REPORT_PARTS_H
#define COT_REPORT_PARTS_H

#include "sim/sim.h"

/* Of one application. */
struct cot_parts_app {
	uint64_t n_changes;
	uint32_t begin, end; /* it has the SMs [begin, end), in the end */
	double mean_sms;     /* over the whole run */
};

struct cot_parts;

struct cot_parts *cot_parts_create(const struct cot_scenario *sc); /* NULL: out of memory */
void cot_parts_destroy(struct cot_parts *p);

/* Its argument is the cot_parts. */
extern const struct cot_sim_observer cot_parts_observer;

/* Ends what is still going on. Before the next two. */
void cot_parts_finish(struct cot_parts *p, uint64_t end_ps);

/* Was any application ever placed? */
bool cot_parts_any(const struct cot_parts *p);
struct cot_parts_app cot_parts_app(const struct cot_parts *p, uint32_t app);

#endif
