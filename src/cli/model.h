/*
 * What the parts of `cotenant model` share: the kernels of a file in the form that the models take,
 * and numbers in their output. Main thread only.
 */
#ifndef COT_CLI_MODEL_H
#define COT_CLI_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/consolidate.h"
#include "trace/kernels.h"

/* Kernels, and the machine that they run on. */
struct cot_model_input {
	struct cot_kernels file;
	struct cot_model_machine machine;
};

/* Takes the GPU and power of `machine` from `file`. */
void cot_model_input_init(struct cot_model_input *in);

/* A number with ten significant digits, so that no compiler's last bit shows. */
json_t *cot_model_number(double x);

/* Writes the object, gives up its reference, and complains on failure. -ENOMEM when NULL. */
int cot_model_write_json(json_t *object, FILE *out, struct cot_error *err);

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

/* Reads measurements from `path`. */
int cot_model_show_training(const char *path, const struct cot_model_train_options *options,
			    bool json, FILE *out, struct cot_error *err);

/* Reads what bench_contention measured from `path`; with `points` every mix is shown. */
int cot_model_show_check(const char *path, bool points, bool json, FILE *out,
			 struct cot_error *err);

/* Writes the table that cot_model_show_training() reads, from what bench_contention measured.
 * `train_with`: the workloads of the set 'train', with commas between; NULL: no sets. */
int cot_model_show_powers(const char *path, const char *train_with, FILE *out,
			  struct cot_error *err);

/* Reads a step test from `path`. */
int cot_model_show_heat(const char *path, bool json, FILE *out, struct cot_error *err);

#endif
