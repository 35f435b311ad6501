/*
 * What a module and a kernel are to the emulated driver. A loader turns an image (the argument of
 * cuModuleLoadData) into functions. There are two: for the built-in test kernels, which last as
 * long as their first argument says, and for PTX, which runs.
 *
 * A library (cuLibraryLoadData) belongs to no context: it keeps its image, and makes a module of
 * it in every context that uses it. A kernel is a name in a library; where CUDA takes a function
 * it takes a kernel as well, hence the tag in front of both.
 */
#ifndef COT_EMU_DRIVER_FUNCTION_H
#define COT_EMU_DRIVER_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cuda/abi/calls.h"
#include "emu/driver/image.h"
#include "emu/gpu/model.h"
#include "emu/gpu/sms.h"

#define COT_EMU_MAX_ARGS_SIZE 32764u
#define COT_EMU_MAX_THREADS   1024u

#define COT_EMU_FUNCTION_TAG 0x636e7566u
#define COT_EMU_KERNEL_TAG   0x6e72656bu

struct cot_emu_context;
struct cot_emu_function;
struct cot_emu_library;
struct cot_emu_loader;
struct CUstream_st;

struct cot_emu_launch {
	const struct cot_emu_function *function;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared_bytes;	/* dynamic */
	uint32_t n_sms;		/* that the launch may use, and ... */
	uint32_t n_sms_all;	/* ... that there are, on the GPU or in its part */
	struct cot_emu_sms sms; /* which; none: any */
	CUcontext context;	/* as the program names it; a name only, may be gone */
	bool cooperative;
	const unsigned char *args; /* packed as the function's layout says */
};

struct cot_emu_function_ops {
	/* Fills in time and demand; called once per launch, before it is queued. */
	void (*cost)(const struct cot_emu_launch *launch, struct cot_emu_work *ret_work);
	/* Does the work. Called when the kernel has ended, in stream order; NULL: nothing to do. */
	CUresult (*run)(const struct cot_emu_launch *launch);
	/*
	 * Instead of `run`, for kernels whose length is not known: does the work while the kernel
	 * is on the GPU, and returns when it has ended. Called in stream order.
	 */
	CUresult (*execute)(struct CUstream_st *s, const struct cot_emu_launch *launch);
};

struct cot_emu_param {
	uint32_t offset, size;
};

struct cot_emu_function {
	uint32_t tag; /* COT_EMU_FUNCTION_TAG */
	const char *name;
	const struct cot_emu_function_ops *ops;
	const struct cot_emu_param *params;
	uint32_t n_params, args_size;
	uint32_t max_threads, n_registers, shared_bytes, local_bytes;
	uint32_t target; /* the compute capability that the code was made for; 0: the GPU's */
	uint32_t required_block[3];
	bool uses_clusters; /* it can run only where each block is a cluster of its own */
	_Atomic uint32_t max_dynamic_shared; /* as the program has set it */
	_Atomic int32_t carveout, non_portable_cluster;
	struct cot_emu_module *module;
	const void *code; /* the loader's own */
};

struct cot_emu_global {
	CUdeviceptr address;
	size_t bytes;
};

struct cot_emu_module {
	const struct cot_emu_loader *loader;
	struct cot_emu_function *functions;
	uint32_t n_functions;
	void *owned; /* the loader's own */
	struct cot_emu_context *context;
	struct cot_emu_library *library; /* NULL: none */
	struct cot_emu_module *next;	 /* in its context */
};

struct cot_emu_loader {
	const char *name;
	/* Looks at the image's beginning only. */
	bool (*accepts)(const void *image);
	CUresult (*load)(const struct cot_emu_code *code, struct cot_emu_module *ret_module,
			 struct cot_error *err);
	void (*unload)(struct cot_emu_module *module); /* NULL: nothing to free */
	/* NULL: no variables. */
	bool (*global)(struct cot_emu_module *module, const char *name,
		       struct cot_emu_global *ret_global);
};

struct cot_emu_kernel_name {
	uint32_t tag; /* COT_EMU_KERNEL_TAG */
	const char *name;
	struct cot_emu_library *library;
	struct cot_emu_kernel_name *next; /* in its library */
};

/* ---- loaders.c ---- */

/* What is wrong with the code goes to stderr too. */
CUresult cot_emu_module_load(struct cot_emu_context *c, const struct cot_emu_code *code,
			     struct cot_emu_module **ret_module, struct cot_error *err);

/* ---- function.c ---- */

struct cot_emu_function *cot_emu_module_function(struct cot_emu_module *m, const char *name);
/* It is no longer in a context. */
void cot_emu_module_unload(struct cot_emu_module *m);
/* All that the context has. */
void cot_emu_modules_free(struct cot_emu_context *c);

/* ---- library.c ---- */

/* From a file if there is a path, else from the image. */
CUresult cot_emu_library_make(const void *image, const char *path,
			      struct cot_emu_library **ret_library);
/* Its modules go with it. */
void cot_emu_library_free(struct cot_emu_library *l);
/* The one kernel of that name in the library; made on first use. NULL: out of memory. */
struct cot_emu_kernel_name *cot_emu_library_kernel(struct cot_emu_library *l, const char *name);
/* The function behind a function's or a kernel's handle, in this context. */
CUresult cot_emu_function_get(CUfunction handle, struct cot_emu_context *c,
			      struct cot_emu_function **ret_function);
/* The kernel of which this is the function; NULL: out of memory. */
CUkernel cot_emu_function_kernel(const struct cot_emu_function *f);
/* The module that the library has in this context, loaded if it is not yet. */
CUresult cot_emu_library_module(struct cot_emu_library *l, struct cot_emu_context *c,
				struct cot_emu_module **ret_module);

/* ---- function.c ---- */

/* Bytes that a launch may ask for at most: what the program has set, or the default. */
uint32_t cot_emu_dynamic_shared(const struct cot_emu_function *f);
/* Blocks that one SM of the device holds at a time; 0: not even one. */
uint32_t cot_emu_occupancy(const struct cot_emu_function *f, uint32_t n_threads,
			   uint32_t dynamic_shared);

extern const struct cot_emu_loader cot_emu_builtin_loader;
extern const struct cot_emu_loader cot_emu_ptx_loader;

#endif
