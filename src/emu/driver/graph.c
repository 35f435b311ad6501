#include "emu/driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "emu/driver/inside.h"

/* ---- sets of nodes ---- */

CUresult cot_emu_nodes_add(struct cot_emu_nodes *nodes, struct CUgraphNode_st *node)
{
	struct CUgraphNode_st **items;

	if (nodes->n == COT_EMU_MAX_NODES)
		return CUDA_ERROR_OUT_OF_MEMORY;
	items = cot_grow(nodes->items, nodes->n, &nodes->capacity, sizeof(struct CUgraphNode_st *));
	if (!items)
		return CUDA_ERROR_OUT_OF_MEMORY;
	nodes->items = items;
	nodes->items[nodes->n++] = node;
	return CUDA_SUCCESS;
}

bool cot_emu_nodes_have(const struct cot_emu_nodes *nodes, const struct CUgraphNode_st *node)
{
	size_t i;

	for (i = 0; i < nodes->n; i++)
		if (nodes->items[i] == node)
			return true;
	return false;
}

CUresult cot_emu_nodes_add_all(struct cot_emu_nodes *nodes, const struct cot_emu_nodes *more)
{
	CUresult result = CUDA_SUCCESS;
	size_t i;

	for (i = 0; !result && i < more->n; i++)
		if (!cot_emu_nodes_have(nodes, more->items[i]))
			result = cot_emu_nodes_add(nodes, more->items[i]);
	return result;
}

void cot_emu_nodes_remove(struct cot_emu_nodes *nodes, const struct CUgraphNode_st *node)
{
	size_t i;

	for (i = 0; i < nodes->n && nodes->items[i] != node; i++)
		;
	if (i == nodes->n)
		return;
	nodes->n--;
	memmove(nodes->items + i, nodes->items + i + 1,
		(nodes->n - i) * sizeof(struct CUgraphNode_st *));
}

void cot_emu_nodes_free(struct cot_emu_nodes *nodes)
{
	free(nodes->items);
	*nodes = (struct cot_emu_nodes){.items = NULL};
}

/* ---- nodes ---- */

static void free_node(struct CUgraphNode_st *node)
{
	cot_emu_task_drop(&node->task);
	cot_emu_graph_free(node->child);
	cot_emu_nodes_free(&node->needs);
	free(node->pointers);
	free(node);
}

CUresult cot_emu_graph_add(struct CUgraph_st *graph, struct CUgraphNode_st *const *needs, size_t n,
			   struct cot_emu_task *task, struct CUgraphNode_st **ret_node)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node));
	CUresult result = CUDA_SUCCESS;
	size_t i;

	if (!node) {
		cot_emu_task_drop(task);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	node->graph = graph;
	node->task = *task;
	*task = (struct cot_emu_task){.kind = COT_EMU_TASK_EMPTY};
	for (i = 0; !result && i < n; i++) {
		if (!needs || !needs[i] || needs[i]->graph != graph ||
		    cot_emu_nodes_have(&node->needs, needs[i]))
			result = CUDA_ERROR_INVALID_VALUE;
		else
			result = cot_emu_nodes_add(&node->needs, needs[i]);
	}
	if (!result)
		result = cot_emu_nodes_add(&graph->nodes, node);
	if (result) {
		free_node(node);
		return result;
	}
	node->id = ++graph->last_id;
	*ret_node = node;
	return CUDA_SUCCESS;
}

void cot_emu_graph_free(struct CUgraph_st *graph)
{
	size_t i;

	if (!graph)
		return;
	for (i = 0; i < graph->nodes.n; i++)
		free_node(graph->nodes.items[i]);
	cot_emu_nodes_free(&graph->nodes);
	free(graph);
}

static CUresult clone_node(const struct CUgraphNode_st *node, struct CUgraph_st *clone,
			   struct CUgraphNode_st **ret_node)
{
	struct CUgraph_st *child = NULL;
	struct cot_emu_task task;
	CUresult result = CUDA_SUCCESS;

	if (node->child)
		result = cot_emu_graph_clone(node->child, &child);
	if (!result)
		result = cot_emu_task_dup(&node->task, &task);
	if (!result)
		result = cot_emu_graph_add(clone, NULL, 0, &task, ret_node);
	if (result) {
		cot_emu_graph_free(child);
		return result;
	}
	(*ret_node)->child = child;
	(*ret_node)->origin = (struct CUgraphNode_st *)(uintptr_t)node;
	return CUDA_SUCCESS;
}

/* The nodes get their places as marks, so that edges are copied in one walk. */
CUresult cot_emu_graph_clone(const struct CUgraph_st *graph, struct CUgraph_st **ret_clone)
{
	struct CUgraph_st *clone = calloc(1, sizeof(*clone));
	CUresult result = clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	const struct cot_emu_nodes *needs;
	struct CUgraphNode_st *node;
	size_t i, k;

	for (i = 0; !result && i < graph->nodes.n; i++) {
		graph->nodes.items[i]->mark = i;
		result = clone_node(graph->nodes.items[i], clone, &node);
	}
	for (i = 0; !result && i < graph->nodes.n; i++) {
		needs = &graph->nodes.items[i]->needs;
		for (k = 0; !result && k < needs->n; k++)
			result = cot_emu_nodes_add(&clone->nodes.items[i]->needs,
						   clone->nodes.items[needs->items[k]->mark]);
	}
	if (result) {
		cot_emu_graph_free(clone);
		return result;
	}
	*ret_clone = clone;
	return CUDA_SUCCESS;
}

CUgraphNodeType cot_emu_node_type(const struct CUgraphNode_st *node)
{
	switch (node->task.kind) {
	case COT_EMU_TASK_LAUNCH:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case COT_EMU_TASK_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case COT_EMU_TASK_SET:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case COT_EMU_TASK_HOST:
	case COT_EMU_TASK_CALLBACK:
		return CU_GRAPH_NODE_TYPE_HOST;
	case COT_EMU_TASK_RECORD:
		return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
	case COT_EMU_TASK_WAIT:
		return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
	case COT_EMU_TASK_VALUE_WRITE:
	case COT_EMU_TASK_VALUE_WAIT:
		return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	default:
		return node->child ? CU_GRAPH_NODE_TYPE_GRAPH : CU_GRAPH_NODE_TYPE_EMPTY;
	}
}
