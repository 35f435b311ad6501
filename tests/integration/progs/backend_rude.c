/*
 * Someone who speaks to a backend as no shim does: says nothing, sends what is no message, too many
 * descriptors, files that are none, and writes anything into its page. Prints "rude: WHAT" for each
 * that the backend did not answer as it should, and "rude ends". Started by `cotenant run
 * --backend`.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/backend.h"
#include "common.h"

#define SILENT	4
#define WAIT_MS 20000
#define WRITES	20000

static struct cot_backend_message hello = {.type = COT_BACKEND_HELLO,
					   .version = COT_BACKEND_VERSION};

static int open_door(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", getenv("COTENANT_BACKEND"));
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("rude: connect");
		exit(1);
	}
	return fd;
}

union control {
	char bytes[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr align;
};

static void send_all(int to, const void *bytes, size_t size, const int *fds, size_t n)
{
	union control control = {{0}};
	struct iovec part = {(void *)(uintptr_t)bytes, size};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *head;

	if (n) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = CMSG_SPACE(n * sizeof(int));
		head = CMSG_FIRSTHDR(&packet);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(head), fds, n * sizeof(int));
	}
	(void)sendmsg(to, &packet, MSG_NOSIGNAL);
}

/* It is sent off. */
static void expect_end(int fd, const char *what)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	char byte;

	if (poll(&end, 1, WAIT_MS) != 1 || read(fd, &byte, 1) > 0)
		printf("rude: %s\n", what);
	close(fd);
}

static int page_fd, wake_fd;

/* A connection that is welcome; its page, and until the next one its descriptors. */
static int come_in(struct cot_backend_page **ret_page)
{
	struct cot_backend_message m;
	union control control = {{0}};
	struct iovec part = {&m, sizeof(m)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	int fd = open_door(), fds[2];

	if (page_fd) {
		close(page_fd);
		close(wake_fd);
	}
	send_all(fd, &hello, sizeof(hello), NULL, 0);
	if (recvmsg(fd, &packet, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(m) ||
	    m.type != COT_BACKEND_WELCOME || !CMSG_FIRSTHDR(&packet)) {
		printf("rude: it is not welcome\n");
		exit(1);
	}
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&packet)), sizeof(fds));
	*ret_page =
		mmap(NULL, COT_BACKEND_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	page_fd = fds[0];
	wake_fd = fds[1];
	return fd;
}

static struct cot_backend_message message(uint32_t type)
{
	return (struct cot_backend_message){.type = type, .version = COT_BACKEND_VERSION};
}

/* Words and launches of any kind, also while they are looked at. */
static void scribble(struct cot_backend_page *page)
{
	static const unsigned char random[] = {7, 1, 255, 0, 64, 3, 128, 2, 5};
	unsigned i;

	for (i = 0; i < WRITES; i++) {
		struct cot_backend_slot *s = &page->slots[i % COT_BACKEND_SLOTS];
		unsigned k = i * 2654435761u;

		memset(&s->launch, random[k % sizeof(random)], sizeof(s->launch));
		s->launch.kernel = k % 300;
		s->launch.params_bytes = k % 7 ? 16 : k;
		s->launch.grid[0] = s->launch.block[0] = k % 3;
		atomic_store(&s->word, (uint64_t)(k % 5) * 8 + k % 8);
		atomic_store(&page->own_ns, k);
	}
}

/* What came along cannot be made smaller, and is nobody else's. */
static void spoil_files(void)
{
	const uint64_t most = UINT64_MAX - 1;
	struct cot_backend_page *page;
	int one = come_in(&page), spoilt, other, i;

	if (!ftruncate(page_fd, 0))
		printf("rude: the page is smaller\n");
	spoilt = dup(wake_fd);
	(void)!write(spoilt, &most, sizeof(most));
	(void)fcntl(spoilt, F_SETFL, fcntl(spoilt, F_GETFL) & ~O_NONBLOCK);
	other = come_in(&page);
	if (!(fcntl(wake_fd, F_GETFL) & O_NONBLOCK))
		printf("rude: one descriptor wakes for all\n");
	for (i = 0; i < WRITES / 100; i++) /* it still answers those that come and go */
		(void)!write(wake_fd, &(const uint64_t){1}, sizeof(uint64_t));
	close(one);
	close(other);
	close(spoilt);
}

int main(void)
{
	struct cot_backend_message m;
	struct cot_backend_page *page;
	int silent[SILENT], fds[2], fd, i;
	CUuuid uuid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cuInit(0) || cuDeviceGetUuid(&uuid, 0))
		return 1;
	memcpy(hello.hello.gpu, &uuid, sizeof(hello.hello.gpu));
	(void)snprintf(hello.hello.pool, sizeof(hello.hello.pool), "%s",
		       getenv("CUDA_MPS_PIPE_DIRECTORY"));
	for (i = 0; i < SILENT; i++)
		silent[i] = open_door();

	fd = open_door();
	send_all(fd, "?", 1, NULL, 0);
	expect_end(fd, "one byte");
	fd = open_door();
	m = hello;
	m.hello.gpu[0] ^= 1;
	send_all(fd, &m, sizeof(m), NULL, 0);
	expect_end(fd, "another GPU");
	fd = open_door();
	m = message(COT_BACKEND_KERNEL);
	send_all(fd, &m, sizeof(m), NULL, 0);
	expect_end(fd, "a kernel before a greeting");

	if (pipe(fds))
		return 1;
	fd = come_in(&page);
	m.kernel.name[0] = 'k';
	for (i = 0; i < 50; i++)
		send_all(fd, &m, sizeof(m), fds, 2);
	expect_end(fd, "two descriptors");
	fd = come_in(&page);
	m = message(COT_BACKEND_MODULE);
	m.module.bytes = 100;
	send_all(fd, &m, sizeof(m), fds, 1);
	expect_end(fd, "a pipe for a module");
	fd = come_in(&page);
	m = message(COT_BACKEND_MAP);
	m.memory.at = COT_BACKEND_BASE;
	m.memory.bytes = COT_BACKEND_CHUNK_BYTES;
	send_all(fd, &m, sizeof(m), fds, 1);
	expect_end(fd, "a pipe for memory");
	fd = come_in(&page);
	m = message(COT_BACKEND_UNMAP);
	m.memory.at = COT_BACKEND_BASE;
	m.memory.bytes = COT_BACKEND_CHUNK_BYTES;
	send_all(fd, &m, sizeof(m), NULL, 0);
	expect_end(fd, "memory that is not there");

	spoil_files();
	fd = come_in(&page);
	scribble(page);
	close(fd);
	for (i = 0; i < SILENT; i++)
		expect_end(silent[i], "nothing");
	printf("rude ends\n");
	return 0;
}
