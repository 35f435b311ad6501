/* The entry points by name, for cuGetProcAddress. */
#ifndef COT_GUEST_SHIM_ENTRIES_H
#define COT_GUEST_SHIM_ENTRIES_H

#include <stddef.h>

struct cot_shim_entry {
	const char *name;
	void **slot;
	void *ours; /* NULL: passed on */
	int since;  /* as in api.def; 0: not known */
};

extern const struct cot_shim_entry cot_shim_entries[];
extern const size_t cot_shim_n_entries;

#endif
