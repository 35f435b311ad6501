#include "cli/loadable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cot_loadable_is_static(const void *bytes, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	size_t i;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || !header.e_phnum ||
	    header.e_phoff < sizeof(header) || header.e_phentsize != sizeof(segment))
		return false;
	for (i = 0; i < header.e_phnum; i++) {
		size_t at = i * sizeof(segment);

		if (header.e_phoff > size || at + sizeof(segment) > size - header.e_phoff)
			return false;
		memcpy(&segment, (const char *)bytes + header.e_phoff + at, sizeof(segment));
		if (segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

/* The kernel ignores the bit where it changes nothing. */
static const char *other_identity(const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != getuid())
		return "set-uid";
	if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getgid())
		return "set-gid";
	return NULL;
}

const char *cot_loadable_obstacle(const char *path)
{
	char bytes[COT_LOADABLE_BYTES];
	struct stat st;
	ssize_t n = 0;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC); /* a program may be executed and not read */
	if (fd >= 0) {
		n = read(fd, bytes, sizeof(bytes));
		(void)close(fd);
	}
	if (n > 0 && cot_loadable_is_static(bytes, (size_t)n))
		return "linked statically";
	return other_identity(&st);
}
