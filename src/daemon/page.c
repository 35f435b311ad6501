#include "daemon/page.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/conn.h"
#include "proto/ring.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Linux knows the seal since 5.1. */
static bool kernel_seals(void)
{
	static enum { UNKNOWN, NO, YES } knows;
	int fd;

	if (knows == UNKNOWN) {
		fd = memfd_create("cotenant", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0)
			return true; /* it is asked again */
		knows = fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 ? NO : YES;
		(void)close(fd);
	}
	return knows == YES;
}

int cot_page_make(struct conn *c, bool measures)
{
	int fd = memfd_create("cotenant", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd < 0)
		return -errno;
	c->page_size = measures ? COT_RING_MAPPING : sizeof(*c->page);
	if (ftruncate(fd, (off_t)c->page_size) < 0)
		goto err_close;
	/* Fails where seals do not exist; the library checks the size anyway. */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK);
	/* Populated: what the daemon has mapped, too, nobody else can have put aside. */
	c->page =
		mmap(NULL, c->page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (c->page == MAP_FAILED) {
		c->page = NULL;
		goto err_close;
	}
	c->page->version = COT_PAGE_VERSION;
	if (measures)
		c->ring = (struct cot_ring *)((char *)c->page + COT_RING_OFFSET);
	return fd;

err_close:
	rc = -errno;
	(void)close(fd);
	return rc;
}

void cot_page_handed_over(struct conn *c, int fd)
{
	c->page_is_open = c->uid != geteuid() && kernel_seals();
	if (c->page_is_open)
		c->page_fd = fd;
	else
		(void)close(fd);
}

static void close_fd(struct conn *c)
{
	if (c->page_is_open)
		(void)close(c->page_fd);
	c->page_is_open = false;
}

static bool may_touch(struct conn *c)
{
	if (c->page_is_open && fcntl(c->page_fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE)
		close_fd(c);
	return !c->page_is_open;
}

struct cot_page *cot_page_of(struct conn *c)
{
	return may_touch(c) ? c->page : NULL;
}

struct cot_ring *cot_page_ring(struct conn *c)
{
	return may_touch(c) ? c->ring : NULL;
}

void cot_page_drop(struct conn *c)
{
	close_fd(c);
	if (c->page)
		(void)munmap(c->page, c->page_size);
	c->page = NULL;
	c->ring = NULL;
}
