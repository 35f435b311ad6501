/* The connection with the backend; see backend.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/link.h"
#include "guest/log.h"
#include "guest/os.h"
#include "guest/shim/backend_inside.h"
#include "guest/shim/merge.h"
#include "guest/shim/runtime.h"

/* How long the answer to HELLO may take, and how long a backend may be silent with our work in it.
 */
#define HELLO_MS    2000
#define LOOK_MS	    100
#define HOST_MAPPED 2u /* CU_MEMHOSTREGISTER_DEVICEMAP */
#define FDS	    2

enum { UNTRIED, ATTACHED, NONE };

struct cot_shim_attached cot_shim_attached;
pthread_mutex_t cot_shim_backend_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int state;
static struct cot_wake to_stop;

bool cot_shim_backend_is_attached(void)
{
	return atomic_load(&state) == ATTACHED;
}

void cot_shim_backend_settle(void)
{
	struct cot_backend_page *page = cot_shim_attached.page;
	int none = 0, fault = (int)atomic_load(&page->fault);

	if (atomic_load(&page->done) < atomic_load(&cot_shim_attached.last) && !fault)
		fault = CUDA_ERROR_LAUNCH_FAILED;
	if (fault && atomic_compare_exchange_strong(&cot_shim_backend_fault, &none, fault))
		cot_log(COT_LOG_WARN, "a launch that was in the backend failed with error %d",
			fault);
	atomic_store(&page->done, COT_BACKEND_DONE_ALL);
}

void cot_shim_backend_lose(const char *why)
{
	int attached = ATTACHED;

	if (!atomic_compare_exchange_strong(&state, &attached, NONE))
		return;
	cot_log(COT_LOG_INFO, "no backend any longer: %s", why);
	cot_shim_count_attached(false);
	/* It need not wait for us either. */
	(void)shutdown(cot_shim_attached.socket, SHUT_RDWR);
	cot_shim_backend_settle();
}

/* ---- packets ---- */

union control {
	char bytes[CMSG_SPACE(FDS * sizeof(int))];
	struct cmsghdr align;
};

static bool send_packet(int socket, const struct cot_backend_message *m, int fd)
{
	union control control = {{0}};
	struct iovec part = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *head;

	if (fd >= 0) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = CMSG_SPACE(sizeof(int));
		head = CMSG_FIRSTHDR(&packet);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	return sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*m);
}

bool cot_shim_backend_send(struct cot_backend_message *m, int fd)
{
	m->version = COT_BACKEND_VERSION;
	if (!cot_shim_backend_is_attached())
		return false;
	if (send_packet(cot_shim_attached.socket, m, fd)) {
		cot_shim_attached.n_sent++;
		return true;
	}
	cot_shim_backend_lose("it does not read");
	return false;
}

/* The answer and its descriptors; both, or none. */
static bool receive_welcome(int socket, struct cot_backend_message *m, int ret_fds[FDS])
{
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	union control control = {{0}};
	struct iovec part = {m, sizeof(*m)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head;

	if (poll(&ready, 1, HELLO_MS) != 1 ||
	    recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*m))
		return false;
	head = CMSG_FIRSTHDR(&packet);
	if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(FDS * sizeof(int)))
		return false;
	memcpy(ret_fds, CMSG_DATA(head), FDS * sizeof(int));
	if (m->type == COT_BACKEND_WELCOME && m->version == COT_BACKEND_VERSION &&
	    m->welcome.client < COT_BACKEND_CLIENTS &&
	    m->welcome.page_bytes == COT_BACKEND_PAGE_BYTES)
		return true;
	close(ret_fds[0]);
	close(ret_fds[1]);
	return false;
}

/* ---- attaching ---- */

/* Which call the driver did not take stands in the log. */
static bool worked(CUresult rc, const char *call)
{
	if (rc)
		cot_log(COT_LOG_WARN, "%s for the backend: error %d", call, rc);
	return !rc;
}

static int connect_to(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(at.sun_path))
		return -1;
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool say_hello(int socket, CUdevice device)
{
	struct cot_backend_message m = {.type = COT_BACKEND_HELLO, .version = COT_BACKEND_VERSION};
	const char *pool = getenv("CUDA_MPS_PIPE_DIRECTORY");
	CUuuid uuid;

	if (COT_REAL(cuDeviceGetUuid)(&uuid, device) ||
	    (pool && strlen(pool) >= sizeof(m.hello.pool)))
		return false;
	memcpy(m.hello.gpu, &uuid, sizeof(m.hello.gpu));
	if (pool)
		memcpy(m.hello.pool, pool, strlen(pool));
	return send_packet(socket, &m, -1);
}

static bool map_page(int fd)
{
	struct cot_shim_attached *a = &cot_shim_attached;
	void *p = NULL;

	if (cot_link_map(fd, COT_BACKEND_PAGE_BYTES, &p) < 0)
		return false;
	if (!worked(COT_REAL(cuMemHostRegister_v2)(p, COT_BACKEND_PAGE_BYTES, HOST_MAPPED),
		    "cuMemHostRegister") ||
	    !worked(COT_REAL(cuMemHostGetDevicePointer_v2)(&a->page_on_gpu, p, 0),
		    "cuMemHostGetDevicePointer")) {
		munmap(p, COT_BACKEND_PAGE_BYTES);
		return false;
	}
	a->page = p;
	return true;
}

static bool reserve(uint32_t client)
{
	uint64_t window = cot_backend_window(client);
	CUdeviceptr at = 0;

	if (!worked(COT_REAL(cuMemAddressReserve)(&at, COT_BACKEND_WINDOW_BYTES, 0, window, 0),
		    "cuMemAddressReserve"))
		return false;
	if (at == window)
		return true;
	(void)COT_REAL(cuMemAddressFree)(at, COT_BACKEND_WINDOW_BYTES);
	return false;
}

static const char *attach_to(int socket, CUdevice device)
{
	struct cot_backend_message m;
	const char *obstacle = NULL;
	int fds[FDS];

	if (!say_hello(socket, device) || !receive_welcome(socket, &m, fds))
		return "it is on another GPU, in another pool, full, or of another version";
	if (!reserve(m.welcome.client))
		obstacle = "this program has something at the addresses of its window";
	else if (!map_page(fds[0]))
		obstacle = "the driver does not take the common memory";
	close(fds[0]);
	if (obstacle) {
		close(fds[1]);
		return obstacle;
	}
	cot_shim_attached.client = m.welcome.client;
	cot_shim_attached.socket = socket;
	cot_shim_attached.wake = fds[1];
	return NULL;
}

/* Its end, or a silence while there is work of ours in it. */
static void watch(void)
{
	struct pollfd ends[2] = {{.fd = cot_shim_attached.socket, .events = POLLIN},
				 {.fd = to_stop.listen.fd, .events = POLLIN}};
	struct cot_backend_page *page = cot_shim_attached.page;
	uint64_t beat = 0, beat_ns = 0, now_ns;

	pthread_mutex_unlock(&cot_shim_lock);
	while (!atomic_load(&cot_shim_stopping) && cot_shim_backend_is_attached()) {
		if (poll(ends, 2, LOOK_MS) > 0 && ends[0].revents)
			cot_shim_backend_lose("it has ended");
		now_ns = cot_now_ns();
		if (atomic_load(&page->beat) != beat ||
		    (atomic_load(&page->done) >= atomic_load(&cot_shim_attached.last) &&
		     !atomic_load(&cot_shim_attached.n_waiting))) {
			beat = atomic_load(&page->beat);
			beat_ns = now_ns;
		} else if (now_ns - beat_ns > cot_shim_settings.backend_dead_ms * COT_NS_PER_MS) {
			cot_shim_backend_lose("it is silent");
		}
	}
	pthread_mutex_lock(&cot_shim_lock);
}

static const char *attach(void)
{
	struct cot_shim_attached *a = &cot_shim_attached;
	const char *obstacle;
	int fd;

	if (COT_REAL(cuCtxGetCurrent)(&a->context) || !a->context ||
	    COT_REAL(cuCtxGetDevice)(&a->device))
		return "there is no context";
	fd = connect_to(cot_shim_settings.backend);
	if (fd < 0)
		return "nobody listens there";
	obstacle = attach_to(fd, a->device);
	if (obstacle)
		close(fd);
	return obstacle;
}

static bool start_watching(void)
{
	bool started;

	if (cot_wake_open(&to_stop) < 0)
		return false;
	pthread_mutex_lock(&cot_shim_lock);
	started = cot_shim_runtime_start() && cot_shim_runtime_start_one(watch);
	pthread_mutex_unlock(&cot_shim_lock);
	return started;
}

bool cot_shim_backend_is_there(void)
{
	const char *obstacle;

	cot_shim_backend_begin();
	if (COT_LIKELY(atomic_load(&state) != UNTRIED))
		return cot_shim_backend_is_attached();
	pthread_mutex_lock(&cot_shim_backend_lock);
	if (atomic_load(&state) == UNTRIED) {
		obstacle = attach();
		atomic_store(&state, obstacle ? NONE : ATTACHED);
		if (obstacle)
			cot_log(COT_LOG_WARN, "no backend at %s: %s", cot_shim_settings.backend,
				obstacle);
		else if (!start_watching())
			cot_shim_backend_lose("there is no thread to watch it");
		else
			cot_log(COT_LOG_INFO, "attached to the backend at %s",
				cot_shim_settings.backend);
	}
	if (cot_shim_backend_is_attached())
		cot_shim_count_attached(true);
	pthread_mutex_unlock(&cot_shim_backend_lock);
	return cot_shim_backend_is_attached();
}

/* The program ends. */
static void stop(void)
{
	cot_wake_ring(&to_stop);
	cot_shim_count_say_merged();
	cot_shim_backend_cost_say();
}

static void enter(CUstream stream, bool per_thread, bool ends)
{
	(void)ends;
	cot_shim_backend_entered(!stream && per_thread ? CU_STREAM_PER_THREAD : stream);
}

static void nothing(void)
{
}

static void nothing_of(CUstream stream)
{
	(void)stream;
}

/* The page is no longer known to the GPU. */
static void contexts_gone(void)
{
	if (cot_shim_backend_is_attached())
		cot_shim_backend_lose("the context has ended");
}

static void forget(void)
{
	cot_shim_backend_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	cot_shim_backend_launch_forget();
	if (atomic_exchange(&state, NONE) != ATTACHED)
		return;
	/* The parent's; only the copies of its descriptors are ours. */
	close(cot_shim_attached.socket);
	close(cot_shim_attached.wake);
	atomic_store(&cot_shim_backend_fault, 0);
	cot_shim_backend_memory_forget();
	cot_shim_backend_code_forget();
}

/* From now on all that is put into a stream is seen. */
void cot_shim_backend_begin(void)
{
	if (COT_LIKELY(atomic_load(&cot_shim_merging)))
		return;
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_merge_hooks = (struct cot_shim_merge_hooks){
		.enter = enter,
		.linger = nothing_of,
		.release_all = nothing,
		.stop = stop,
		.stream_gone = cot_shim_backend_stream_gone,
		.contexts_gone = contexts_gone,
		.code_gone = cot_shim_backend_code_gone,
		.forget = forget,
	};
	atomic_store(&cot_shim_merging, true);
	pthread_mutex_unlock(&cot_shim_lock);
}
