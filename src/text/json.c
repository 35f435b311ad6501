#include "text/json.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic uint32_t n_failed;

static void *take(size_t size)
{
	void *p = malloc(size);

	if (!p)
		atomic_fetch_add(&n_failed, 1);
	return p;
}

void cot_json_count(void)
{
	json_set_alloc_funcs(take, free);
}

bool cot_json_whole(void)
{
	return !atomic_exchange(&n_failed, 0);
}
