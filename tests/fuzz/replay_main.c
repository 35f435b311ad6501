/*
 * Replays files through a fuzz target, for compilers without libFuzzer. Arguments are files or
 * folders of files. No input at all is a failure: the corpus would have been lost.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_INPUT_BYTES (1u << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	uint8_t *data;
	size_t size;
	FILE *f = fopen(path, "rb");

	if (!f) {
		perror(path);
		return -1;
	}
	data = malloc(MAX_INPUT_BYTES);
	if (!data) {
		fclose(f);
		return -1;
	}
	size = fread(data, 1, MAX_INPUT_BYTES, f);
	fclose(f);
	/* A block of exactly `size` bytes lets the sanitizers see reads past the end. */
	data = realloc(data, size ? size : 1);
	if (!data)
		return -1;
	(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

/* How many inputs were replayed; negative when one could not be read. */
static int replay(const char *path)
{
	struct dirent *entry;
	struct stat st;
	int n = 0;
	DIR *dir;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return replay_file(path);
	dir = opendir(path);
	if (!dir) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(dir))) {
		char child[4096];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		if (replay_file(child) < 0) {
			n = -1;
			break;
		}
		n++;
	}
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int i, n_inputs = 0;

	for (i = 1; i < argc; i++) {
		int n = replay(argv[i]);

		if (n < 0)
			return 1;
		n_inputs += n;
	}
	printf("replayed %d inputs\n", n_inputs);
	return n_inputs ? 0 : 1;
}
