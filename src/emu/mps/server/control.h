/*
 * The emulated MPS control daemon: listens in the pipe directory, starts a server when the first
 * client comes, hands clients over to it, and answers commands.
 *
 * There is one server at a time, of one user: that of its clients. Clients of another user wait
 * until it has none, and then for a server of theirs. A daemon in multi-user mode, which only root
 * may start, has one server for all users.
 */
#ifndef COT_EMU_MPS_SERVER_CONTROL_H
#define COT_EMU_MPS_SERVER_CONTROL_H

#include <stdbool.h>

/* The environment variable and number that give the server its socket. */
#define COT_EMU_MPS_SERVER_FD 3

struct cot_emu_mps_control;

/* Takes over the pipe directory. -EADDRINUSE: a daemon is there already; -EPERM: only root may. */
int cot_emu_mps_control_create(bool multiuser, struct cot_emu_mps_control **ret_control);
/* Serves until `quit`; returns the process's exit status. */
int cot_emu_mps_control_run(struct cot_emu_mps_control *c);
void cot_emu_mps_control_destroy(struct cot_emu_mps_control *c);

#endif
