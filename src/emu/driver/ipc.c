/*
 * Events shared by processes: two numbers in memory that all of them have, how often the event was
 * recorded and how far that is done. The handle says where the memory is: a file without a name,
 * which the process that made the event holds open until it destroys it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/driver/inside.h"

#define MAGIC 0x65637069u

struct handle {
	uint32_t magic;
	int32_t pid, fd;
};

_Static_assert(sizeof(struct handle) <= sizeof(CUipcEventHandle), "it fits");

/* Mapped for good: work that waits may name it when the event is gone. */
static CUresult map(int fd, CUevent event)
{
	void *at = mmap(NULL, sizeof(*event->ipc), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->ipc = at;
	event->ipc_fd = fd;
	return CUDA_SUCCESS;
}

static CUresult map_or_close(int fd, CUevent event)
{
	CUresult result = map(fd, event);

	if (result)
		close(fd);
	return result;
}

CUresult cot_emu_ipc_make(CUevent event)
{
	int fd = memfd_create("cotenant-emu-event", MFD_CLOEXEC);

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (ftruncate(fd, sizeof(*event->ipc))) {
		close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return map_or_close(fd, event);
}

void cot_emu_ipc_drop(CUevent event)
{
	if (event->ipc)
		close(event->ipc_fd);
}

CUresult cot_emu_ipc_handle(CUevent event, CUipcEventHandle *ret_handle)
{
	struct handle h = {MAGIC, (int32_t)getpid(), event->ipc_fd};

	if (!event->ipc)
		return CUDA_ERROR_INVALID_HANDLE;
	memset(ret_handle, 0, sizeof(*ret_handle));
	memcpy(ret_handle->reserved, &h, sizeof(h));
	return CUDA_SUCCESS;
}

CUresult cot_emu_ipc_open(const CUipcEventHandle *handle, CUevent event)
{
	struct handle h;
	char path[64];
	off_t bytes;
	int fd;

	memcpy(&h, handle->reserved, sizeof(h));
	/* Not of the process itself. */
	if (h.magic != MAGIC || h.pid <= 0 || h.pid == (int32_t)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", h.pid, h.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_MAP_FAILED;
	bytes = lseek(fd, 0, SEEK_END);
	if (bytes != (off_t)sizeof(*event->ipc)) {
		close(fd);
		return CUDA_ERROR_MAP_FAILED;
	}
	return map_or_close(fd, event);
}

static bool is_done(const struct cot_emu_ipc *ipc)
{
	return atomic_load(&ipc->done) >= atomic_load(&ipc->recorded);
}

CUresult cot_emu_ipc_await(CUevent event, bool block)
{
	while (!is_done(event->ipc)) {
		if (!block)
			return CUDA_ERROR_NOT_READY;
		usleep(50);
	}
	return CUDA_SUCCESS;
}
