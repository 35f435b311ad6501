/* Where the variables of a module are. Private to the lowering. */
#ifndef COT_EMU_EXEC_PLACES_H
#define COT_EMU_EXEC_PLACES_H

#include "emu/exec/lower.h"

/* A variable or function of the PTX by its pointer: in a hash table, key NULL: free. */
struct cot_exec_place {
	const void *key;
	struct cot_exec_address at;
	uint32_t index; /* of a function, or of a module's variable */
	uint32_t owner; /* variables of a frame: the function */
	bool placed;
	uint32_t last_kernel; /* that was seen to use it */
};

/* The entry, made if it is not there; NULL when out of memory. */
struct cot_exec_place *cot_exec_place_add(struct cot_exec_lower *l, const void *key);
struct cot_exec_place *cot_exec_place_find(const struct cot_exec_lower *l, const void *key);

/*
 * What functions name: for each one, a run of entries in `refs`. Filled by cot_exec_find_refs(),
 * used for shared memory, refusals and the depth of calls.
 */
struct cot_exec_refs {
	struct cot_exec_list functions;	      /* uint32_t: indices */
	struct cot_exec_list vars;	      /* const struct cot_ptx_var *: in .shared */
	uint32_t *first_function, *first_var; /* of each function, and the end */
};

int cot_exec_find_refs(struct cot_exec_lower *l, struct cot_exec_refs *refs);
void cot_exec_free_refs(struct cot_exec_refs *refs);

/* Offsets of everything in .global and .const (not yet addresses), and of .shared. */
int cot_exec_place_module(struct cot_exec_lower *l, struct cot_error *err);
int cot_exec_place_shared(struct cot_exec_lower *l, const struct cot_exec_refs *refs);
/* Parameters and variables of the function that is worked on. */
int cot_exec_place_function(struct cot_exec_lower *l);
/* Writes the initial values. */
int cot_exec_init_data(struct cot_exec_lower *l, struct cot_error *err);

#endif
