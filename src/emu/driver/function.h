/*
 * What a kernel is to the emulated driver: how long it keeps the GPU, and what it does to memory.
 * A loader turns an image (the argument of cuModuleLoadData) into functions. There is one loader
 * for the built-in kernels; one that runs PTX is another entry of the table in module.c.
 */
#ifndef COT_EMU_DRIVER_FUNCTION_H
#define COT_EMU_DRIVER_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/driver/cuda_abi.h"
#include "emu/gpu/model.h"

#define COT_EMU_MAX_ARGS_SIZE 4096u
#define COT_EMU_MAX_THREADS   1024u

struct cot_emu_context;
struct cot_emu_function;

struct cot_emu_launch {
	const struct cot_emu_function *function;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	uint32_t n_sms;		   /* that the launch may use, and ... */
	uint32_t n_sms_gpu;	   /* ... that there are */
	const unsigned char *args; /* packed as the function's layout says */
};

struct cot_emu_function_ops {
	/* Fills in time and demand; called once per launch, before it is queued. */
	void (*cost)(const struct cot_emu_launch *launch, struct cot_emu_work *ret_work);
	/* Does the work. Called when the kernel has ended, in stream order; NULL: nothing to do. */
	CUresult (*run)(const struct cot_emu_launch *launch);
};

struct cot_emu_param {
	uint16_t offset, size;
};

struct cot_emu_function {
	const char *name;
	const struct cot_emu_function_ops *ops;
	const struct cot_emu_param *params;
	uint32_t n_params, args_size;
	const void *code; /* the loader's own */
};

struct cot_emu_module {
	const struct cot_emu_loader *loader;
	const struct cot_emu_function *functions;
	uint32_t n_functions;
	void *owned; /* the loader's own */
	struct cot_emu_context *context;
	struct cot_emu_module *next; /* in its context */
};

struct cot_emu_loader {
	const char *name;
	/* Looks at the image's beginning only. */
	bool (*accepts)(const void *image);
	CUresult (*load)(const void *image, struct cot_emu_module *ret_module);
	void (*unload)(struct cot_emu_module *module); /* NULL: nothing to free */
};

/*
 * Time and demand of a grid whose blocks all last block_ns: the blocks that fit run at once, in
 * waves. A share of the SMs below the whole makes more waves.
 */
void cot_emu_cost_of_waves(const struct cot_emu_launch *launch, uint64_t block_ns,
			   struct cot_emu_work *ret_work);

extern const struct cot_emu_loader cot_emu_builtin_loader;

#endif
