/*
 * Messages between the parts of the emulated MPS: clients, control daemon, server and the control
 * program's command line. One fixed layout over SOCK_SEQPACKET; a descriptor may come along. The
 * peer may be any process that can open the socket: the receiver checks sizes and strings.
 */
#ifndef COT_EMU_MPS_WIRE_H
#define COT_EMU_MPS_WIRE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define COT_EMU_MPS_MAX_CLIENTS		48u /* contexts that one server serves, as with the real one */
#define COT_EMU_MPS_CHANNELS_PER_CLIENT 2u
#define COT_EMU_MPS_TEXT		512u

enum cot_emu_mps_type {
	COT_EMU_MPS_HELLO = 1, /* client -> control (descriptor passed on) -> server */
	COT_EMU_MPS_WELCOME,   /* server or control -> client: status, pid of the server */
	COT_EMU_MPS_OPEN,      /* client -> server: gpu, n channels wished */
	COT_EMU_MPS_OPENED,    /* server -> client: status, slot, tokens */
	COT_EMU_MPS_CLOSE,     /* client -> server: slot; no answer */
	COT_EMU_MPS_COMMAND,   /* command line -> control: text */
	COT_EMU_MPS_ANSWER,    /* control -> command line: text */
	COT_EMU_MPS_TAKE,      /* control -> server, with the client's descriptor: pid */
	COT_EMU_MPS_CLIENTS,   /* server -> control: n clients, state in text, pids in tokens; slot:
			      how   many it has been handed until now */
};

struct cot_emu_mps_message {
	uint32_t magic, type;
	int32_t status; /* a CUresult, or of a command its exit status */
	int32_t pid;
	uint32_t gpu, slot, n;
	uint32_t tokens[COT_EMU_MPS_MAX_CLIENTS];
	char text[COT_EMU_MPS_TEXT];
};

struct cot_emu_mps_message cot_emu_mps_message(enum cot_emu_mps_type type);

/* 0 or -errno; fd -1: none goes along. Never raises SIGPIPE, never blocks. */
int cot_emu_mps_send(int sock, const struct cot_emu_mps_message *m, int fd);
/*
 * Waits at most timeout_ms (-1: for ever). 0; -ETIMEDOUT; -EPIPE when the far end has closed;
 * -EBADMSG for anything malformed. ret_fd may be NULL; then descriptors are closed.
 */
int cot_emu_mps_receive(int sock, struct cot_emu_mps_message *ret_message, int *ret_fd,
			int timeout_ms);

/* CUDA_MPS_PIPE_DIRECTORY, or the documented default. */
const char *cot_emu_mps_pipe_dir(void);
/* The daemon's socket; -errno. -ENOENT or -ECONNREFUSED: there is no daemon. */
int cot_emu_mps_connect_control(void);
int cot_emu_mps_listen_control(void);

#endif
