#include "daemon/unseen.h"

#include <errno.h>
#include <linux/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, counted from the state on, which is the third. */
#define FIELDS	    50
#define FIELD(n)    ((n)-3)
#define START_CODE  FIELD(26)
#define END_CODE    FIELD(27)
#define START_STACK FIELD(28)
#define START_DATA  FIELD(45)
#define END_DATA    FIELD(46)
#define START_BRK   FIELD(47)
#define ARG_START   FIELD(48)
#define ARG_END	    FIELD(49)
#define ENV_START   FIELD(50)
#define ENV_END	    FIELD(51)

static int read_fields(uint64_t field[FIELDS])
{
	char text[2048], *at;
	FILE *f = fopen("/proc/self/stat", "re");
	size_t n;
	int i;

	if (!f)
		return -errno;
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name may hold anything */
	for (i = 0; at && i < FIELDS; i++) {
		at = strchr(at + 1, ' ');
		field[i] = at ? strtoull(at + 1, NULL, 10) : 0;
	}
	return at ? 0 : -ENOTSUP;
}

int cot_unseen_make(void)
{
	uint64_t f[FIELDS] = {0};
	struct prctl_mm_map map;
	int rc = read_fields(f);

	if (rc < 0)
		return rc;
	if (!f[ARG_END] || f[ARG_START] == f[ARG_END])
		return f[ARG_END] ? 0 : -ENOTSUP;
	/* All of it is as it was, but that the arguments end where they begin. */
	map = (struct prctl_mm_map){
		.start_code = f[START_CODE],
		.end_code = f[END_CODE],
		.start_data = f[START_DATA],
		.end_data = f[END_DATA],
		.start_brk = f[START_BRK],
		.brk = (uint64_t)(uintptr_t)sbrk(0),
		.start_stack = f[START_STACK],
		.arg_start = f[ARG_END],
		.arg_end = f[ARG_END],
		.env_start = f[ENV_START],
		.env_end = f[ENV_END],
		.exe_fd = (uint32_t)-1,
	};
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) < 0 ? -errno : 0;
}
