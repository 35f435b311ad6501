/*
 * What launches cost, and kernels whose time alone was measured. Counts and the equations say how
 * kernels change one another; a measured time says how long one takes by itself. Launches are not
 * in the patent's model: on its GPU kernels took seconds. Pure; see model.h.
 *
 * One thread launches. A launch takes call_s of it, and begins when it is made and what comes
 * before it in its stream has ended:
 *
 *     one stream   |call|call|call|            the end of the last is seen end_s later
 *                       | kernel |gap| kernel |gap| kernel |
 *     streams      |call|call|call|            kernels side by side, as place.h has them;
 *                       | kernel     |         the end of all is seen end_beside_s later,
 *                            | kernel     |     and end_stream_s for each further stream
 *     merged       |call + 3 instance_s|       one kernel, longer by block_s a block; end_s
 *                                      | kernel |
 */
#ifndef COT_MODEL_LAUNCH_H
#define COT_MODEL_LAUNCH_H

#include "model/place.h"

bool cot_model_has_launch(const struct cot_model_launch *l);

/* A stream: when its launching thread is done, and when its kernels are. Begin with 0. */
struct cot_model_stream {
	double called_s, ended_s;
};

/* Behind what is there: kernel k, whose launches take `gpu_s` together. */
void cot_model_stream_add(struct cot_model_stream *s, const struct cot_model_launch *l,
			  const struct cot_model_kernel *k, double gpu_s);

/* What a kernel takes of the GPU that alone took k->alone_s, launches included. > 0. */
double cot_model_gpu_s(const struct cot_model_launch *l, const struct cot_model_kernel *k);

/*
 * Sets k->factor and, where that is more than 1, k->hidden, such that the kernel alone takes what
 * was measured; 1 and 0 where nothing was. -EINVAL: a block does not fit on an SM. Once for each
 * kernel, before it is in a set.
 */
int cot_model_calibrate(const struct cot_model_gpu *gpu, struct cot_model_kernel *k);

/*
 * What copies[i] instances of n kernels (NULL: one of each) take beyond `exec_s`, the time that
 * they take on the GPU together. -EINVAL as cot_model_set_time().
 */
int cot_model_launch_s(const struct cot_model_gpu *gpu, const struct cot_model_options *options,
		       const struct cot_model_kernel *kernels, const uint32_t *copies, uint32_t n,
		       double exec_s, double *ret_s);

#endif
