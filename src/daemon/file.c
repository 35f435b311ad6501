#include "daemon/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/paths.h"

static int write_text(int fd, const char *text)
{
	size_t left = strlen(text);
	ssize_t n;

	while (left) {
		n = write(fd, text, left);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			left -= (size_t)n;
		}
	}
	return 0;
}

int cot_file_write(const char *path, const char *text)
{
	char fresh[COT_PATH_TEXT_MAX];
	int fd, rc;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	(void)unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_text(fd, text);
	if (close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc && rename(fresh, path) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlink(fresh);
	return rc;
}
