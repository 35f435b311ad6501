/*
 * A program that uses the GPU and does what programs do without asking who else is in the process:
 * odd closeall|setuid|fork|vfork|nothing. Prints "done". CMakeLists.txt builds it again with much
 * thread-local data (ODD_TLS_BYTES), which lies on the stack of every thread.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define N_CHILDREN 100
#define N_FILES	   600

#ifdef ODD_TLS_BYTES
static __thread char local_data[ODD_TLS_BYTES];
#endif

/* As daemons and sandboxes do; other files get the numbers then. */
static void close_all(void)
{
	int i;

	if (close_range(3, ~0u, 0) < 0)
		_exit(1);
	for (i = 0; i < N_FILES; i++)
		if (open("/dev/null", O_RDWR) < 0)
			break;
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status) {
		printf("failed child %d\n", status);
		_exit(1);
	}
}

static void make_children(bool share)
{
	int i;

	for (i = 0; i < N_CHILDREN; i++) {
		pid_t pid = share ? vfork() : fork();

		if (!pid && share)
			execl("/bin/true", "true", (char *)NULL);
		if (!pid)
			_exit(share);
		wait_for(pid);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct prog p;
	int i;

#ifdef ODD_TLS_BYTES
	memset(local_data, 1, sizeof(local_data));
#endif
	p = prog_start(0);
	usleep(100000); /* the library's thread is at work by now */
	if (!strcmp(what, "closeall"))
		close_all();
	else if (!strcmp(what, "setuid") && setuid(65534) < 0)
		return 1;
	else if (!strcmp(what, "fork") || !strcmp(what, "vfork"))
		make_children(what[0] == 'v');
	for (i = 0; i < 20; i++) {
		PROG_CHECK(prog_spin(&p, 132, 5000, 0));
		PROG_CHECK(cuStreamSynchronize(p.stream));
	}
	puts("done");
	return 0;
}
