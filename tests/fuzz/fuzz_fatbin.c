/* Fat binaries: every choice that can be made of one, unpacked. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda/fatbin/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const struct cot_fatbin_entry *entry)
{
	struct cot_error err;
	size_t length;
	char *text;

	/* A text that says it is huge is refused, or costs only memory. */
	if (entry->raw_bytes > 1 << 20 || cot_fatbin_text(entry, &text, &length, &err))
		return;
	if (text[length])
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t targets[] = {35, 75, 90, 103, 120};
	struct cot_fatbin_entry entry;
	struct cot_error err;
	struct cot_fatbin f;
	size_t i;

	if (!cot_fatbin_open(&f, data, size, &err))
		while (!cot_fatbin_next(&f, &entry, &err))
			unpack(&entry);
	for (i = 0; i < 2 * sizeof(targets) / sizeof(targets[0]); i++)
		if (!cot_fatbin_choose(data, size, targets[i / 2], i % 2, &entry, &err))
			unpack(&entry);
	return 0;
}
