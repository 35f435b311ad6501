/* Which modules and kernels were rewritten, and (handles.c) which handle is which. */
#ifndef COT_GUEST_SHIM_CODE_H
#define COT_GUEST_SHIM_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/shim/driver.h"

struct cot_shim_code; /* what was rewritten of an image */
struct cot_shim_cpu_kernel;
struct cot_shim_kernel;
struct cot_shim_rewritten;

/* What a handle of a function or kernel means. Never freed, only reused. */
struct cot_shim_ref {
	_Atomic(cot_shim_handle) handle;
	_Atomic(struct cot_shim_code *) code; /* NULL: the handle's function was not rewritten */
	_Atomic(const struct cot_shim_kernel *) kernel;
	_Atomic(cot_shim_handle) owner;	  /* the module or library that it goes with */
	_Atomic(cot_shim_handle) workers; /* the rewritten function, or kernel */
	_Atomic bool in_library;	  /* the owner is one */
	/* NULL: not looked for yet; see cpu.h. */
	_Atomic(const struct cot_shim_cpu_kernel *) cpu;
	_Atomic uint64_t fit;	  /* workers that fit one SM, and their shape: launch.c */
	_Atomic uint32_t task_ns; /* how long a task took; 0: not known yet */
	_Atomic uint32_t n_launched, n_timed;
	_Atomic bool loaded; /* it has been launched as it is, beside a backend */
	_Atomic bool broken; /* the rewritten one does not launch */
	_Atomic bool told;   /* launched as it is; the program has been reported to the daemon */
};

/* The entry of a handle, or NULL. Takes no lock. */
struct cot_shim_ref *cot_shim_handles_find(cot_shim_handle handle);
/* Adds or changes one; under the code's lock. NULL: out of memory. */
struct cot_shim_ref *cot_shim_handles_put(cot_shim_handle handle);
/* Drops the entries of an owner, and with it all of handles that were not rewritten. */
void cot_shim_handles_drop(cot_shim_handle owner);
void cot_shim_handles_clear(void);

/* The image was rewritten and is loaded as `owner`. Takes over *r. */
void cot_shim_code_add(cot_shim_handle owner, struct cot_shim_rewritten *r);
/* `module` is the library's, in one context. */
void cot_shim_code_alias(cot_shim_handle module, cot_shim_handle library);
void cot_shim_code_forget(cot_shim_handle owner);
/* How many functions the owner has beyond the program's own. */
unsigned cot_shim_code_n_added(cot_shim_handle owner);
/* The program has got this handle, for the function of that name. */
void cot_shim_code_function(cot_shim_handle handle, cot_shim_handle owner, const char *name,
			    bool is_kernel);
/* The program has got a function of a kernel. */
void cot_shim_code_function_of(cot_shim_handle function, cot_shim_handle kernel);
/* Its entry, made if it is seen for the first time. NULL: leave the launch as it is. */
struct cot_shim_ref *cot_shim_code_ref(cot_shim_handle handle);
/* What its module became; of a rewritten kernel only. It stays valid as the kernel does. */
const struct cot_shim_rewritten *cot_shim_code_made(const struct cot_shim_ref *r);
/* The form of several kernels of its module (rewrite.h). NULL: there is none. */
cot_shim_handle cot_shim_code_fused(const struct cot_shim_ref *r, uint32_t kernels);
/* The text of its module, with all that was added; NULL: it is not kept. */
const char *cot_shim_code_text(const struct cot_shim_ref *r, size_t *ret_length);
void cot_shim_code_reset(void); /* after fork() */

#endif
