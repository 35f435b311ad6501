/*
 * What the models say, as text and JSON: of the kernels of a file (time, power, plan), and of
 * measurements that they are trained with (train, heat). Main thread only.
 */
#ifndef COT_REPORT_MODEL_H
#define COT_REPORT_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/consolidate.h"
#include "report/origin.h"
#include "trace/kernels.h"

/* Kernels, and the machine that they run on. */
struct cot_model_input {
	struct cot_kernels file;
	struct cot_model_machine machine;
	bool whole; /* the plan judges all instances together, and no other set */
	struct cot_origin origin;
};

/* Takes the GPU and power of `machine` from `file`, and calibrates its kernels. */
void cot_model_input_init(struct cot_model_input *in);

/* "encryption + 2 monte-carlo" for one instance, and two. Cut to the size of the buffer. */
const char *cot_model_set_name(const struct cot_kernels *file, const uint32_t *copies, char *buf,
			       size_t size);

/* The parts: text, or JSON, on `out`. */
int cot_model_show_time(const struct cot_model_input *in, bool json, FILE *out,
			struct cot_error *err);
int cot_model_show_power(const struct cot_model_input *in, bool json, FILE *out,
			 struct cot_error *err);
int cot_model_show_plan(const struct cot_model_input *in, bool json, FILE *out,
			struct cot_error *err);

struct cot_model_train_options {
	uint64_t seed;
	uint32_t train_pct;
};

enum cot_model_form {
	COT_MODEL_TEXT,
	COT_MODEL_JSON,
	COT_MODEL_YAML, /* the map `power` of a file of kernels */
};

/* Takes measurements from the origin's bytes. */
int cot_model_show_training(const struct cot_origin *origin,
			    const struct cot_model_train_options *options, enum cot_model_form form,
			    FILE *out, struct cot_error *err);

/* Takes a step test from there. */
int cot_model_show_heat(const struct cot_origin *origin, bool json, FILE *out,
			struct cot_error *err);

#endif
