/*
 * Stands before the emulated driver, as the shim's driver: the calls that the shim makes for itself
 * may fail as those of libc do (fault.c), for lack of memory. What it hands on for the program does
 * not: the program would be told of it. Neither do calls that read what a thread has at hand
 * (cuCtxGetCurrent, cuStreamIsCapturing): they fail only when everything does.
 *
 * All functions are jumps through slots, which lead to the driver, or to what may fail before it.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "cuda/abi/types.h"
#include "page.h"

#if defined(__x86_64__)
#define JUMP(name) "\tjmp *slot_" #name "(%rip)\n"
#else
#define JUMP(name) "\tadrp x16, slot_" #name "\n\tldr x16, [x16, :lo12:slot_" #name "]\n\tbr x16\n"
#endif
#define NAME(name)                                                                                \
	__asm__("\t.text\n\t.balign 16\n\t.globl " #name "\n\t.type " #name ", %function\n" #name \
		":\n" JUMP(name) "\t.pushsection .data, \"aw\"\n"                                 \
				 "\t.balign 8\n\t.globl slot_" #name "\n\t.hidden slot_" #name    \
				 "\nslot_" #name ":\n\t.quad 0\n\t.popsection\n");
#define ENTRY(name, since, shim, emulated, params) NAME(name)
#include "cuda/abi/api.def"

#define NAME(name)				   extern void *slot_##name __attribute__((visibility("hidden")));
#define ENTRY(name, since, shim, emulated, params) NAME(name)
#include "cuda/abi/api.def"

/* Up to six whole numbers or pointers. */
#define WORDS  long a, long b, long c, long d, long e, long f
#define VALUES a, b, c, d, e, f
typedef CUresult of_words(WORDS);

/* Handles that the shim has made for itself. */
#define OWN_MAX 4096u
static _Atomic long own[OWN_MAX];
static _Atomic unsigned n_own;

static void note(long handle)
{
	unsigned i = atomic_fetch_add(&n_own, 1);

	if (i < OWN_MAX)
		atomic_store(&own[i], handle);
}

/* It is destroyed, which does not fail; the program's next one may get the same handle. */
static bool is_forgotten(long handle)
{
	unsigned i, n = atomic_load(&n_own);
	long was;

	for (i = 0; i < n && i < OWN_MAX; i++) {
		was = handle;
		(void)atomic_compare_exchange_strong(&own[i], &was, 0);
	}
	return false;
}

static bool is_own(long handle)
{
	unsigned i, n = atomic_load(&n_own);

	for (i = 0; i < n && i < OWN_MAX; i++)
		if (atomic_load(&own[i]) == handle)
			return true;
	return false;
}

/* may(name, whether it may fail, what is noted): before the driver's. */
#define MAY(name, may, notes)                                     \
	static of_words *real_##name;                             \
	static CUresult before_##name(WORDS)                      \
	{                                                         \
		const void *caller = __builtin_return_address(0); \
		CUresult rc;                                      \
                                                                  \
		if ((may) && fault_fails(#name, caller))          \
			return CUDA_ERROR_OUT_OF_MEMORY;          \
		rc = real_##name(VALUES);                         \
		if (!rc && (notes) && fault_is_watched(caller))   \
			note(*(long *)(uintptr_t)a);              \
		return rc;                                        \
	}
#include "fault_driver.def"
#undef MAY

static void *find(void *driver, const char *name)
{
	return driver ? dlsym(driver, name) : NULL;
}

static void __attribute__((constructor)) fill(void)
{
	const char *path = getenv("FAULT_BEFORE");
	void *driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

#define NAME(name)				   slot_##name = find(driver, #name);
#define ENTRY(name, since, shim, emulated, params) NAME(name)
#include "cuda/abi/api.def"
#define MAY(name, may, notes)                             \
	real_##name = (of_words *)(uintptr_t)slot_##name; \
	slot_##name = (void *)(uintptr_t)before_##name;
#include "fault_driver.def"
#undef MAY
}
