/* What else is simulated: other settings, and other assumptions where the paper is silent. */
#include "study/smqos/smqos.h"

static struct cot_smq_settings *add(struct cot_smq_report *r, const char *what, bool ablation)
{
	struct cot_smq_sense *s = &r->senses[r->n_senses++];

	*s = (struct cot_smq_sense){.what = what, .ablation = ablation, .settings = r->settings};
	return &s->settings;
}

static void list_sensitivity(struct cot_smq_report *r)
{
	(void)add(r, "as above, fewer mixes", false);
	add(r, "threshold 0.01", false)->threshold = 0.01;
	add(r, "threshold 0.05", false)->threshold = 0.05;
	add(r, "epoch 5,000 cycles", false)->epoch_cycles = 5000;
	add(r, "epoch 20,000 cycles", false)->epoch_cycles = 20000;
	add(r, "no noise", false)->noise = 0.0;
	add(r, "noise 0.02", false)->noise = 0.02;
	add(r, "batch keeps an SM", false)->batch_sms = 1;
	add(r, "cache sharing costs 0.1", false)->share_penalty = 0.1;
	add(r, "cache sharing costs 0.3", false)->share_penalty = 0.3;
	add(r, "8 SMs", false)->n_sms = 8;
	add(r, "16 SMs", false)->n_sms = 16;
}

/* The schedulers and the GPU, one at a time. */
static void list_systems(struct cot_smq_report *r)
{
	struct cot_smq_settings *s;

	add(r, "SMQoS searches as printed", true)->search_printed = true;
	add(r, "SMQoS decides while SMs change hands", true)->hasty = true;
	add(r, "Spart makes up for lost epochs", true)->spart_catchup = true;
	add(r, "SMs change hands at no cost", true)->context_scale = 0.0;
	add(r, "at half the cost", true)->context_scale = 0.5;
	add(r, "at one and a half times the cost", true)->context_scale = 1.5;
	add(r, "at double the cost", true)->context_scale = 2.0;
	add(r, "when their blocks have ended", true)->drain = true;
	add(r, "sharing an SM costs nothing", true)->share_stall = 0.0;
	add(r, "sharing an SM costs up to 0.15", true)->share_stall = 0.15;
	add(r, "sharing an SM costs up to 0.25", true)->share_stall = 0.25;
	add(r, "an SM without blocks draws as one with", true)->idle_draws = true;
	add(r, "16 SMs", true)->n_sms = 16;
	s = add(r, "16 SMs, batch keeps one", true);
	s->n_sms = 16;
	s->batch_sms = 1;
	add(r, "15 SMs", true)->n_sms = 15;
	add(r, "SMs twice as large", true)->sm_scale = 2;
}

static struct cot_smq_settings *add_waves(struct cot_smq_report *r, const char *what)
{
	struct cot_smq_settings *s = add(r, what, true);

	s->traces = "smqos-waves";
	return s;
}

static void add_knee(struct cot_smq_report *r, const char *what, double knee, double memory_for)
{
	struct cot_smq_settings *s = add_waves(r, what);

	s->knee = knee;
	s->memory_for = memory_for;
}

/* The kernels. */
static void list_kernels(struct cot_smq_report *r)
{
	add(r, "blocks fill one SM after the other", true)->depth = true;
	add(r, "small grids do a tenth less", true)->small_scale = 0.9;
	add(r, "small grids do a tenth more", true)->small_scale = 1.1;
	(void)add_waves(r, "many short blocks");
	add_waves(r, "and they fill one SM after the other")->depth = true;
	add_waves(r, "many blocks a quarter as long")->block_parts = 4;
	add_knee(r, "many, MI limits of their own at 1/4, memory for 2", 0.25, 2.0);
	add_knee(r, "own limits at 0.4, memory for 2", 0.4, 2.0);
	add_knee(r, "own limits at 0.6, memory for 2", 0.6, 2.0);
	add_knee(r, "own limits at 1/4, memory for 1.75", 0.25, 1.75);
	add_knee(r, "own limits at 1/4, memory for 1.5", 0.25, 1.5);
	add_knee(r, "own limits at 1/4, memory for 1", 0.25, 1.0);
}

void cot_smq_list_senses(struct cot_smq_report *r)
{
	if (r->sensitivity)
		list_sensitivity(r);
	if (!r->ablation)
		return;
	(void)add(r, "as above", true);
	list_systems(r);
	list_kernels(r);
}
