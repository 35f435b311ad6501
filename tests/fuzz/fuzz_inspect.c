/* Programs, libraries and fat binaries, as `cotenant inspect` reads them: in bounds, each kernel
 * once. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect.h"
#include "elf/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const void *bytes, size_t n, bool deep)
{
	struct cot_inspection in = {.arena = cot_arena_create(16u << 20), .target = 90};
	struct cot_error err;
	size_t i;

	if (in.arena && !cot_inspect_bytes(&in, bytes, n, deep, &err))
		for (i = 1; i < in.n_kernels; i++)
			if (strcmp(in.kernels[i - 1].name, in.kernels[i].name) >= 0)
				abort();
	cot_arena_destroy(in.arena);
}

/* What libraries it asks for. */
static void ask(const void *bytes, size_t n)
{
	struct cot_elf_section dynamic;
	struct cot_error err;
	struct cot_elf e;
	struct cot_elf_wish wish;
	size_t i;

	if (cot_elf_open(&e, bytes, n, &err) || cot_elf_find(&e, ".dynamic", 0, &dynamic, &err))
		return;
	for (i = 0; !cot_elf_wish(&e, &dynamic, i, &wish, &err); i++)
		if (wish.name && strlen(wish.name) >= n)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy that ends where it says, for the sanitizer to see. */
	void *bytes = malloc(size ? size : 1);

	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes, data, size);
	look(bytes, size, true);
	look(bytes, size, false);
	ask(bytes, size);
	free(bytes);
	return 0;
}
