#include "kernels/launch/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int upload(struct cot_session *s, uint32_t i, struct cot_error *err)
{
	const struct cot_bench_buffer *buffer = &s->in->buffers[i];
	const struct cot_machine_ops *ops = s->machine->ops;
	int rc = ops->alloc(s->machine, buffer->size_bytes, &s->address[i], err);

	if (!rc)
		rc = ops->write(s->machine, s->address[i], buffer->data, buffer->size_bytes, err);
	if (rc || !buffer->is_output)
		return rc;
	s->result[i] = malloc(buffer->size_bytes);
	if (!s->result[i])
		return cot_error_set(err, -ENOMEM, "%s: not enough memory", s->in->bench->name);
	rc = ops->alloc(s->machine, buffer->size_bytes, &s->pristine[i], err);
	if (!rc)
		rc = ops->copy(s->machine, s->pristine[i], s->address[i], buffer->size_bytes, err);
	return rc;
}

int cot_session_init(struct cot_session *s, struct cot_machine *machine,
		     const struct cot_bench_instance *in, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	*s = (struct cot_session){.machine = machine, .in = in, .n_steps = in->n_steps};
	for (i = 0; i < in->n_buffers && !rc; i++)
		rc = upload(s, i, err);
	if (rc)
		cot_session_finish(s);
	return rc;
}

void cot_session_finish(struct cot_session *s)
{
	uint32_t i;

	for (i = 0; i < COT_BENCH_MAX_BUFFERS; i++) {
		if (s->address[i])
			s->machine->ops->free(s->machine, s->address[i]);
		if (s->pristine[i])
			s->machine->ops->free(s->machine, s->pristine[i]);
		free(s->result[i]);
	}
	*s = (struct cot_session){0};
}

int cot_session_reset(struct cot_session *s, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < s->in->n_buffers && !rc; i++)
		if (s->pristine[i])
			rc = s->machine->ops->copy(s->machine, s->address[i], s->pristine[i],
						   s->in->buffers[i].size_bytes, err);
	return rc;
}

int cot_session_fetch(struct cot_session *s, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < s->in->n_buffers && !rc; i++)
		if (s->result[i])
			rc = s->machine->ops->read(s->machine, s->result[i], s->address[i],
						   s->in->buffers[i].size_bytes, err);
	return rc;
}

int cot_session_keep(struct cot_session *s, uint64_t *ret_addresses, struct cot_error *err)
{
	struct cot_machine *m = s->machine;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < s->in->n_buffers && !rc; i++) {
		if (!s->in->buffers[i].is_output)
			continue;
		rc = m->ops->alloc(m, s->in->buffers[i].size_bytes, &ret_addresses[i], err);
		if (!rc)
			rc = m->ops->copy(m, ret_addresses[i], s->address[i],
					  s->in->buffers[i].size_bytes, err);
	}
	return rc;
}

void cot_session_args(const struct cot_session *s, uint32_t step,
		      unsigned char (*values)[COT_BENCH_MAX_BYTES],
		      struct cot_machine_args *ret_args)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	uint32_t i;

	cot_bench_bind(what, s->address, values);
	ret_args->n = what->n_args;
	ret_args->shared_bytes = what->shared_bytes;
	for (i = 0; i < what->n_args; i++) {
		ret_args->values[i] = values[i];
		ret_args->sizes[i] = what->args[i].size_bytes;
	}
}

int cot_session_launch_plain(struct cot_session *s, uint32_t step, void *arg, struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_machine_args args;

	(void)arg;
	cot_session_args(s, step, values, &args);
	return s->machine->ops->launch(s->machine, what->entry, what->grid, what->block, &args,
				       err);
}

int cot_session_begin_step(struct cot_session *s, struct cot_error *err)
{
	static const uint32_t zero;
	uint32_t stop = s->in->stop_buffer;

	if (stop == COT_BENCH_NO_BUFFER)
		return 0;
	return s->machine->ops->write(s->machine, s->address[stop], &zero, sizeof(zero), err);
}

int cot_session_goes_on(struct cot_session *s, uint32_t n_done, bool replay, bool *ret_more,
			struct cot_error *err)
{
	uint32_t stop = s->in->stop_buffer, word = 1;
	int rc = 0;

	if (replay) {
		*ret_more = n_done < s->n_steps;
		return 0;
	}
	if (stop != COT_BENCH_NO_BUFFER)
		rc = s->machine->ops->read(s->machine, &word, s->address[stop], sizeof(word), err);
	*ret_more = word && n_done < s->in->n_steps;
	return rc;
}

int cot_session_run(struct cot_session *s, cot_session_launch launch, void *arg,
		    struct cot_error *err)
{
	bool more = s->in->n_steps > 0;
	uint32_t n_done = 0;
	int rc = 0;

	while (more && !rc) {
		rc = cot_session_begin_step(s, err);
		if (!rc)
			rc = launch(s, n_done++, arg, err);
		if (!rc)
			rc = cot_session_goes_on(s, n_done, false, &more, err);
	}
	s->n_steps = n_done;
	return rc;
}

int cot_session_replay(struct cot_session *s, cot_session_launch launch, void *arg,
		       struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < s->n_steps && !rc; i++)
		rc = launch(s, i, arg, err);
	return rc;
}
