/*
 * The libraries that a program asks for, and those that they ask for, as the dynamic linker would
 * find them: by LD_LIBRARY_PATH, the paths in the files, those of ld.so.conf.d, the usual ones.
 * What a program opens by itself while it runs nobody can see in its file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/inspect.h"
#include "elf/elf.h"

#define LINES_MAX 64u
#define FOLDERS \
	"/lib64:/usr/lib64:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib:/usr/lib:/usr/local/lib"

int cot_inspect_map(const char *path, const void **ret_bytes, size_t *ret_n, struct cot_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = {.st_size = 0};
	void *bytes = MAP_FAILED;
	int code;

	if (fd < 0 || fstat(fd, &st) < 0) {
		code = errno;
	} else if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
		code = EINVAL;
	} else {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		code = errno;
	}
	if (fd >= 0)
		(void)close(fd);
	if (bytes == MAP_FAILED)
		return cot_error_set(err, -code, "cannot read '%.200s': %s", path,
				     code == EINVAL ? "expected a file that is not empty"
						    : strerror(code));
	*ret_bytes = bytes;
	*ret_n = (size_t)st.st_size;
	return 0;
}

void cot_inspect_unmap(const void *bytes, size_t n)
{
	(void)munmap((void *)(uintptr_t)bytes, n);
}

/* ---- where a library is ---- */

/* The file in one folder, where $ORIGIN is that of the file that asks for it. */
static bool in_folder(const char *folder, size_t length, const char *asker, const char *name,
		      char ret_path[PATH_MAX])
{
	const char *slash = strrchr(asker, '/');
	size_t origin = 0, skip = 0;

	if (length >= 7 && !strncmp(folder, "$ORIGIN", 7))
		skip = 7;
	else if (length >= 9 && !strncmp(folder, "${ORIGIN}", 9))
		skip = 9;
	if (skip)
		origin = slash ? (size_t)(slash - asker) : 0;
	if (!length || snprintf(ret_path, PATH_MAX, "%.*s%s%.*s/%s", (int)origin, asker,
				skip && !slash ? "." : "", (int)(length - skip), folder + skip,
				name) >= PATH_MAX)
		return false;
	return !access(ret_path, R_OK);
}

/* In a list of folders with colons between them. */
static bool in_list(const char *list, const char *asker, const char *name, char ret_path[PATH_MAX])
{
	size_t length;

	for (; list && *list; list += length + (list[length] == ':')) {
		length = strcspn(list, ":");
		if (in_folder(list, length, asker, name, ret_path))
			return true;
	}
	return false;
}

/* One folder a line. */
static bool in_conf(const char *path, const char *name, char ret_path[PATH_MAX])
{
	FILE *file = fopen(path, "re");
	char line[PATH_MAX];
	bool found = false;
	unsigned n = 0;

	while (file && !found && n++ < LINES_MAX && fgets(line, sizeof(line), file))
		found = line[0] == '/' &&
			in_folder(line, strcspn(line, " \t\n"), "", name, ret_path);
	if (file)
		(void)fclose(file);
	return found;
}

static bool in_confs(const char *name, char ret_path[PATH_MAX])
{
	bool found = false;
	glob_t files;
	size_t i;

	if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files))
		return false;
	for (i = 0; i < files.gl_pathc && i < LINES_MAX && !found; i++)
		found = in_conf(files.gl_pathv[i], name, ret_path);
	globfree(&files);
	return found;
}

static bool find(const char *name, const char *paths, const char *asker, char ret_path[PATH_MAX])
{
	if (strchr(name, '/'))
		return snprintf(ret_path, PATH_MAX, "%s", name) < PATH_MAX &&
		       !access(ret_path, R_OK);
	return in_list(getenv("LD_LIBRARY_PATH"), asker, name, ret_path) ||
	       in_list(paths, asker, name, ret_path) || in_confs(name, ret_path) ||
	       in_list(FOLDERS, asker, name, ret_path);
}

/* ---- the list ---- */

static int add(struct cot_inspect_libraries *l, const char *name, const char *paths,
	       const char *asker)
{
	const char *shown = cot_inspect_name(l->arena, name);
	struct cot_inspect_library *item;
	char path[PATH_MAX];
	unsigned i;

	if (!shown)
		return -ENOMEM;
	for (i = 0; i < l->n_items; i++)
		if (!strcmp(l->items[i].name, shown))
			return 0;
	if (l->n_items == COT_INSPECT_LIBRARIES) {
		l->n_left_out++;
		return 0;
	}
	item = &l->items[l->n_items];
	item->name = shown;
	if (find(name, paths, asker, path)) {
		item->path = cot_arena_strndup(l->arena, path, strlen(path));
		if (!item->path)
			return -ENOMEM;
	}
	l->n_items++;
	return 0;
}

/* The folders that the file itself names; DT_RUNPATH counts where both are there. NULL: none. */
static const char *paths_of(const struct cot_elf *elf, const struct cot_elf_section *dynamic)
{
	struct cot_elf_wish wish = {.tag = DT_NULL};
	const char *paths = NULL;
	size_t i;

	for (i = 0; !cot_elf_wish(elf, dynamic, i, &wish, NULL); i++)
		if (wish.tag == DT_RUNPATH || (wish.tag == DT_RPATH && !paths))
			paths = wish.name;
	return paths;
}

static int add_needed(struct cot_inspect_libraries *l, const struct cot_elf *elf, const char *path,
		      struct cot_error *err)
{
	struct cot_elf_section dynamic = {.bytes = NULL};
	struct cot_elf_wish wish = {.tag = DT_NULL};
	const char *paths;
	size_t i;
	int rc = cot_elf_find(elf, NULL, SHT_DYNAMIC, &dynamic, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	paths = paths_of(elf, &dynamic);
	for (i = 0; !rc; i++) {
		rc = cot_elf_wish(elf, &dynamic, i, &wish, err);
		if (!rc && wish.tag == DT_NEEDED)
			rc = add(l, wish.name, paths, path);
	}
	if (rc == -ENOMEM)
		return cot_error_set(err, rc, "out of memory");
	return rc == -ENOENT ? 0 : rc;
}

/* Which codes a library has, and what it asks for. */
static int look_into(struct cot_inspect_libraries *l, struct cot_inspect_library *item,
		     struct cot_error *err)
{
	struct cot_inspection one = {.arena = l->arena};
	const void *bytes;
	struct cot_elf elf;
	unsigned i;
	size_t n;
	int rc = cot_inspect_map(item->path, &bytes, &n, err);

	if (rc)
		return rc;
	rc = cot_inspect_bytes(&one, bytes, n, false, err);
	if (!rc)
		rc = cot_elf_open(&elf, bytes, n, err);
	if (!rc)
		rc = add_needed(l, &elf, item->path, err);
	cot_inspect_unmap(bytes, n);
	for (i = 0; i < one.n_codes; i++)
		item->codes |= cot_inspect_code_bit(&l->code, one.codes[i]);
	return rc;
}

/* A library is loaded as what loads it is; what has DF_1_PIE is a program. */
static bool is_library(const struct cot_elf *elf)
{
	struct cot_elf_section dynamic = {.bytes = NULL};
	struct cot_elf_wish wish = {.tag = DT_NULL};
	size_t i;

	if (elf->type != ET_DYN || cot_elf_find(elf, NULL, SHT_DYNAMIC, &dynamic, NULL))
		return false;
	for (i = 0; !cot_elf_wish(elf, &dynamic, i, &wish, NULL); i++)
		if (wish.tag == DT_FLAGS_1 && wish.value & DF_1_PIE)
			return false;
	return true;
}

int cot_inspect_libraries(struct cot_inspect_libraries *l, const char *path, struct cot_error *err)
{
	const void *bytes;
	struct cot_elf elf;
	unsigned i;
	size_t n;
	int rc = cot_inspect_map(path, &bytes, &n, err);

	if (rc)
		return rc;
	if (cot_elf_is(bytes, n)) {
		rc = cot_elf_open(&elf, bytes, n, err);
		l->of_library = !rc && is_library(&elf);
		if (!rc)
			rc = add_needed(l, &elf, path, err);
	}
	cot_inspect_unmap(bytes, n);
	/* What cannot be read is like what is not found; the list grows on the way. */
	for (i = 0; i < l->n_items && !rc; i++)
		if (l->items[i].path && look_into(l, &l->items[i], err) == -ENOMEM)
			rc = -ENOMEM;
	return rc;
}
