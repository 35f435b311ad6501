/*
 * What a program sends to a backend, and writes into its page: whatever the bytes are, what is
 * taken as sound is within all bounds.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_message(const uint8_t *data, size_t size)
{
	struct cot_backend_message m;
	uint64_t window = cot_backend_window(data[0] % COT_BACKEND_CLIENTS);

	memset(&m, 0, sizeof(m));
	memcpy(&m, data, size < sizeof(m) ? size : sizeof(m));
	/* So that more of them get further. */
	m.version = COT_BACKEND_VERSION;
	m.type = data[0] % 8u;
	if (data[1] & 1)
		m.memory.at = window + m.memory.at % (2 * COT_BACKEND_WINDOW_BYTES);
	if (!cot_backend_message_is_sound(&m, sizeof(m), window))
		return;
	REQUIRE(m.type != COT_BACKEND_HELLO && m.type != COT_BACKEND_WELCOME);
	if (m.type == COT_BACKEND_MODULE)
		REQUIRE(m.module.module < COT_BACKEND_MODULES &&
			m.module.bytes <= COT_BACKEND_TEXT_MAX);
	if (m.type == COT_BACKEND_KERNEL)
		REQUIRE(m.kernel.kernel < COT_BACKEND_KERNELS &&
			strlen(m.kernel.name) < COT_BACKEND_NAME);
	if (m.type == COT_BACKEND_MAP || m.type == COT_BACKEND_UNMAP)
		REQUIRE(m.memory.at >= window && m.memory.bytes &&
			m.memory.at + m.memory.bytes <= window + COT_BACKEND_WINDOW_BYTES);
}

static void check_page(const uint8_t *data, size_t size)
{
	static struct cot_backend_page page;
	struct cot_backend_launch got;
	uint64_t word;
	size_t i;

	for (i = 0; i < sizeof(page.slots[0]); i++)
		((uint8_t *)&page.slots[0])[i] = data[i % size];
	page.slots[0].word = page.slots[0].word / 8 * 8 + COT_BACKEND_POSTED;
	if (!cot_backend_take(&page.slots[0], &got, &word))
		return;
	REQUIRE(got.kernel < COT_BACKEND_KERNELS && got.params_bytes <= COT_BACKEND_PARAMS);
	REQUIRE(cot_backend_blocks(&got) && cot_backend_blocks(&got) <= COT_BACKEND_BLOCKS_MAX);
	REQUIRE((uint64_t)got.block[0] * got.block[1] * got.block[2] <= COT_BACKEND_THREADS_MAX);
	REQUIRE(cot_backend_begin(&page.slots[0], word));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	check_message(data, size);
	check_page(data, size);
	return 0;
}
