/*
 * The emulated MPS server: one process with one context per GPU, whose channels its clients use.
 * Started by the control daemon, which hands it each client's socket.
 *
 *   ACTIVE --- a kernel of any client traps ---> FAULT --- the last client has gone ---> ACTIVE
 *
 * In FAULT all clients see their work fail, and new ones are refused.
 */
#ifndef COT_EMU_MPS_SERVER_SERVER_H
#define COT_EMU_MPS_SERVER_SERVER_H

/* Runs until the daemon's end of the socket is closed; the process's exit status. */
int cot_emu_mps_server_run(int control);

#endif
