/* One side: its driver, its words, and how it meets the other. */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

double probe_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

void probe_pause_us(unsigned us)
{
	const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

	nanosleep(&t, NULL);
}

bool probe_fail(struct side *s, const char *format, ...)
{
	va_list arguments;

	if (s->shared->failed[s->who])
		return false;
	va_start(arguments, format);
	vsnprintf(s->shared->failure[s->who], sizeof(s->shared->failure[0]), format, arguments);
	va_end(arguments);
	s->shared->failed[s->who] = true;
	return false;
}

void probe_say(struct side *s, const char *format, ...)
{
	char *text = s->shared->text[s->who];
	size_t n = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	if (n && text[n - 1] != '[' && text[n - 1] != '{' && n + 2 < TEXT_MAX)
		memcpy(text + n, ", ", 3), n += 2;
	vsnprintf(text + n, TEXT_MAX - n, format, arguments);
	va_end(arguments);
}

const char *probe_name(const struct side *s, result r)
{
	const char *name = NULL;

	if (r == NOT_IN_DRIVER)
		return "not in this driver";
	if (!s->cuda.cuGetErrorName || s->cuda.cuGetErrorName(r, &name) || !name)
		return "an error without a name";
	return name;
}

bool probe_called(struct side *s, const char *what, result r)
{
	return !r || probe_fail(s, "%s: %s", what, probe_name(s, r));
}

bool probe_until(struct side *s, _Atomic uint32_t *value, uint32_t least)
{
	double end_us = probe_now_us() + WAIT_S * 1e6;
	uint32_t n = 0;

	while (*value < least) {
		if (++n % 1024)
			continue;
		/* It may have come here since we looked, and have failed at what is next. */
		if (s->shared->failed[!s->who])
			return *value >= least || probe_fail(s, "the other failed");
		if (probe_now_us() > end_us)
			return probe_fail(s, "waited for the other for %.0f s", WAIT_S);
	}
	return true;
}

bool probe_meet(struct side *s)
{
	uint32_t n = ++s->shared->met[s->who];

	return probe_until(s, &s->shared->met[!s->who], n);
}

bool probe_send(struct side *s, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(fd))] = {0};
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(s->socket, &message, MSG_NOSIGNAL) == 1 || probe_fail(s, "sendmsg failed");
}

int probe_receive(struct side *s)
{
	int fd = -1;
	char byte, control[CMSG_SPACE(sizeof(fd))] = {0};
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head;

	if (recvmsg(s->socket, &message, 0) == 1 && (head = CMSG_FIRSTHDR(&message)) &&
	    head->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	if (fd < 0)
		probe_fail(s, "no descriptor came");
	return fd;
}

bool probe_open(struct side *s)
{
	context c = NULL;
	module m = NULL;

	if (!probe_cuda_open(&s->cuda))
		return probe_fail(s, "there is no libcuda.so.1");
	return CALL(s, cuInit, (0)) && CALL(s, cuDriverGetVersion, (&s->driver)) &&
	       CALL(s, cuDeviceGetName, (s->device, sizeof(s->device), 0)) &&
	       CALL(s, cuDevicePrimaryCtxRetain, (&c, 0)) && CALL(s, cuCtxSetCurrent, (c)) &&
	       CALL(s, cuModuleLoadData, (&m, probe_ptx)) &&
	       CALL(s, cuModuleGetFunction, (&s->fill, m, "fill")) &&
	       CALL(s, cuModuleGetFunction, (&s->mark, m, "mark")) &&
	       CALL(s, cuModuleGetFunction, (&s->look, m, "look")) &&
	       CALL(s, cuModuleGetFunction, (&s->wrong, m, "wrong")) &&
	       CALL(s, cuStreamCreate, (&s->stream, STREAM_NON_BLOCKING));
}

bool probe_fill(struct side *s, pointer at, uint32_t n, uint32_t by, uint32_t plus)
{
	void *arguments[] = {&at, &n, &by, &plus};

	return CALL(s, cuLaunchKernel,
		    (s->fill, (n + 255) / 256, 1, 1, 256, 1, 1, 0, s->stream, arguments, NULL));
}

bool probe_mark(struct side *s, pointer at, uint32_t value, uint64_t ns)
{
	void *arguments[] = {&at, &value, &ns};

	return CALL(s, cuLaunchKernel, (s->mark, 1, 1, 1, 1, 1, 1, 0, s->stream, arguments, NULL));
}
