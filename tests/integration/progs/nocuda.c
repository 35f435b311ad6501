/*
 * A program that never touches CUDA: threads, a fork, files and an ordinary ioctl. Prints how many
 * threads, descriptors and children it has, so that a library or a launcher that adds some is
 * found out.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int count(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

int main(void)
{
	int status = 1, pending = -1, ends[2];
	int unknown = 0;
	pid_t pid;

	while (waitpid(-1, NULL, 0) > 0)
		unknown++;
	pid = fork();
	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || pipe(ends) || write(ends[1], "x", 1) != 1 ||
	    ioctl(ends[0], FIONREAD, &pending))
		return 1;
	close(ends[0]);
	close(ends[1]);
	/* The descriptor that lists the descriptors is one of them. */
	printf("nocuda threads %d descriptors %d pending %d children %d\n",
	       count("/proc/self/task"), count("/proc/self/fd") - 1, pending, unknown);
	return status || pending != 1;
}
