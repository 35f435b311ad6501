/* REGISTER: `cotenant run` announces a program before it becomes the program. */
#ifndef COT_DAEMON_REGISTER_H
#define COT_DAEMON_REGISTER_H

#include <stdbool.h>

struct conn;
struct cot_msg_register;
struct pool;

/* A REGISTER that waits for its pool to come up. */
struct registration {
	struct pool *pool;	    /* NULL: none */
	struct cot_msg_register *m; /* owned */
	bool again;		    /* it has waited for another pool before */
};

void cot_register_packet(struct conn *c, const struct cot_msg_register *packet);
/* The pool that REGISTERs wait for came up or failed. */
void cot_register_pool_settled(struct pool *p);

#endif
