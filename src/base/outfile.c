#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cot_outfile {
	char *name; /* as the user gave it, for complaints */
	char *path; /* links resolved; NULL when written directly */
	char *tmp_path;
	FILE *stream; /* NULL once finished */
	bool standard_output;
	bool keep; /* nothing to remove */
};

static int fail(struct cot_error *err, int code, const char *name)
{
	return cot_error_set(err, code, "cannot write %s: %s",
			     strcmp(name, "-") ? name : "to standard output", strerror(-code));
}

/* The file that a rename must replace: what a symbolic link points to, not the link. */
static int resolve(struct cot_outfile *out, mode_t *ret_mode, bool *ret_direct)
{
	struct stat st;

	*ret_direct = false;
	*ret_mode = 0;
	if (stat(out->name, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		out->path = strdup(out->name);
		return out->path ? 0 : -ENOMEM;
	}
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode)) {
		*ret_direct = true;
		return 0;
	}
	if (access(out->name, W_OK) < 0)
		return -errno;
	*ret_mode = st.st_mode & 07777;
	out->path = realpath(out->name, NULL);
	return out->path ? 0 : -errno;
}

/* Not mkstemp(): open() applies the user's umask, as for any file that a program writes. */
static int open_temporary(struct cot_outfile *out, mode_t mode)
{
	static unsigned counter;
	size_t size = strlen(out->path) + 32;
	int fd, attempt;

	out->tmp_path = malloc(size);
	if (!out->tmp_path)
		return -ENOMEM;
	for (attempt = 0; attempt < 100; attempt++) {
		(void)snprintf(out->tmp_path, size, "%s.tmp.%lx-%u", out->path,
			       (unsigned long)getpid(), counter++);
		fd = open(out->tmp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			/* A file that is replaced keeps its permissions, as far as we may. */
			if (mode)
				(void)!fchmod(fd, mode);
			return fd;
		}
		if (errno != EEXIST)
			break;
	}
	fd = -errno;
	free(out->tmp_path);
	out->tmp_path = NULL;
	return fd;
}

static int open_stream(struct cot_outfile *out)
{
	mode_t mode;
	bool direct;
	int rc, fd;

	if (!strcmp(out->name, "-")) {
		out->standard_output = true;
		out->keep = true;
		out->stream = stdout;
		return 0;
	}
	rc = resolve(out, &mode, &direct);
	if (rc < 0)
		return rc;
	if (direct) {
		out->keep = true;
		fd = open(out->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return -errno;
	} else {
		fd = open_temporary(out, mode);
		if (fd < 0)
			return fd;
	}
	out->stream = fdopen(fd, "w");
	if (!out->stream) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return 0;
}

int cot_outfile_open(const char *path, struct cot_outfile **ret_out, struct cot_error *err)
{
	struct cot_outfile *out = calloc(1, sizeof(*out));
	int rc;

	if (!out)
		return fail(err, -ENOMEM, path);
	out->name = strdup(path);
	rc = out->name ? open_stream(out) : -ENOMEM;
	if (rc < 0) {
		cot_outfile_destroy(out);
		return fail(err, rc, path);
	}
	*ret_out = out;
	return 0;
}

FILE *cot_outfile_stream(struct cot_outfile *out)
{
	return out->stream;
}

int cot_outfile_finish(struct cot_outfile *out, struct cot_error *err)
{
	int rc = 0;

	if (!out->stream)
		return 0;
	errno = 0;
	if (fflush(out->stream) || ferror(out->stream))
		rc = errno ? -errno : -EIO;
	if (!out->standard_output && fclose(out->stream) && !rc)
		rc = -errno;
	out->stream = NULL;
	return rc < 0 ? fail(err, rc, out->name) : 0;
}

int cot_outfile_commit(struct cot_outfile *out, struct cot_error *err)
{
	int rc = cot_outfile_finish(out, err);

	if (rc < 0 || out->keep)
		return rc;
	if (rename(out->tmp_path, out->path) < 0)
		return fail(err, -errno, out->name);
	out->keep = true;
	return 0;
}

void cot_outfile_destroy(struct cot_outfile *out)
{
	if (!out)
		return;
	if (out->stream && !out->standard_output)
		(void)fclose(out->stream);
	if (out->tmp_path && !out->keep)
		(void)unlink(out->tmp_path);
	free(out->tmp_path);
	free(out->path);
	free(out->name);
	free(out);
}

int cot_outfile_scratch(const char *dir, FILE **ret_stream, struct cot_error *err)
{
	char path[4096];
	FILE *stream;
	int fd, rc;

	if (!dir || !*dir)
		dir = "/tmp";
	if ((size_t)snprintf(path, sizeof(path), "%s/cotenant.XXXXXX", dir) >= sizeof(path))
		return cot_error_set(err, -ENAMETOOLONG, "TMPDIR is too long");
	fd = mkstemp(path);
	if (fd < 0) {
		rc = -errno;
		return cot_error_set(err, rc, "cannot make a temporary file in %s: %s", dir,
				     strerror(-rc));
	}
	(void)unlink(path);
	stream = fdopen(fd, "w+");
	if (!stream) {
		rc = -errno;
		close(fd);
		return cot_error_set(err, rc, "cannot use a temporary file in %s: %s", dir,
				     strerror(-rc));
	}
	*ret_stream = stream;
	return 0;
}
