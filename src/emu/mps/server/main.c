/*
 * A stand-in for nvidia-cuda-mps-control, and, under the name nvidia-cuda-mps-server, for the
 * server that it starts.
 *
 *   nvidia-cuda-mps-control -d [-M]   start the daemon in the background
 *   nvidia-cuda-mps-control -f [-M]   ... in the foreground; -M: one server for all users
 *   nvidia-cuda-mps-control           send the commands of standard input to the daemon
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/mps/server/control.h"
#include "emu/mps/server/server.h"
#include "emu/mps/wire.h"

static int serve(struct cot_emu_mps_control *c)
{
	int status = cot_emu_mps_control_run(c);

	cot_emu_mps_control_destroy(c);
	return status;
}

static int explain(int err)
{
	if (err == -EPERM)
		fprintf(stderr, "Only root user may enable -multiuser-server!\n");
	else if (err == -EADDRINUSE)
		fprintf(stderr, "An instance of this daemon is already running\n");
	else
		fprintf(stderr, "Cannot listen in %s: %s\n", cot_emu_mps_pipe_dir(),
			strerror(-err));
	return 1;
}

/* A real one takes a second or more until it listens. */
static void take_time(void)
{
	const char *text = getenv("COTENANT_EMU_MPS_START_MS");
	long ms = text ? strtol(text, NULL, 10) : 0;
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	if (ms > 0)
		(void)nanosleep(&pause, NULL);
}

static int foreground(bool multiuser)
{
	struct cot_emu_mps_control *c;
	int err;

	take_time();
	err = cot_emu_mps_control_create(multiuser, &c);
	return err ? explain(err) : serve(c);
}

/* The parent returns when the daemon listens: the child's word comes through a pipe. */
static int background(bool multiuser)
{
	struct cot_emu_mps_control *c;
	int ready[2], err = -EIO, null;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		return explain(-errno);
	pid = fork();
	if (pid < 0)
		return explain(-errno);
	if (pid) {
		close(ready[1]);
		if (read(ready[0], &err, sizeof(err)) != sizeof(err))
			err = -EIO;
		return err ? explain(err) : 0;
	}
	setsid();
	err = cot_emu_mps_control_create(multiuser, &c);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	(void)!write(ready[1], &err, sizeof(err));
	close(ready[1]);
	return err ? 1 : serve(c);
}

static int send_commands(void)
{
	struct cot_emu_mps_message m, reply;
	char line[COT_EMU_MPS_TEXT];
	int sock, status = 0, err;

	while (fgets(line, sizeof(line), stdin)) {
		if (line[strspn(line, " \t\r\n")] == 0)
			continue;
		sock = cot_emu_mps_connect_control();
		if (sock < 0) {
			fprintf(stderr, "Cannot find MPS control daemon process\n");
			return 1;
		}
		m = cot_emu_mps_message(COT_EMU_MPS_COMMAND);
		snprintf(m.text, sizeof(m.text), "%s", line);
		err = cot_emu_mps_send(sock, &m, -1);
		if (!err)
			err = cot_emu_mps_receive(sock, &reply, NULL, -1);
		close(sock);
		if (err) {
			fprintf(stderr, "Lost the MPS control daemon: %s\n", strerror(-err));
			return 1;
		}
		if (reply.text[0])
			puts(reply.text);
		if (reply.status)
			status = reply.status;
	}
	return status;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	bool multiuser = argc == 3 && !strcmp(argv[2], "-M");

	name = name ? name + 1 : argv[0];
	if (!strcmp(name, "nvidia-cuda-mps-server"))
		return cot_emu_mps_server_run(COT_EMU_MPS_SERVER_FD);
	if (argc == 1)
		return send_commands();
	if ((argc == 2 || multiuser) && !strcmp(argv[1], "-d"))
		return background(multiuser);
	if ((argc == 2 || multiuser) && !strcmp(argv[1], "-f"))
		return foreground(multiuser);
	fprintf(stderr, "usage: nvidia-cuda-mps-control [-d | -f] [-M]\n");
	return 1;
}
