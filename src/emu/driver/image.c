#include "emu/driver/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/fatbin/fatbin.h"
#include "emu/driver/inside.h"

/* What the compiler leaves in a program for the runtime to find. */
struct wrapper {
	uint32_t magic, version;
	const void *data;
	void *more;
};

void cot_emu_code_free(struct cot_emu_code *code)
{
	free(code->text);
	*code = (struct cot_emu_code){.text = NULL};
}

static uint32_t first_word(const void *image)
{
	uint32_t word = 0;

	memcpy(&word, image, sizeof(word));
	return word;
}

static CUresult result_of(int rc)
{
	switch (-rc) {
	case 0:
		return CUDA_SUCCESS;
	case ENOENT:
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_INVALID_IMAGE;
	}
}

static CUresult take_fatbin(const void *data, size_t n, struct cot_emu_code *ret_code,
			    struct cot_error *err)
{
	struct cot_fatbin_entry entry;
	bool any = cot_emu_config_quirk("any-ptx");
	int rc = cot_fatbin_choose(data, n, cot_emu_device_target(), any, &entry, err);

	if (rc == -ENOENT && !any) {
		struct cot_error inner = *err;

		(void)cot_error_set(err, rc, "%s; COTENANT_EMU_QUIRKS=any-ptx takes newer PTX",
				    inner.text);
	}
	if (!rc)
		rc = cot_fatbin_text(&entry, &ret_code->text, &ret_code->length, err);
	return result_of(rc);
}

static CUresult refuse_elf(struct cot_error *err)
{
	(void)cot_error_set(err, 0,
			    "the image is machine code for a real GPU; expected PTX, as nvcc "
			    "makes it with -arch=compute_%u or -gencode "
			    "arch=compute_%u,code=compute_%u",
			    cot_emu_device_target(), cot_emu_device_target(),
			    cot_emu_device_target());
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult take_text(const char *text, size_t n, struct cot_emu_code *ret_code)
{
	ret_code->text = malloc(n + 1);
	if (!ret_code->text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(ret_code->text, text, n);
	ret_code->text[n] = '\0';
	ret_code->length = n;
	return CUDA_SUCCESS;
}

/* `n` 0: the image says itself how long it is. */
static CUresult take(const void *image, size_t n, struct cot_emu_code *ret_code,
		     struct cot_error *err)
{
	const char *text = image;

	if (n && n < sizeof(uint32_t))
		return CUDA_ERROR_INVALID_IMAGE;
	/* A text may be shorter than a word, but then it has a zero in it. */
	if (!n && (!text[0] || !text[1] || !text[2]))
		return CUDA_ERROR_INVALID_IMAGE;
	if (first_word(image) == COT_FATBIN_MAGIC)
		return take_fatbin(image, n ? n : cot_fatbin_size(image), ret_code, err);
	if (!memcmp(image, "\177ELF", 4))
		return refuse_elf(err);
	return take_text(text, n ? n : strlen(text), ret_code);
}

CUresult cot_emu_code_take(const void *image, struct cot_emu_code *ret_code, struct cot_error *err)
{
	struct wrapper w;

	if (first_word(image) == COT_FATBIN_WRAPPER_MAGIC) {
		memcpy(&w, image, sizeof(w));
		if (!w.data)
			return CUDA_ERROR_INVALID_IMAGE;
		image = w.data;
	}
	return take(image, 0, ret_code, err);
}

static CUresult read_all(int fd, size_t n, struct cot_emu_code *ret_code, struct cot_error *err)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	char *bytes = malloc(n + 1);
	size_t at = 0;
	ssize_t got;

	if (!bytes)
		return result;
	while (at < n && (got = read(fd, bytes + at, n - at)) > 0)
		at += (size_t)got;
	bytes[at] = '\0';
	result = at == n ? take(bytes, n, ret_code, err) : CUDA_ERROR_INVALID_IMAGE;
	free(bytes);
	return result;
}

CUresult cot_emu_code_read(const char *path, struct cot_emu_code *ret_code, struct cot_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CUresult result;
	struct stat st;

	if (fd < 0) {
		(void)cot_error_set(err, 0, "cannot open '%s': %s", path, strerror(errno));
		return CUDA_ERROR_FILE_NOT_FOUND;
	}
	if (fstat(fd, &st) || st.st_size <= 0 || (uint64_t)st.st_size > COT_FATBIN_MAX_TEXT)
		result = CUDA_ERROR_INVALID_IMAGE;
	else
		result = read_all(fd, (size_t)st.st_size, ret_code, err);
	close(fd);
	return result;
}
