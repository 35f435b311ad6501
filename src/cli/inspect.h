/*
 * The parts of `cotenant inspect`: inspect_code.c finds the kernels in a file, inspect_libraries.c
 * the libraries that a program asks for, inspect_show.c shows both; inspect.c has the command.
 */
#ifndef COT_CLI_INSPECT_H
#define COT_CLI_INSPECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "ptx/pass/pass.h"

#define COT_INSPECT_CODES     64u
#define COT_INSPECT_FATBINS   65536u
#define COT_INSPECT_KERNELS   (1u << 20)
#define COT_INSPECT_LIBRARIES 512u

/* PTX or machine code for one kind of GPU. */
struct cot_inspect_code {
	uint32_t arch;
	bool ptx;
	char suffix; /* 'a' of sm_90a, 'f' of sm_100f, or 0 */
};

struct cot_inspect_kernel {
	const char *name; /* as in the file */
	uint64_t codes;	  /* bit i: it is there as codes[i] */
	/* What follows is known of a kernel whose PTX cotenant would take on that GPU. */
	bool examined, needs_rows;
	enum cot_reason reasons[COT_N_PASSES];
	const char *why; /* a sentence: why `workers` does not take it; NULL: it does */
};

struct cot_inspection {
	struct cot_arena *arena;
	uint32_t target; /* compute capability, such as 90 */
	struct cot_inspect_code codes[COT_INSPECT_CODES];
	struct cot_inspect_kernel *kernels; /* by name, each once */
	size_t n_kernels, room;
	unsigned n_codes, n_fatbins, n_unreadable;
	struct cot_error unreadable; /* the first that was */
};

struct cot_inspect_library {
	const char *name, *path; /* path NULL: not found */
	uint64_t codes;		 /* of the libraries' own list of codes */
};

struct cot_inspect_libraries {
	struct cot_arena *arena;
	struct cot_inspection code; /* of all of them: only which codes there are */
	struct cot_inspect_library items[COT_INSPECT_LIBRARIES];
	unsigned n_items, n_left_out;
	bool of_library; /* asked for by a library, not by a program */
};

/* What is in the bytes of a program, a library or a fat binary. -EBADMSG, -ENOMEM, -E2BIG with a
 * sentence; what is unreadable inside is counted. Without `deep` only which codes there are. The
 * arena is the caller's. */
int cot_inspect_bytes(struct cot_inspection *in, const void *bytes, size_t n, bool deep,
		      struct cot_error *err);

/* The libraries that the program at `path` asks for, and those that they ask for. */
int cot_inspect_libraries(struct cot_inspect_libraries *l, const char *path, struct cot_error *err);

/* The bit of this code, which is added; 0: there are too many kinds. */
uint64_t cot_inspect_code_bit(struct cot_inspection *in, struct cot_inspect_code code);

/* A copy as messages and JSON show it: what is not printable ASCII becomes '?'. NULL: no memory. */
const char *cot_inspect_name(struct cot_arena *a, const char *text);

/* A file as bytes; read only. It is the user's own: whoever cuts it meanwhile ends the command. */
int cot_inspect_map(const char *path, const void **ret_bytes, size_t *ret_n, struct cot_error *err);
void cot_inspect_unmap(const void *bytes, size_t n);

struct cot_inspected {
	const char *path;
	const char *obstacle; /* why no library is loaded into it, or NULL */
	const struct cot_inspection *code;
	const struct cot_inspect_libraries *libraries;
};

/* What --quota reaches: kernels as workers. */
size_t cot_inspect_n_workers(const struct cot_inspection *in);

int cot_inspect_text(const struct cot_inspected *i, FILE *out);
json_t *cot_inspect_json(const struct cot_inspected *i);

/* The name as in the source, for a moment (the next call ends it): "step(float*, int)"; or as it
 * is. */
const char *cot_demangle(const char *name);

#endif
