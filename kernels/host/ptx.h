/* The files of kernels/ptx, put into the program by the build; constant. */
#ifndef COT_KERNELS_HOST_PTX_H
#define COT_KERNELS_HOST_PTX_H

#include "base/embedded.h"

extern const struct cot_embedded cot_kernel_ptx[];
extern const unsigned cot_n_kernel_ptx;

#endif
