/*
 * Graphs: nodes with dependencies, built by calls or by capturing streams, and what is made of
 * them to run. A graph runs as one operation of a stream: its nodes one after the other, in an
 * order that keeps the dependencies. A graph belongs to the thread that works with it, as in CUDA;
 * an executable one is counted, since streams hold it.
 */
#ifndef COT_EMU_DRIVER_GRAPH_H
#define COT_EMU_DRIVER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/driver/task.h"

#define COT_EMU_MAX_NODES (1u << 20) /* in one graph */

/* A set of nodes in the order in which they came; grows as needed. */
struct cot_emu_nodes {
	struct CUgraphNode_st **items; /* malloc'ed */
	size_t n, capacity;
};

struct CUgraphNode_st {
	struct CUgraph_st *graph;
	struct cot_emu_task task;      /* GRAPH means a child graph, which is in `child` */
	struct CUgraph_st *child;      /* owned */
	struct cot_emu_nodes needs;    /* must be done before */
	struct CUgraphNode_st *origin; /* in a clone: what it is a copy of */
	void **pointers; /* malloc'ed; to the arguments of a kernel, for a program that asked */
	uint64_t id;
	size_t mark; /* for walks */
};

struct CUgraph_st {
	struct cot_emu_nodes nodes; /* owned */
	uint64_t last_id;
};

struct cot_emu_context;

CUresult cot_emu_nodes_add(struct cot_emu_nodes *nodes, struct CUgraphNode_st *node);
CUresult cot_emu_nodes_add_all(struct cot_emu_nodes *nodes, const struct cot_emu_nodes *more);
bool cot_emu_nodes_have(const struct cot_emu_nodes *nodes, const struct CUgraphNode_st *node);
void cot_emu_nodes_remove(struct cot_emu_nodes *nodes, const struct CUgraphNode_st *node);
void cot_emu_nodes_free(struct cot_emu_nodes *nodes);

/* The node owns the task from now on, also on failure. */
CUresult cot_emu_graph_add(struct CUgraph_st *graph, struct CUgraphNode_st *const *needs, size_t n,
			   struct cot_emu_task *task, struct CUgraphNode_st **ret_node);
void cot_emu_graph_free(struct CUgraph_st *graph);
CUresult cot_emu_graph_clone(const struct CUgraph_st *graph, struct CUgraph_st **ret_clone);
CUgraphNodeType cot_emu_node_type(const struct CUgraphNode_st *node);

/* ---- node_task.c: what a node does, from the parameters of its type ---- */

/* `before`, or NULL: what the node did, of which the launch attributes stay. */
CUresult cot_emu_kernel_task(const CUDA_KERNEL_NODE_PARAMS *params,
			     const struct cot_emu_task *before, struct cot_emu_task *ret_task);
CUresult cot_emu_params_task(const CUgraphNodeParams *params, const struct cot_emu_task *before,
			     struct cot_emu_task *ret_task);

/* ---- graph_exec.c ---- */

CUresult cot_emu_graph_exec_make(const struct CUgraph_st *graph, uint64_t flags,
				 struct cot_emu_graph_exec **ret_exec);
void cot_emu_graph_exec_ref(struct cot_emu_graph_exec *exec);
void cot_emu_graph_exec_unref(struct cot_emu_graph_exec *exec);
uint64_t cot_emu_graph_exec_flags(const struct cot_emu_graph_exec *exec);
/* As it is now, whatever becomes of it. */
CUresult cot_emu_graph_exec_launch(struct cot_emu_graph_exec *exec, CUstream stream);
CUresult cot_emu_graph_exec_run(struct CUstream_st *s, const struct cot_emu_graph_exec *e);
/* What the node does from now on; the exec, which may be NULL, owns the task, also on failure. */
CUresult cot_emu_graph_exec_set(struct cot_emu_graph_exec *exec, const struct CUgraphNode_st *node,
				struct cot_emu_task *task);
/* The same for a graph inside it. */
CUresult cot_emu_graph_exec_set_child(struct cot_emu_graph_exec *exec,
				      const struct CUgraphNode_st *node,
				      const struct CUgraph_st *graph);
/* What it does now; NULL: there is no such node. Valid until it is changed. */
const struct cot_emu_task *cot_emu_graph_exec_task(const struct cot_emu_graph_exec *exec,
						   const struct CUgraphNode_st *node);
/* false: there is no such node. */
bool cot_emu_graph_exec_enable(struct cot_emu_graph_exec *exec, const struct CUgraphNode_st *node,
			       bool enabled);
bool cot_emu_graph_exec_enabled(const struct cot_emu_graph_exec *exec,
				const struct CUgraphNode_st *node, bool *ret_enabled);
/* As if made from this graph now, unless there is a difference in shape. */
CUresult cot_emu_graph_exec_update(struct cot_emu_graph_exec *exec, const struct CUgraph_st *graph,
				   CUgraphExecUpdateResult *ret_difference);

#endif
