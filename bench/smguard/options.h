/* The options that the programs here have in common, for their parsers by argp. */
#ifndef COT_BENCH_SMGUARD_OPTIONS_H
#define COT_BENCH_SMGUARD_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "bench/smguard/job.h"

enum { COT_OPTION_WORK = 256, COT_OPTION_GPU, COT_OPTION_OWN /* the first of a program's own */ };

/* A whole number; anything outside of [least, most] is an error of argp. */
uint64_t cot_option_number(const struct argp_state *state, const char *what, const char *text,
			   uint64_t least, uint64_t most);

/* Takes size ('s'), blocks ('n'), work, GPU and the name of the benchmark. */
error_t cot_option_take(struct cot_job_settings *job, int key, char *text,
			struct argp_state *state);

#endif
