/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/infer.h"

#include "base/alloc.h"

/* A document fits the typed form only if its elements stand in the order of the schema. What stood right behind
 * what makes a graph: where it has no cycle, a topological order fits every document that was seen. Where it has
 * one, documents disagree, and the field that fewest put behind another goes first. Of several that may come, the
 * one seen first does. */

typedef struct order_state {
    const cra_infer_field **fields; /* by ordinal */
    uint64_t *before;               /* by ordinal: how often a field not yet placed stood right before */
    bool *placed;
    size_t count;
} order_state;

static size_t next_field(const order_state *state)
{
    size_t best = state->count;

    for (size_t i = 0; i < state->count; i++) {
        if (state->placed[i])
            continue;
        if (state->before[i] == 0)
            return i;
        if (best == state->count || state->before[i] < state->before[best])
            best = i;
    }
    return best;
}

static void place(order_state *state, size_t ordinal)
{
    const cra_infer_field *field = state->fields[ordinal];

    state->placed[ordinal] = true;
    for (size_t i = 0; i < field->edge_count; i++)
        state->before[field->edges[i].to] -= field->edges[i].count;
}

cra_status cra_infer_order(const cra_allocator *allocator, const cra_infer_record *record, const cra_infer_field **out)
{
    order_state state = {.count = record->count};
    cra_status status = CRA_NOMEM;

    state.fields = cra_calloc(allocator, state.count, sizeof *state.fields);
    state.before = cra_calloc(allocator, state.count, sizeof *state.before);
    state.placed = cra_calloc(allocator, state.count, sizeof *state.placed);
    if (state.fields != NULL && state.before != NULL && state.placed != NULL) {
        status = CRA_OK;
        for (const cra_infer_field *field = record->first; field != NULL; field = field->next) {
            state.fields[field->ordinal] = field;
            for (size_t i = 0; i < field->edge_count; i++)
                state.before[field->edges[i].to] += field->edges[i].count;
        }
        for (size_t i = 0; i < state.count; i++) {
            const size_t ordinal = next_field(&state);
            place(&state, ordinal);
            out[i] = state.fields[ordinal];
        }
    }
    cra_free(allocator, (void *)state.fields);
    cra_free(allocator, state.before);
    cra_free(allocator, state.placed);
    return status;
}
