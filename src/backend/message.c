/* Which packets of a program are messages. */
#include <string.h>

#include "backend/backend.h"

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool is_in_window(const struct cot_backend_message *m, uint64_t window)
{
	uint64_t at = m->memory.at, bytes = m->memory.bytes;

	return window && bytes && !(at % COT_BACKEND_CHUNK_BYTES) &&
	       !(bytes % COT_BACKEND_CHUNK_BYTES) && at >= window &&
	       bytes <= COT_BACKEND_WINDOW_BYTES && at - window <= COT_BACKEND_WINDOW_BYTES - bytes;
}

bool cot_backend_message_is_sound(const struct cot_backend_message *m, size_t bytes,
				  uint64_t window)
{
	if (bytes != sizeof(*m) || m->version != COT_BACKEND_VERSION)
		return false;
	switch (m->type) {
	case COT_BACKEND_HELLO:
		return !window && is_text(m->hello.pool, sizeof(m->hello.pool));
	case COT_BACKEND_MODULE:
		return window && m->module.module < COT_BACKEND_MODULES && m->module.bytes &&
		       m->module.bytes <= COT_BACKEND_TEXT_MAX;
	case COT_BACKEND_KERNEL:
		return window && m->kernel.kernel < COT_BACKEND_KERNELS &&
		       m->kernel.module < COT_BACKEND_MODULES && m->kernel.name[0] &&
		       is_text(m->kernel.name, sizeof(m->kernel.name));
	case COT_BACKEND_MAP:
	case COT_BACKEND_UNMAP:
		return is_in_window(m, window);
	default:
		return false;
	}
}

bool cot_backend_message_has_fd(const struct cot_backend_message *m)
{
	return m->type == COT_BACKEND_MODULE || m->type == COT_BACKEND_MAP;
}
