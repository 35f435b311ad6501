#include "daemon/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "text/number.h"

#define PROC_GPUS "/proc/driver/nvidia/gpus"

/* The value of "Key:   value" in a line. */
static bool field(const char *line, const char *key, char *value, size_t size)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n) != 0)
		return false;
	line += n;
	line += strspn(line, ": \t");
	(void)snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
	return true;
}

static void read_information(const char *address, struct cot_gpu_info *gpu)
{
	char path[320], line[256], minor[16] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), PROC_GPUS "/%s/information", address);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		(void)field(line, "Model", gpu->model, sizeof(gpu->model));
		(void)field(line, "GPU UUID", gpu->uuid, sizeof(gpu->uuid));
		(void)field(line, "Device Minor", minor, sizeof(minor));
	}
	(void)fclose(f);
	gpu->minor = (unsigned)strtoul(minor, NULL, 10);
	if (strchr(gpu->uuid, '?')) /* the driver does not know it yet */
		gpu->uuid[0] = '\0';
}

static int is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void find_in_proc(struct cot_gpus *gpus)
{
	struct dirent **entries = NULL;
	int n = scandir(PROC_GPUS, &entries, is_entry, alphasort), i;

	for (i = 0; i < n; i++) {
		if (gpus->n < COT_GPUS_MAX) {
			gpus->gpu[gpus->n].minor = (unsigned)i;
			read_information(entries[i]->d_name, &gpus->gpu[gpus->n]);
			gpus->n++;
		}
		free(entries[i]);
	}
	free(entries);
}

static void find_nodes(struct cot_gpus *gpus)
{
	char path[32];
	struct stat st;
	unsigned i;

	for (i = 0; i < COT_GPUS_MAX; i++) {
		(void)snprintf(path, sizeof(path), "/dev/nvidia%u", i);
		if (stat(path, &st) == 0 && S_ISCHR(st.st_mode))
			gpus->gpu[gpus->n++].minor = i;
	}
}

void cot_gpus_find(struct cot_gpus *ret_gpus)
{
	const char *value = getenv("COTENANT_GPUS"), *model = getenv("COTENANT_GPU_MODEL");
	uint64_t n;

	*ret_gpus = (struct cot_gpus){0};
	if (value && cot_number_u64(value, &n) && n >= 1 && n <= COT_GPUS_MAX) {
		for (; ret_gpus->n < n; ret_gpus->n++) {
			struct cot_gpu_info *gpu = &ret_gpus->gpu[ret_gpus->n];

			gpu->minor = ret_gpus->n;
			(void)snprintf(gpu->model, sizeof(gpu->model), "%s", model ? model : "");
		}
		ret_gpus->found = true;
		return;
	}
	find_in_proc(ret_gpus);
	if (!ret_gpus->n)
		find_nodes(ret_gpus);
	ret_gpus->found = ret_gpus->n > 0;
	if (!ret_gpus->n)
		ret_gpus->n = 1;
}

static uint64_t one_mask(const struct cot_gpus *gpus, const char *word)
{
	uint64_t index;
	unsigned i;

	if (cot_number_u64(word, &index))
		return index < gpus->n ? 1ull << index : 0;
	if (strncmp(word, "GPU-", 4) != 0)
		return 0;
	for (i = 0; i < gpus->n; i++)
		if (!strncmp(gpus->gpu[i].uuid, word, strlen(word)))
			return 1ull << i;
	return 0;
}

uint64_t cot_gpus_mask(const struct cot_gpus *gpus, const char *text)
{
	char word[COT_GPU_UUID_MAX];
	uint64_t mask = 0, one;
	size_t n;

	if (!*text)
		return 1;
	if (!strcmp(text, "all"))
		return (1ull << gpus->n) - 1;
	for (;;) {
		n = strcspn(text, ",");
		if (n >= sizeof(word))
			return 0;
		(void)snprintf(word, sizeof(word), "%.*s", (int)n, text);
		one = one_mask(gpus, word);
		if (!one)
			return 0;
		mask |= one;
		if (!text[n])
			return mask;
		text += n + 1;
	}
}

void cot_gpus_visible(const struct cot_gpus *gpus, uint64_t mask, char *text, unsigned size)
{
	size_t used = 0;
	unsigned i;

	text[0] = '\0';
	for (i = 0; i < gpus->n && used < size; i++) {
		if (!(mask & (1ull << i)))
			continue;
		if (gpus->gpu[i].uuid[0])
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
						 gpus->gpu[i].uuid);
		else
			used += (size_t)snprintf(text + used, size - used, "%s%u", used ? "," : "",
						 i);
	}
}
