/*
 * Runs the simulations of the SMQoS study (smqos.h) on all cores.
 */
#ifndef COT_STUDY_SMQOS_SIMULATE_H
#define COT_STUDY_SMQOS_SIMULATE_H

#include "study/smqos/smqos.h"

struct cot_smq_options {
	struct cot_smq_settings settings;
	uint64_t seed;
	bool quick;	  /* every seventh mix */
	bool sensitivity; /* other thresholds, epochs, noise and numbers of SMs as well */
	bool ablation;	  /* other assumptions, one by one */
	bool has_mix;	  /* a mix to be seen epoch by epoch */
	unsigned ls, batch, target;
	unsigned n_threads;
	void (*progress)(void *arg, double done);
	bool (*stop)(void *arg);
	void *arg;
};

extern const struct cot_smq_settings cot_smq_defaults;

/* Fills *ret, which is zeroed; cot_smq_report_finish() releases it in any case. */
int cot_smq_study_run(const struct cot_smq_options *opt, struct cot_smq_report *ret,
		      struct cot_error *err);

#endif
