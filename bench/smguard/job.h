/*
 * A benchmark of kernels/ as an ordinary CUDA program has it: its buffers on the GPU, its kernels
 * launched as they are, one request after the other, each result compared with the first one. It
 * knows nothing of cotenant. One thread; functions return 0, or -errno with one sentence in *err.
 */
#ifndef COT_BENCH_SMGUARD_JOB_H
#define COT_BENCH_SMGUARD_JOB_H

#include "kernels/launch/cuda.h"
#include "kernels/launch/cuda_machine.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/session.h"

#define COT_JOB_MAX_STEPS 128u

/*
 * How it launches its kernels: as they are, or by its own means on a part of the GPU, to compare
 * with: as so many SMs' worth of workers, anywhere or on whole SMs, or by filling the GPU and
 * retreating from other SMs.
 */
enum cot_job_form { COT_JOB_PLAIN, COT_JOB_WORKERS, COT_JOB_GATHERED, COT_JOB_RETREAT };

struct cot_job_request {
	uint64_t start_ns,
		end_ns;	     /* CLOCK_MONOTONIC: before the first launch, after the last result */
	double gpu_us;	     /* between events before and after the launches */
	uint32_t n_launches; /* plain ones */
	uint32_t n_own;	     /* those of another form */
	/* Of each launch: when the call began and returned, and when the GPU was done; from
	 * start_ns, and for the last from the first event. */
	double call_us[COT_JOB_MAX_STEPS], return_us[COT_JOB_MAX_STEPS], done_us[COT_JOB_MAX_STEPS];
};

struct cot_job {
	struct cot_bench bench; /* a copy: how much work is in a block may be chosen */
	struct cot_bench_instance in;
	struct cot_cuda cuda;
	struct cot_cuda_machine machine, tools; /* tools: compares results */
	struct cot_session session;
	enum cot_job_form form;
	struct cot_workers_run workers;
	struct cot_retreat_run retreat;
	bool is_zero[COT_BENCH_MAX_BUFFERS];	   /* an output that begins as zeros */
	uint64_t reference[COT_BENCH_MAX_BUFFERS]; /* on the GPU: the first result */
	uint64_t n_different;
	CUevent begin, end, done[COT_JOB_MAX_STEPS];
	struct cot_job_request request; /* the last one */
};

/* What a job is made of. */
struct cot_job_settings {
	const struct cot_bench *bench;
	enum cot_bench_size size;
	uint32_t blocks, work; /* 0: those of the size */
	uint64_t seed;
	int gpu;
	const char *ptx; /* NULL: what the form needs */
	enum cot_job_form form;
	uint32_t n_sms; /* of the forms that are not plain; 0: all */
};

int cot_job_init(struct cot_job *job, const struct cot_job_settings *settings,
		 struct cot_error *err);
void cot_job_finish(struct cot_job *job);

uint64_t cot_job_now_ns(void);

/* Number of the form of that name, -1 if there is none. */
int cot_job_find_form(const char *name);

/* All launches of the benchmark, beginning at at_ns (0: now), until the result is there. */
int cot_job_run(struct cot_job *job, uint64_t at_ns, struct cot_error *err);

/* The result of the last request becomes the one that others are compared with. */
int cot_job_keep(struct cot_job *job, struct cot_error *err);

/* How many words of the last result differ from the kept one. Then everything is as at first. */
int cot_job_check(struct cot_job *job, uint64_t *ret_n_different, struct cot_error *err);

/* Compares the last result with the CPU's, bit for bit. */
int cot_job_check_on_cpu(struct cot_job *job, struct cot_bench_verdict *ret_verdict,
			 struct cot_error *err);

#endif
