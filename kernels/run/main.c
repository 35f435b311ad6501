/* kernels-run: the benchmarks in kernels/ on whatever CUDA driver is here. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/outfile.h"
#include "kernels/run/experiment.h"
#include "kernels/run/options.h"
#include "kernels/run/report.h"

enum { ALL_RIGHT, SOMETHING_WRONG, COULD_NOT_RUN };

static const char stdout_name[] = "standard output";

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

/* One of the benchmarks; `now` is that of cot_experiment_run(). */
static int run_one(const struct cot_options *options, struct cot_cuda *cuda, uint32_t i, char *now,
		   FILE *out, const char *name)
{
	/* Thousands of times are in it. */
	struct cot_experiment *e = calloc(1, sizeof(*e));
	struct cot_error err;
	int status = ALL_RIGHT;

	if (!e) {
		cot_error_set(&err, -ENOMEM, "not enough memory");
		return failed(&err);
	}
	if (cot_experiment_run(e, options, cuda, options->benches[i], now, &err)) {
		cot_report_failure(out, options->benches[i], &err);
		status = failed(&err);
	} else {
		cot_report_experiment(out, e);
		if (!cot_experiment_complete(e))
			status = COULD_NOT_RUN;
		else if (!cot_experiment_passed(e))
			status = SOMETHING_WRONG;
	}
	cot_experiment_finish(e);
	free(e);
	if (fflush(out))
		status = cannot_write(name, errno);
	return status;
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

/* Benchmarks from `first` to before `end`. */
static int run_range(const struct cot_options *options, uint32_t first, uint32_t end, char *now,
		     FILE *out, const char *name)
{
	struct cot_cuda cuda;
	struct cot_error err;
	int status = ALL_RIGHT;
	uint32_t i;

	if (cot_cuda_open(&cuda, options->gpu, &err))
		return failed(&err);
	if (!first)
		cot_report_machine(out, &cuda, options);
	/* Also if the first one hangs. */
	if (fflush(out))
		status = cannot_write(name, errno);
	for (i = first; i < end && !ferror(out); i++)
		status = worse(status, run_one(options, &cuda, i, now, out, name));
	cot_cuda_close(&cuda);
	return status;
}

/* Waits for a child's end, for limit_ms; -ETIMEDOUT: it had to be killed. */
static int wait_for(pid_t child, uint32_t limit_ms, int *ret_status)
{
	const struct timespec nap = {.tv_nsec = 10000000};
	uint64_t naps = limit_ms / 10;
	pid_t ended;

	for (;;) {
		ended = waitpid(child, ret_status, naps ? WNOHANG : 0);
		if (ended == child)
			return naps ? 0 : -ETIMEDOUT;
		if (ended < 0 && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
		if (naps && !--naps)
			kill(child, SIGKILL);
	}
}

/* A benchmark in a process of its own: it can hang without taking the others along. */
static int run_apart(const struct cot_options *options, uint32_t i, char *now, FILE *out,
		     const char *name)
{
	const struct cot_bench *bench = options->benches[i];
	struct cot_error err;
	pid_t child;
	int status, rc;

	now[0] = '\0';
	child = fork();
	if (child == 0) {
		status = run_range(options, i, i + 1, now, out, name);
		if (!ferror(out) && fflush(out))
			status = COULD_NOT_RUN;
		_exit(status);
	}
	rc = child < 0 ? -errno : wait_for(child, options->limit_ms, &status);
	now[COT_NOW - 1] = '\0';
	if (!rc && WIFEXITED(status))
		return WEXITSTATUS(status);
	if (rc == -ETIMEDOUT)
		cot_error_set(&err, rc, "%s: %s did not end within %g s", bench->name,
			      now[0] ? now : "the driver", options->limit_ms / 1000.0);
	else if (rc)
		cot_error_set(&err, rc, "%s: no process for it: %s", bench->name, strerror(-rc));
	else
		cot_error_set(&err, -EIO, "%s: %s was ended by signal %d", bench->name,
			      now[0] ? now : "the driver", WTERMSIG(status));
	cot_report_failure(out, bench, &err);
	if (fflush(out))
		return cannot_write(name, errno);
	return failed(&err);
}

static int run_on_gpu(const struct cot_options *options, FILE *out, const char *name)
{
	struct cot_error err;
	int status = ALL_RIGHT;
	uint32_t i;
	char *now;

	if (!options->limit_ms)
		return run_range(options, 0, options->n_benches, NULL, out, name);
	now = mmap(NULL, COT_NOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (now == MAP_FAILED) {
		cot_error_set(&err, -errno, "not enough memory");
		return failed(&err);
	}
	for (i = 0; i < options->n_benches && !ferror(out); i++)
		status = worse(status, run_apart(options, i, now, out, name));
	munmap(now, COT_NOW);
	return status;
}

/* Standard output has everything, or a sentence says that it has not. */
static int finish_stdout(int status)
{
	if (!ferror(stdout) && fflush(stdout))
		status = cannot_write(stdout_name, errno);
	if (fclose(stdout) && status == ALL_RIGHT)
		status = cannot_write(stdout_name, errno);
	return status;
}

/* The file gets its name if there is something in it: without a GPU it stays what it was. */
static int finish_file(struct cot_outfile *file, int status)
{
	struct cot_error err;

	if (ftell(cot_outfile_stream(file)) != 0 && cot_outfile_commit(file, &err))
		status = failed(&err);
	cot_outfile_destroy(file);
	return status;
}

int main(int argc, char **argv)
{
	struct cot_options options;
	struct cot_outfile *file = NULL;
	struct cot_error err;
	const char *name = stdout_name;
	FILE *out = stdout;
	int status = ALL_RIGHT;

	cot_options_parse(argc, argv, &options);
	if (options.output && strcmp(options.output, "-")) {
		name = options.output;
		if (cot_outfile_open(name, &file, &err))
			return failed(&err);
		out = cot_outfile_stream(file);
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
	return file ? finish_file(file, status) : finish_stdout(status);
}
