/*
 * An instance of a benchmark on a machine: its buffers there, and what they held at first, so that
 * it can run many times. One thread.
 */
#ifndef COT_KERNELS_LAUNCH_SESSION_H
#define COT_KERNELS_LAUNCH_SESSION_H

#include "kernels/host/bench.h"
#include "kernels/launch/machine.h"

struct cot_session {
	struct cot_machine *machine;
	const struct cot_bench_instance *in; /* not owned */
	uint64_t address[COT_BENCH_MAX_BUFFERS];
	uint64_t pristine[COT_BENCH_MAX_BUFFERS]; /* of outputs: the contents at first; else 0 */
	void *result[COT_BENCH_MAX_BUFFERS];	  /* of outputs: what cot_session_fetch() copied */
	uint32_t n_steps; /* how many of the steps it takes; known after the first run */
};

/* Allocates and fills the buffers. */
int cot_session_init(struct cot_session *s, struct cot_machine *machine,
		     const struct cot_bench_instance *in, struct cot_error *err);
void cot_session_finish(struct cot_session *s);

/* Outputs are as they were at first. */
int cot_session_reset(struct cot_session *s, struct cot_error *err);

/* Copies the outputs to s->result. */
int cot_session_fetch(struct cot_session *s, struct cot_error *err);

/* Copies the outputs on the machine: to buffers that the caller frees, also after a failure. */
int cot_session_keep(struct cot_session *s, uint64_t *ret_addresses, struct cot_error *err);

/* Arguments of a step; `values` holds them. */
void cot_session_args(const struct cot_session *s, uint32_t step,
		      unsigned char (*values)[COT_BENCH_MAX_BYTES],
		      struct cot_machine_args *ret_args);

/* How one step is launched: as it is, or by means of a pass. */
typedef int (*cot_session_launch)(struct cot_session *s, uint32_t step, void *arg,
				  struct cot_error *err);
int cot_session_launch_plain(struct cot_session *s, uint32_t step, void *arg,
			     struct cot_error *err);

/*
 * For those who launch steps by themselves: what is to be done before a step, and whether there is
 * another after n_done of them. replay: as many as it took the last time, without asking.
 */
int cot_session_begin_step(struct cot_session *s, struct cot_error *err);
int cot_session_goes_on(struct cot_session *s, uint32_t n_done, bool replay, bool *ret_more,
			struct cot_error *err);

/* All steps, asking after each whether it was the last. Sets n_steps. */
int cot_session_run(struct cot_session *s, cot_session_launch launch, void *arg,
		    struct cot_error *err);

/* The n_steps steps that the last cot_session_run() took, without asking. */
int cot_session_replay(struct cot_session *s, cot_session_launch launch, void *arg,
		       struct cot_error *err);

#endif
