/*
 * A check in a process of its own, which may lose what it likes: descriptors, rights, system calls.
 */
#ifndef COT_TESTS_IN_A_CHILD_H
#define COT_TESTS_IN_A_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* In a check: its line is what has failed. */
#define CHECK(yes)                       \
	do {                             \
		if (!(yes))              \
			return __LINE__; \
	} while (0)

/* `check` returns 0 when all is well. */
static inline void in_a_child(int (*check)(void))
{
	int ends[2], line = -1;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		line = check();
		(void)!write(ends[1], &line, sizeof(line));
		_exit(0);
	}
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(read(ends[0], &line, sizeof(line)), sizeof(line));
	(void)close(ends[0]);
	if (line)
		fail_msg("line %d", line);
}

#endif
