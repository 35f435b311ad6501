/*
 * Build tool: writes files as C arrays with the table that src/base/embedded.h declares.
 *
 *     cot_embed_gen ROOT LIST OUTPUT TABLE
 *
 * LIST holds one path per line, relative to ROOT; the table cot_TABLE is sorted by that name, and
 * cot_n_TABLE is how many there are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 4096
#define MAX_PATH  4096

static char *names[MAX_FILES];
static size_t n_names;

static int fail(const char *what)
{
	fprintf(stderr, "cot_embed_gen: %s: %s\n", what, strerror(errno));
	return 1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(const char *path)
{
	char line[MAX_PATH];
	FILE *f = fopen(path, "r");

	if (!f)
		return fail(path);
	while (fgets(line, sizeof(line), f) && n_names < MAX_FILES) {
		size_t length = strcspn(line, "\n");
		char *copy;

		if (!length)
			continue;
		line[length] = '\0';
		copy = malloc(length + 1);
		if (!copy)
			break;
		memcpy(copy, line, length + 1);
		names[n_names++] = copy;
	}
	fclose(f);
	if (n_names)
		qsort(names, n_names, sizeof(names[0]), by_name);
	return 0;
}

/* A terminating zero is added, not counted in the size, so that text may be used as a string. */
static int write_bytes(FILE *out, const char *root, size_t i)
{
	char path[MAX_PATH];
	unsigned n = 0;
	FILE *in;
	int c;

	snprintf(path, sizeof(path), "%s/%s", root, names[i]);
	in = fopen(path, "rb");
	if (!in)
		return fail(path);
	fprintf(out, "static const unsigned char bytes_%zu[] = {", i);
	while ((c = getc(in)) != EOF)
		fprintf(out, "%s%d,", n++ % 24 ? "" : "\n", c);
	fprintf(out, "\n0};\n");
	fclose(in);
	return 0;
}

static void write_table(FILE *out, const char *table)
{
	size_t i;

	fprintf(out,
		"extern const struct cot_embedded cot_%s[];\nextern const unsigned cot_n_%s;\n"
		"const struct cot_embedded cot_%s[] = {\n",
		table, table, table);
	for (i = 0; i < n_names; i++)
		fprintf(out, "\t{\"%s\", bytes_%zu, sizeof(bytes_%zu) - 1},\n", names[i], i, i);
	fprintf(out, "\t{0, 0, 0},\n};\n");
	fprintf(out, "const unsigned cot_n_%s = %zu;\n", table, n_names);
}

static int write_all(const char *root, const char *path, const char *table)
{
	FILE *out = fopen(path, "w");
	size_t i;
	int bad = 0;

	if (!out)
		return fail(path);
	fprintf(out, "/* Made by cmake/embed_gen.c. */\n#include \"base/embedded.h\"\n\n");
	for (i = 0; i < n_names && !bad; i++)
		bad = write_bytes(out, root, i);
	write_table(out, table);
	if (fclose(out) && !bad)
		bad = fail(path);
	if (bad)
		remove(path);
	return bad;
}

int main(int argc, char **argv)
{
	int bad;

	if (argc != 5) {
		fprintf(stderr, "usage: cot_embed_gen ROOT LIST OUTPUT TABLE\n");
		return 2;
	}
	bad = read_names(argv[2]) || write_all(argv[1], argv[3], argv[4]);
	while (n_names)
		free(names[--n_names]);
	return bad;
}
