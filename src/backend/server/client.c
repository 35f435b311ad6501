/* A program: its page, the memory of its that is mapped here, and its code. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/server/server.h"

#define FDS_MAX	    2
#define HELLO_NS    5000000000ull /* whoever says nothing has a place no longer */
#define HOST_MAPPED 2		  /* CU_MEMHOSTREGISTER_DEVICEMAP */

/* Which call the driver did not take stands in the log. */
static bool worked(CUresult rc, const char *call)
{
	if (rc)
		backend_say("%s: error %d", call, (int)rc);
	return !rc;
}

int cot_backend_page_make(struct backend *b, struct cot_backend_page **ret, CUdeviceptr *ret_on_gpu)
{
	int fd = memfd_create("cotenant-backend", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t bytes = COT_BACKEND_PAGE_BYTES;
	void *p = MAP_FAILED;

	if (fd < 0)
		return -1;
	/* What a program makes smaller would end the backend when it looks there. */
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		close(fd);
		return -1;
	}
	if (!worked(b->cuda.cuMemHostRegister_v2(p, bytes, HOST_MAPPED), "cuMemHostRegister")) {
		munmap(p, bytes);
		close(fd);
		return -1;
	}
	if (!worked(b->cuda.cuMemHostGetDevicePointer_v2(ret_on_gpu, p, 0),
		    "cuMemHostGetDevicePointer")) {
		b->cuda.cuMemHostUnregister(p);
		munmap(p, bytes);
		close(fd);
		return -1;
	}
	*ret = p;
	return fd;
}

uint32_t cot_backend_clients_count(const struct backend *b)
{
	uint32_t i, n = 0;

	for (i = 0; i < COT_BACKEND_CLIENTS; i++)
		n += b->clients[i].fd >= 0 && b->clients[i].welcome;
	return n;
}

static void tell_count(struct backend *b)
{
	uint32_t n = cot_backend_clients_count(b), i;

	for (i = 0; i < COT_BACKEND_CLIENTS; i++)
		if (b->clients[i].page)
			atomic_store(&b->clients[i].page->n_others, n ? n - 1 : 0);
}

void cot_backend_client_accept(struct backend *b)
{
	int fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN};
	struct ucred who = {0};
	socklen_t size = sizeof(who);
	struct backend_client *c = b->clients;

	if (fd < 0)
		return;
	while (c < b->clients + COT_BACKEND_CLIENTS && (c->fd >= 0 || c->gone))
		c++;
	/* Of the user's own programs alone. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || who.uid != geteuid() ||
	    c == b->clients + COT_BACKEND_CLIENTS) {
		close(fd);
		return;
	}
	event.data.ptr = c;
	if (epoll_ctl(b->epoll, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->since_ns = backend_now_ns();
	c->pid = (int)who.pid;
}

void cot_backend_clients_wait(struct backend *b, uint64_t now_ns)
{
	struct backend_client *c;

	for (c = b->clients; c < b->clients + COT_BACKEND_CLIENTS; c++)
		if (c->fd >= 0 && !c->welcome && now_ns - c->since_ns > HELLO_NS)
			cot_backend_client_leave(b, c);
}

/* ---- memory ---- */

static void unmap_chunk(struct backend *b, struct backend_client *c, uint32_t i)
{
	struct backend_chunk *k = &c->chunks[i];

	(void)b->cuda.cuMemUnmap(k->at, k->bytes);
	(void)b->cuda.cuMemRelease(k->handle);
	*k = c->chunks[--c->n_chunks];
}

static bool map_chunk(struct backend *b, struct backend_client *c,
		      const struct cot_backend_message *m, int fd)
{
	const CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, (int)b->device},
					.flags = 3};
	struct backend_chunk k = {.at = m->memory.at, .bytes = m->memory.bytes};

	if (c->n_chunks == BACKEND_CHUNKS ||
	    !worked(b->cuda.cuMemImportFromShareableHandle(&k.handle, (void *)(intptr_t)fd, 1),
		    "cuMemImportFromShareableHandle"))
		return false;
	if (!worked(b->cuda.cuMemMap(k.at, k.bytes, 0, k.handle, 0), "cuMemMap")) {
		(void)b->cuda.cuMemRelease(k.handle);
		return false;
	}
	c->chunks[c->n_chunks++] = k;
	return worked(b->cuda.cuMemSetAccess(k.at, k.bytes, &access, 1), "cuMemSetAccess");
}

/* The program has waited for all that uses it. */
static bool unmap_named(struct backend *b, struct backend_client *c,
			const struct cot_backend_message *m)
{
	uint32_t i;

	for (i = 0; i < c->n_chunks; i++)
		if (c->chunks[i].at == m->memory.at && c->chunks[i].bytes == m->memory.bytes) {
			unmap_chunk(b, c, i);
			return true;
		}
	return false;
}

/* ---- code ---- */

static bool take_module(struct backend *b, struct backend_client *c,
			const struct cot_backend_message *m, int fd)
{
	size_t bytes = m->module.bytes, n = 0;
	/* A file of memory: reading another one might take for ever. */
	char *text = fcntl(fd, F_GET_SEALS) < 0 ? NULL : malloc(bytes + 1);
	ssize_t got = 1;

	while (text && n < bytes && got > 0) {
		got = pread(fd, text + n, bytes - n, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (!text || n < bytes) {
		free(text);
		return false;
	}
	text[bytes] = '\0';
	c->modules[m->module.module] = cot_backend_code_of(b, text, bytes);
	return true;
}

static bool take_kernel(struct backend *b, struct backend_client *c,
			const struct cot_backend_message *m)
{
	struct backend_code *code = c->modules[m->kernel.module];
	struct backend_kernel *k = code ? cot_backend_kernel_of(b, code, m->kernel.name) : NULL;
	enum cot_backend_why why = k ? k->why : COT_BACKEND_WHY_KERNEL;

	c->kernels[m->kernel.kernel] = why == COT_BACKEND_WHY_NOT ? k : NULL;
	atomic_store(&c->page->kernels[m->kernel.kernel], (uint8_t)(1 + why));
	return true;
}

/* ---- greeting ---- */

static bool reserve(struct backend *b, struct backend_client *c)
{
	uint64_t window = cot_backend_window((uint32_t)(c - b->clients));
	CUdeviceptr at = 0;

	if (c->reserved)
		return true;
	if (!worked(b->cuda.cuMemAddressReserve(&at, COT_BACKEND_WINDOW_BYTES, 0, window, 0),
		    "cuMemAddressReserve"))
		return false;
	if (at != window) {
		(void)b->cuda.cuMemAddressFree(at, COT_BACKEND_WINDOW_BYTES);
		return false;
	}
	c->reserved = true;
	return true;
}

/* Each has its own: what is done to it, such as a value that lets the next write wait, concerns no
 * other. We read none, since a read may wait as well. */
static bool make_wake(struct backend *b, struct backend_client *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = b};

	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return c->wake >= 0 && !epoll_ctl(b->epoll, EPOLL_CTL_ADD, c->wake, &event);
}

/* The program may have it still, so that closing it is not enough. */
static void end_wake(struct backend *b, struct backend_client *c)
{
	if (c->wake < 0)
		return;
	(void)epoll_ctl(b->epoll, EPOLL_CTL_DEL, c->wake, NULL);
	close(c->wake);
	c->wake = -1;
}

static bool send_welcome(struct backend *b, struct backend_client *c, int page)
{
	struct cot_backend_message m = {
		.type = COT_BACKEND_WELCOME,
		.version = COT_BACKEND_VERSION,
		.welcome = {(uint32_t)(c - b->clients), COT_BACKEND_PAGE_BYTES},
	};
	union {
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec part = {&m, sizeof(m)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	const int fds[FDS_MAX] = {page, c->wake};
	struct cmsghdr *head = CMSG_FIRSTHDR(&packet);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(head), fds, sizeof(fds));
	return sendmsg(c->fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(m);
}

static bool welcome(struct backend *b, struct backend_client *c,
		    const struct cot_backend_message *m)
{
	bool sent;
	int page;

	if (c->welcome || memcmp(m->hello.gpu, b->gpu, sizeof(b->gpu)) != 0 ||
	    strcmp(m->hello.pool, b->pool) != 0) {
		backend_say("program %d is on another GPU, or in another pool", c->pid);
		return false;
	}
	if (!reserve(b, c)) {
		backend_say("there are no addresses for program %d", c->pid);
		return false;
	}
	page = cot_backend_page_make(b, &c->page, &c->page_on_gpu);
	if (page < 0) {
		c->page = NULL;
		return false;
	}
	sent = make_wake(b, c) && send_welcome(b, c, page);
	close(page);
	if (!sent)
		return false;
	c->welcome = true;
	backend_say("program %d is attached", c->pid);
	tell_count(b);
	return true;
}

/* ---- messages ---- */

static bool handle(struct backend *b, struct backend_client *c, const struct cot_backend_message *m,
		   int fd)
{
	switch (m->type) {
	case COT_BACKEND_HELLO:
		return welcome(b, c, m);
	case COT_BACKEND_MODULE:
		return take_module(b, c, m, fd);
	case COT_BACKEND_KERNEL:
		return take_kernel(b, c, m);
	case COT_BACKEND_MAP:
		return map_chunk(b, c, m, fd);
	case COT_BACKEND_UNMAP:
		return unmap_named(b, c, m);
	default:
		return false;
	}
}

/* The one descriptor of a packet, -1: none. False: there were more, which are closed. */
static bool take_fd(struct msghdr *packet, int *ret_fd)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(packet);
	int fds[FDS_MAX];
	size_t n, i;

	*ret_fd = -1;
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return true;
	n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(head), n * sizeof(int));
	if (n == 1 && !(packet->msg_flags & MSG_CTRUNC)) {
		*ret_fd = fds[0];
		return true;
	}
	for (i = 0; i < n; i++)
		close(fds[i]);
	return false;
}

/* A packet and its descriptor, -1 for none. The size, 0 at the end, or -errno. */
static ssize_t receive(int socket, struct cot_backend_message *m, int *ret_fd)
{
	/* Room for two: padding has it where there is room for one. */
	union {
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {m, sizeof(*m)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (n < 0)
		return -errno;
	return !n || take_fd(&packet, ret_fd) ? n : -EPROTO;
}

void cot_backend_client_read(struct backend *b, struct backend_client *c)
{
	uint64_t window = c->welcome ? cot_backend_window((uint32_t)(c - b->clients)) : 0;
	struct cot_backend_message m;
	int fd;
	ssize_t n = receive(c->fd, &m, &fd);
	bool good;

	if (n == -EAGAIN || n == -EINTR)
		return;
	good = n > 0 && cot_backend_message_is_sound(&m, (size_t)n, window) &&
	       cot_backend_message_has_fd(&m) == (fd >= 0) && handle(b, c, &m, fd);
	if (fd >= 0)
		close(fd);
	if (good)
		atomic_fetch_add(&c->page->n_handled, 1);
	else
		cot_backend_client_leave(b, c);
}

void cot_backend_client_leave(struct backend *b, struct backend_client *c)
{
	if (c->welcome)
		backend_say("program %d has left", c->pid);
	cot_gather_forget(&b->gather, (uint32_t)(c - b->clients));
	close(c->fd); /* and with it leaves the epoll */
	end_wake(b, c);
	c->fd = -1;
	c->welcome = false;
	c->gone = true;
	tell_count(b);
	cot_backend_clients_clear(b);
}

static void clear(struct backend *b, struct backend_client *c)
{
	bool reserved = c->reserved;

	while (c->n_chunks)
		unmap_chunk(b, c, c->n_chunks - 1);
	if (c->page) {
		(void)b->cuda.cuMemHostUnregister(c->page);
		munmap(c->page, COT_BACKEND_PAGE_BYTES);
	}
	memset(c, 0, sizeof(*c));
	c->fd = c->wake = -1;
	c->reserved = reserved;
}

void cot_backend_clients_clear(struct backend *b)
{
	struct backend_client *c;

	for (c = b->clients; c < b->clients + COT_BACKEND_CLIENTS; c++)
		if (c->gone && atomic_load(&b->own->done) >= c->last)
			clear(b, c);
}
