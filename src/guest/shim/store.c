/*
 * The directory cotenant/templates of the user's cache. Everything in it is found from its
 * descriptor, and no link is followed, so that nobody else can have files of theirs read as code.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/shim/template.h"

#define TRIES	 64u /* files that one process removes at a time */
#define NAME_NEW ".new"

/* Directly: fstat() has a new version since glibc 2.33. */
static bool look(int fd, struct stat *st)
{
	return syscall(SYS_fstat, fd, st) == 0;
}

static bool look_at(int dir, const char *name, struct stat *st)
{
	return syscall(SYS_newfstatat, dir, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nobody else can change what is in it. */
static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* ---- the directory ---- */

/* Below `at`, which is closed. */
static int enter(int at, const char *name)
{
	int fd, rc;
	struct stat st;

	(void)mkdirat(at, name, 0700);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? -errno : 0;
	close(at);
	if (rc)
		return rc;
	if (look(fd, &st) && is_own(&st))
		return fd;
	close(fd);
	return -EPERM;
}

int cot_shim_store_open(const char *cache)
{
	int fd;

	/* Where it is is the user's business: this one may be a link. */
	(void)mkdir(cache, 0700);
	fd = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fd = enter(fd, "cotenant");
	return fd < 0 ? fd : enter(fd, "templates");
}

/* ---- reading ---- */

static int read_all(int fd, unsigned char *bytes, size_t n)
{
	size_t at = 0;
	ssize_t got;

	while (at < n) {
		got = read(fd, bytes + at, n - at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EINVAL;
		at += (size_t)got;
	}
	return 0;
}

int cot_shim_store_load(int dir, const char *key, unsigned char **ret_bytes, size_t *ret_n)
{
	/* A pipe of that name must not make the program wait. */
	int fd = openat(dir, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;
	unsigned char *bytes = NULL;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EINVAL;
	if (!look(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (off_t)COT_SHIM_STORE_FILE_BYTES)
		rc = -EINVAL;
	else if (!is_own(&st))
		rc = -EPERM;
	else
		rc = (bytes = malloc((size_t)st.st_size)) ? 0 : -ENOMEM;
	if (!rc)
		rc = read_all(fd, bytes, (size_t)st.st_size);
	if (!rc) {
		(void)futimens(fd, NULL); /* used last now */
		*ret_bytes = bytes;
		*ret_n = (size_t)st.st_size;
		bytes = NULL;
	}
	free(bytes);
	close(fd);
	return rc;
}

/* ---- writing ---- */

struct survey {
	unsigned n_files;
	uint64_t bytes;
	char oldest[NAME_MAX + 1];
	struct timespec since;
};

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static void add_file(struct survey *s, const char *name, const struct stat *st)
{
	s->n_files++;
	s->bytes += (uint64_t)st->st_size;
	if (s->oldest[0] && !is_before(st->st_mtim, s->since))
		return;
	(void)snprintf(s->oldest, sizeof(s->oldest), "%s", name);
	s->since = st->st_mtim;
}

static bool survey(int dir, struct survey *ret)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	*ret = (struct survey){.n_files = 0};
	if (!list) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((e = readdir(list)))
		if (look_at(dir, e->d_name, &st) && S_ISREG(st.st_mode))
			add_file(ret, e->d_name, &st);
	closedir(list);
	return true;
}

/* Room for `n` more bytes. */
static int make_room(int dir, size_t n)
{
	struct survey s;
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		if (!survey(dir, &s))
			return -EIO;
		if (s.n_files < COT_SHIM_STORE_FILES && s.bytes + n <= COT_SHIM_STORE_BYTES)
			return 0;
		if (unlinkat(dir, s.oldest, 0) && errno != ENOENT)
			return -errno;
	}
	return -ENOSPC;
}

static int write_all(int fd, const unsigned char *bytes, size_t n)
{
	size_t at = 0;
	ssize_t got;

	while (at < n) {
		got = write(fd, bytes + at, n - at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		at += (size_t)got;
	}
	return 0;
}

int cot_shim_store_save(int dir, const char *key, const void *bytes, size_t n)
{
	static _Atomic unsigned n_saved;
	char name[64];
	int fd, rc = n > COT_SHIM_STORE_FILE_BYTES ? -E2BIG : make_room(dir, n);

	if (rc)
		return rc;
	(void)snprintf(name, sizeof(name), NAME_NEW "-%ld-%u", (long)getpid(), n_saved++);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, bytes, n);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && renameat(dir, name, dir, key))
		rc = -errno;
	if (rc)
		(void)unlinkat(dir, name, 0);
	return rc;
}
