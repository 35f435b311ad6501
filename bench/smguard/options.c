#include "bench/smguard/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t cot_option_number(const struct argp_state *state, const char *what, const char *text,
			   uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < least || value > most)
		argp_error(state, "%s is '%s'; expected a number from %" PRIu64 " to %" PRIu64,
			   what, text, least, most);
	return value;
}

error_t cot_option_take(struct cot_job_settings *job, int key, char *text, struct argp_state *state)
{
	switch (key) {
	case 's':
		job->size = cot_bench_find_size(text);
		if (job->size == COT_BENCH_N_SIZES)
			argp_error(state,
				   "there is no size '%s'; expected test, small, large or gpu",
				   text);
		return 0;
	case 'n':
		job->blocks = (uint32_t)cot_option_number(state, "--blocks", text, 1, INT32_MAX);
		return 0;
	case COT_OPTION_WORK:
		job->work = (uint32_t)cot_option_number(state, "--work", text, 1, INT32_MAX);
		return 0;
	case COT_OPTION_GPU:
		job->gpu = (int)cot_option_number(state, "--gpu", text, 0, 1023);
		return 0;
	case ARGP_KEY_ARG:
		if (job->bench)
			argp_error(state, "unexpected argument '%s'; expected one benchmark", text);
		job->bench = cot_bench_find(text);
		if (!job->bench)
			argp_error(state, "there is no benchmark '%s'; kernels-run --list has them",
				   text);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "expected the name of a benchmark");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
