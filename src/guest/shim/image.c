/* What the program gives the driver as code, and the PTX in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/fatbin/fatbin.h"
#include "guest/shim/counts.h"
#include "guest/shim/rewrite.h"
#include "ptx/ptx.h"

#define FILE_MAX (256u << 20)

/* What the compiler leaves in a program for the runtime to find; version 2 when it was linked. */
struct wrapper {
	uint32_t magic, version;
	const void *data;
	void *more;
};

/* A text may be shorter than a word, but then it has a zero in it. n 0: its size is not known. */
static bool has_word(const char *text, size_t n)
{
	return n ? n >= sizeof(uint32_t) : text[0] && text[1] && text[2];
}

static uint32_t first_word(const void *image)
{
	uint32_t word;

	memcpy(&word, image, sizeof(word));
	return word;
}

static int take_fatbin(const void *data, size_t n, unsigned target, char **ret_text,
		       size_t *ret_length, enum cot_shim_why *ret_why)
{
	struct cot_fatbin_entry entry;
	int rc = cot_fatbin_choose(data, n, target, false, &entry, NULL);

	if (rc) {
		*ret_why = rc == -ENOENT ? COT_SHIM_WHY_NO_PTX : COT_SHIM_WHY_UNREADABLE;
		return -ENOENT;
	}
	if (cot_fatbin_newest_code(data, n, target) > entry.arch) {
		*ret_why = COT_SHIM_WHY_NEWER_CODE;
		return -ENOENT;
	}
	if (cot_fatbin_text(&entry, ret_text, ret_length, NULL)) {
		*ret_why = COT_SHIM_WHY_UNREADABLE;
		return -ENOENT;
	}
	return 0;
}

static int take_text(const char *text, size_t n, char **ret_text, size_t *ret_length,
		     enum cot_shim_why *ret_why)
{
	size_t length = strnlen(text, n ? n : COT_PTX_SOURCE_MAX);

	*ret_why = COT_SHIM_WHY_UNREADABLE;
	if (length >= COT_PTX_SOURCE_MAX)
		return -ENOENT;
	*ret_text = malloc(length + 1);
	if (!*ret_text)
		return -ENOENT;
	memcpy(*ret_text, text, length);
	(*ret_text)[length] = '\0';
	*ret_length = length;
	return 0;
}

static int take(const void *image, size_t n, unsigned target, char **ret_text, size_t *ret_length,
		enum cot_shim_why *ret_why)
{
	const char *text = image;

	*ret_why = COT_SHIM_WHY_UNREADABLE;
	if (!has_word(text, n))
		return -ENOENT;
	if (first_word(image) == COT_FATBIN_MAGIC) {
		if (n && n < COT_FATBIN_HEADER_BYTES)
			return -ENOENT;
		return take_fatbin(image, n ? n : cot_fatbin_size(image), target, ret_text,
				   ret_length, ret_why);
	}
	if (!memcmp(image, "\177ELF", 4)) {
		*ret_why = COT_SHIM_WHY_NO_PTX;
		return -ENOENT;
	}
	return take_text(text, n, ret_text, ret_length, ret_why);
}

int cot_shim_image_text(const void *image, size_t n, unsigned target, char **ret_text,
			size_t *ret_length, enum cot_shim_why *ret_why)
{
	struct wrapper w;

	if (!n && has_word(image, 0) && first_word(image) == COT_FATBIN_WRAPPER_MAGIC) {
		memcpy(&w, image, sizeof(w));
		*ret_why = COT_SHIM_WHY_UNREADABLE;
		if (!w.data)
			return -ENOENT;
		image = w.data;
	}
	return take(image, n, target, ret_text, ret_length, ret_why);
}

int cot_shim_image_read(const char *path, void **ret_bytes, size_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = -EIO;
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	char *bytes = NULL;
	size_t at = 0;
	ssize_t got;

	if (size > 0 && size <= (off_t)FILE_MAX && lseek(fd, 0, SEEK_SET) == 0)
		bytes = malloc((size_t)size + 1);
	while (bytes && at < (size_t)size && (got = read(fd, bytes + at, (size_t)size - at)) > 0)
		at += (size_t)got;
	if (bytes && at == (size_t)size) {
		bytes[at] = '\0';
		*ret_bytes = bytes;
		*ret_n = at;
		bytes = NULL;
		rc = 0;
	}
	free(bytes);
	if (fd >= 0)
		close(fd);
	return rc;
}
