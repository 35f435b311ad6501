/* The first bytes of a program: whatever they are, they are read within their bounds. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/loadable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy that ends where it says, for the sanitizer to see. */
	void *bytes = calloc(1, size ? size : 1);

	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes, data, size);
	/* Without its table no program is called static. */
	if (cot_loadable_is_static(bytes, size) && size < 120)
		abort();
	free(bytes);
	return 0;
}
