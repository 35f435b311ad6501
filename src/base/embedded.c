#include "base/embedded.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *entry)
{
	return strcmp(name, ((const struct cot_embedded *)entry)->name);
}

const struct cot_embedded *cot_embedded_find(const char *name)
{
	return bsearch(name, cot_embedded_files, cot_n_embedded_files,
		       sizeof(cot_embedded_files[0]), by_name);
}
