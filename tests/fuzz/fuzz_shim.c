/*
 * The bytes that the shim reads: the dynamic linker's list of libraries, and files with code (what
 * is in them is for the readers of fat binaries and PTX, which have targets of their own). The
 * units are in a shared library, so their sources are here.
 */
#include <stdlib.h>

#include "guest/shim/cache.c"
#include "guest/shim/image.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_cache(const uint8_t *bytes, size_t size)
{
	const char *path;
	unsigned i;

	for (i = 0; i < 8; i++) {
		path = cot_shim_cache_find(bytes, size, "libcuda.so.1", i);
		if (path && strlen(path) > size)
			abort();
	}
}

static void read_image(const uint8_t *bytes, size_t size)
{
	static const unsigned targets[] = {0, 35, 70, 90, 100};
	enum cot_shim_why why;
	size_t length, i;
	char *text;

	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (cot_shim_image_text(bytes, size, targets[i], &text, &length, &why))
			continue;
		if (strlen(text) > length)
			abort();
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *copy;

	if (size < 2)
		return 0;
	/* Of its own size, so that every byte beyond is noticed. */
	copy = malloc(size - 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		read_cache(copy, size - 1);
	else
		read_image(copy, size - 1);
	free(copy);
	return 0;
}
