/* kernels-run: the benchmarks in kernels/ on whatever CUDA driver is here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/run/experiment.h"
#include "kernels/run/options.h"
#include "kernels/run/report.h"

enum { ALL_RIGHT, SOMETHING_WRONG, COULD_NOT_RUN };

static int failed(const struct cot_error *err)
{
	fprintf(stderr, "kernels-run: %s\n", err->text);
	return COULD_NOT_RUN;
}

static int cannot_write(const char *name, int code)
{
	struct cot_error err;

	cot_error_set(&err, -code, "%s cannot be written: %s", name, strerror(code));
	return failed(&err);
}

static int print_ptx(const struct cot_options *options, FILE *out, const char *name)
{
	struct cot_error err;
	uint32_t i, k;

	for (i = 0; i < options->n_benches; i++) {
		struct cot_rewritten rewritten;
		uint32_t passes = options->passes;

		/* A fused kernel belongs to two benchmarks. */
		if (!options->partner)
			passes &= ~(1u << COT_PASS_FUSE);
		if (cot_rewrite(options->benches[i], options->partner, passes, &rewritten, &err))
			return failed(&err);
		if (fputs(rewritten.text, out) < 0) {
			int code = errno;

			cot_rewritten_finish(&rewritten);
			return cannot_write(name, code);
		}
		for (k = 0; k < rewritten.n_outcomes; k++)
			if (rewritten.outcomes[k].refusal.reason != COT_REASON_NONE)
				fprintf(stderr, "kernels-run: %s\n",
					rewritten.outcomes[k].refusal.text);
		cot_rewritten_finish(&rewritten);
	}
	return ALL_RIGHT;
}

static int run_all(const struct cot_options *options, struct cot_cuda *cuda, FILE *out,
		   const char *name)
{
	/* Thousands of times are in it. */
	struct cot_experiment *e = calloc(1, sizeof(*e));
	struct cot_error err;
	int status = ALL_RIGHT;
	uint32_t i;

	if (!e) {
		cot_error_set(&err, -ENOMEM, "not enough memory");
		return failed(&err);
	}
	cot_report_machine(out, cuda, options);
	for (i = 0; i < options->n_benches && !ferror(out); i++) {
		if (cot_experiment_run(e, options, cuda, options->benches[i], &err)) {
			cot_report_failure(out, options->benches[i], &err);
			status = failed(&err);
		} else {
			cot_report_experiment(out, e);
			if (!cot_experiment_complete(e))
				status = COULD_NOT_RUN;
			else if (!cot_experiment_passed(e) && status == ALL_RIGHT)
				status = SOMETHING_WRONG;
		}
		cot_experiment_finish(e);
		if (fflush(out))
			status = cannot_write(name, errno);
	}
	free(e);
	return status;
}

static int run_on_gpu(const struct cot_options *options, FILE *out, const char *name)
{
	struct cot_cuda cuda;
	struct cot_error err;
	int status;

	if (cot_cuda_open(&cuda, options->gpu, &err))
		return failed(&err);
	status = run_all(options, &cuda, out, name);
	cot_cuda_close(&cuda);
	return status;
}

int main(int argc, char **argv)
{
	struct cot_options options;
	const char *name = "standard output";
	FILE *out = stdout;
	int status = ALL_RIGHT;

	cot_options_parse(argc, argv, &options);
	if (options.output) {
		name = options.output;
		out = fopen(name, "w");
		if (!out)
			return cannot_write(name, errno);
	} else if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		/* The next file to be opened would get the number, and our lines. */
		return cannot_write(name, errno);
	}
	if (options.list)
		cot_report_list(out);
	else if (options.print_ptx)
		status = print_ptx(&options, out, name);
	else
		status = run_on_gpu(&options, out, name);
	if (!ferror(out) && fflush(out))
		status = cannot_write(name, errno);
	if (fclose(out) && status == ALL_RIGHT)
		status = cannot_write(name, errno);
	return status;
}
