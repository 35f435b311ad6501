#include "cli/origin.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/embedded.h"
#include "text/number.h"

/* Whether the word needs no quotes in a shell. */
static bool is_plain(const char *word)
{
	return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789%+,-./:=@_") == strlen(word);
}

static void print_word(FILE *out, const char *word)
{
	if (is_plain(word)) {
		(void)fputs(word, out);
		return;
	}
	(void)fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			(void)fputs("'\\''", out);
		else
			(void)fputc(*word, out);
	(void)fputc('\'', out);
}

/* A value of an option lies in the word: "FILE", or "--json=FILE". */
static bool holds(const char *word, const char *value)
{
	return value && (uintptr_t)value >= (uintptr_t)word &&
	       (uintptr_t)value <= (uintptr_t)word + strlen(word);
}

static bool is_output(const char *word, const char *const *outputs, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (holds(word, outputs[i]))
			return true;
	return false;
}

/* How many words from argv[i] on are of an output, or of --threads. */
static int skip(int argc, char **argv, int i, const char *const *outputs, unsigned n)
{
	if (is_output(argv[i], outputs, n) || !strncmp(argv[i], "--threads=", 10))
		return 1;
	if (!strcmp(argv[i], "--json") || !strcmp(argv[i], "--csv"))
		return i + 1 < argc && is_output(argv[i + 1], outputs, n) ? 2 : 1;
	if (argv[i][0] != '-' || !argv[i][1] || i + 1 >= argc)
		return 0;
	return !strcmp(argv[i], "--threads") || is_output(argv[i + 1], outputs, n) ? 2 : 0;
}

static int write_command(int argc, char **argv, const char *const *outputs, unsigned n,
			 char **ret_command)
{
	size_t size;
	FILE *out = open_memstream(ret_command, &size);
	int i = 1, skipped;

	if (!out)
		return -ENOMEM;
	(void)fputs(argv[0], out);
	while (i < argc) {
		skipped = skip(argc, argv, i, outputs, n);
		if (!skipped) {
			(void)fputc(' ', out);
			print_word(out, argv[i]);
			skipped = 1;
		}
		i += skipped;
	}
	if (!fclose(out))
		return 0;
	free(*ret_command);
	*ret_command = NULL;
	return -ENOMEM;
}

/* SOURCE_DATE_EPOCH makes pages the same from day to day (reproducible-builds.org). */
static void write_date(char date[11])
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;
	struct tm day;
	time_t now;

	now = fixed && cot_number_u64(fixed, &seconds) ? (time_t)seconds : time(NULL);
	if (!gmtime_r(&now, &day) || !strftime(date, 11, "%Y-%m-%d", &day))
		date[0] = '\0';
}

int cot_cli_origin(int argc, char **argv, const char *file, const char *const *outputs, unsigned n,
		   struct cot_origin *ret_origin)
{
	struct cot_origin o = {.file = file, .version = argp_program_version};
	int rc = write_command(argc, argv, outputs, n, &o.command);

	if (rc)
		return rc;
	write_date(o.date);
	*ret_origin = o;
	return 0;
}

int cot_cli_origin_built_in(struct cot_origin *origin)
{
	char *list, sha256[COT_SHA256_TEXT];
	size_t size;
	FILE *out = open_memstream(&list, &size);
	unsigned i;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < cot_n_embedded_files; i++) {
		const struct cot_embedded *f = &cot_embedded_files[i];

		(void)fprintf(out, "%s  %s\n", cot_sha256(f->bytes, f->size, sha256), f->name);
	}
	if (fclose(out)) {
		free(list);
		return -ENOMEM;
	}
	origin->kind = COT_ORIGIN_BUILT_IN;
	(void)cot_sha256(list, size, origin->sha256);
	free(list);
	return 0;
}
