/* An emulated machine of a test's own: a folder that exists from setup to teardown. */
#ifndef COT_TESTS_EMU_DIR_H
#define COT_TESTS_EMU_DIR_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char emu_dir[64];

static inline int emu_dir_setup(void **state)
{
	(void)state;
	snprintf(emu_dir, sizeof(emu_dir), "%s/cotenant-emu-XXXXXX", P_tmpdir);
	if (!mkdtemp(emu_dir))
		return -1;
	setenv("COTENANT_EMU_DIR", emu_dir, 1);
	setenv("COTENANT_EMU_CONTROL_US", "0", 1);
	unsetenv("COTENANT_EMU_SCALE");
	unsetenv("COTENANT_EMU_QUIRKS");
	setenv("CUDA_MPS_PIPE_DIRECTORY", emu_dir, 1);
	return 0;
}

static inline int emu_dir_teardown(void **state)
{
	static const char *const names[] = {"gpu", "clients", "nvidiactl", "nvidia0", "nvidia-uvm"};
	char path[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", emu_dir, names[i]);
		unlink(path);
	}
	return rmdir(emu_dir);
}

#endif
