#include "daemon/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "daemon/unseen.h"

static void become(const char *name, int fd, pid_t daemon)
{
	static const int deaf[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t none;
	unsigned i;

	for (i = 0; i < sizeof(deaf) / sizeof(deaf[0]); i++)
		(void)signal(deaf[i], SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, name);
	(void)cot_unseen_make(); /* ps shows its name, not the daemon's arguments */
	if (getppid() != daemon)
		_exit(0);
	cot_descriptors_close(0, STDERR_FILENO - 1);
	cot_descriptors_close(STDERR_FILENO + 1, (unsigned)fd - 1);
	cot_descriptors_close((unsigned)fd + 1, ~0u);
}

int cot_child_start(const char *name, void (*serve)(int fd, const void *with), const void *with,
		    int *ret_fd, pid_t *ret_pid)
{
	pid_t daemon = getpid(), pid;
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (!pid) {
		become(name, ends[1], daemon);
		serve(ends[1], with);
		_exit(0);
	}
	rc = pid < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (rc) {
		(void)close(ends[0]);
		return rc;
	}
	*ret_fd = ends[0];
	*ret_pid = pid;
	return 0;
}

void cot_child_reap(pid_t *pid)
{
	if (*pid && waitpid(*pid, NULL, WNOHANG) != 0)
		*pid = 0;
}
