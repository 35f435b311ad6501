#include "emu/gpu/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A decimal number with up to three places, in thousandths; `fallback` for anything else. */
static uint64_t read_milli(const char *name, uint64_t fallback, uint64_t least, uint64_t most)
{
	const char *s = getenv(name);
	uint64_t v = 0;
	unsigned digits = 0, places = 0;
	bool point = false;

	if (!s || !*s)
		return fallback;
	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (*s < '0' || *s > '9' || ++digits > 15 || (point && ++places > 3))
			return fallback;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	for (; places < 3; places++)
		v *= 10;
	return digits && v >= least && v <= most ? v : fallback;
}

static uint64_t read_us(const char *name, uint64_t fallback_us)
{
	return read_milli(name, fallback_us * 1000, 0, 1000ull * 1000 * 1000);
}

static uint32_t read_count(const char *name, uint32_t fallback, uint32_t most)
{
	return (uint32_t)(read_milli(name, fallback * 1000ull, 1000, most * 1000ull) / 1000);
}

static enum cot_emu_preset read_preset(void)
{
	const char *s = getenv("COTENANT_EMU_DEVICE");

	return s && !strcmp(s, "k20c") ? COT_EMU_K20C : COT_EMU_H200;
}

struct cot_emu_config cot_emu_config_read(void)
{
	struct cot_emu_config c = {.params = cot_emu_params_default(), .preset = read_preset()};

	if (c.preset == COT_EMU_K20C)
		c.params.n_sms = 13;

	/* A thousandth of a microsecond is a nanosecond. */
	c.params.switch_ns = read_us("COTENANT_EMU_SWITCH_US", COT_EMU_SWITCH_NS / 1000);
	c.params.drained_ns = read_us("COTENANT_EMU_DRAINED_US", COT_EMU_DRAINED_NS / 1000);
	c.params.idle_ns = read_us("COTENANT_EMU_IDLE_US", 0);
	c.params.n_gpus = read_count("COTENANT_EMU_GPUS", c.params.n_gpus, COT_EMU_MAX_GPUS);
	c.params.n_sms = read_count("COTENANT_EMU_SMS", c.params.n_sms, 1024);
	c.control_ns = read_us("COTENANT_EMU_CONTROL_US", 100);
	c.scale_milli = read_milli("COTENANT_EMU_SCALE", 1000, 10, 1000ull * 1000);
	return c;
}

int cot_emu_config_dir(char path[PATH_MAX])
{
	const char *dir = getenv("COTENANT_EMU_DIR");
	const char *base = access("/dev/shm", W_OK) ? P_tmpdir : "/dev/shm";
	int n;

	if (dir && *dir)
		n = snprintf(path, PATH_MAX, "%s", dir);
	else
		n = snprintf(path, PATH_MAX, "%s/cotenant-emu-%u", base, (unsigned)getuid());
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

bool cot_emu_config_seed(uint64_t *ret_seed)
{
	const char *s = getenv("COTENANT_EMU_SEED");
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	*ret_seed = strtoull(s, &end, 0);
	return !*end;
}

static bool lists(const char *variable, const char *word)
{
	const char *list = getenv(variable);
	size_t n = strlen(word);

	while (list && *list) {
		if (!strncmp(list, word, n) && (list[n] == ',' || !list[n]))
			return true;
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return false;
}

bool cot_emu_config_quirk(const char *word)
{
	return lists("COTENANT_EMU_QUIRKS", word);
}

bool cot_emu_config_check(const char *word)
{
	return lists("COTENANT_EMU_CHECK", word);
}
