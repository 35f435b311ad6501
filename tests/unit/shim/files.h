/*
 * Files as a unit reads them, to be included before it: what it opens is closed when the program
 * executes another, and comes in pieces.
 */
#ifndef COT_TESTS_FILES_H
#define COT_TESTS_FILES_H

#include <fcntl.h>
#include <unistd.h>

#include "test.h"

#define PIECE 700u

static inline int played_open(const char *path, int flags)
{
	assert_int_equal(flags, O_RDONLY | O_CLOEXEC);
	return open(path, flags);
}

static off_t read_until; /* how far the last one was to go */

static inline ssize_t played_read(int fd, void *to, size_t n)
{
	read_until = lseek(fd, 0, SEEK_CUR) + (off_t)n;
	return read(fd, to, n < PIECE ? n : PIECE);
}

/* What the next file would get: if none is left open, it is always the same. */
static inline int lowest_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

#define open played_open
#define read played_read

#endif
