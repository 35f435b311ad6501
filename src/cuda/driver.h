/*
 * The CUDA driver, opened at run time: the libcuda.so.1 that the linker finds, a GPU's or the
 * emulated one. Needs no headers of NVIDIA's. For our own programs; users' programs have
 * src/guest/shim.
 */
#ifndef COT_CUDA_DRIVER_H
#define COT_CUDA_DRIVER_H

#include "base/error.h"
#include "cuda/abi/calls.h"

#define COT_DRIVER_OLDEST 11000 /* CUDA 11 */

/* Its functions, by their names. What is newer than COT_DRIVER_OLDEST may be missing: NULL. */
struct cot_driver {
	void *library;
#define ENTRY(name, since, shim, emulated, params) CUresult(*name) params;
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params) \
	ENTRY(name, since, shim, emulated, params)
#include "cuda/abi/api.def"
};

/*
 * -ENOENT: there is none; -ENOSYS: it is too old; and one sentence. There is nothing to close: the
 * driver keeps threads, so the library stays loaded.
 */
int cot_driver_open(struct cot_driver *ret_driver, struct cot_error *err);

/* 0 for success; otherwise -EIO, and a sentence from what was called and the driver's error. */
int cot_driver_check(const struct cot_driver *driver, CUresult result, const char *what,
		     struct cot_error *err);
/* The same for a function by its name; without the version, as programs call it. */
int cot_driver_called(const struct cot_driver *driver, CUresult result, const char *function,
		      struct cot_error *err);
#define COT_DRIVER_CALL(driver, err, function, ...) \
	cot_driver_called(driver, (driver)->function(__VA_ARGS__), #function, err)

#endif
