/*
 * A program that never touches CUDA: threads, a fork, files and an ordinary ioctl. Prints how many
 * threads and descriptors it has, so that a preloaded library that adds some is found out.
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
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || pipe(ends) || write(ends[1], "x", 1) != 1 ||
	    ioctl(ends[0], FIONREAD, &pending))
		return 1;
	close(ends[0]);
	close(ends[1]);
	/* The descriptor that lists the descriptors is one of them. */
	printf("nocuda threads %d descriptors %d pending %d\n", count("/proc/self/task"),
	       count("/proc/self/fd") - 1, pending);
	return status || pending != 1;
}
