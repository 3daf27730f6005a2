/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "codec/avro_program.h"

cra_status cra_avro_program_disassemble(const cra_avro_program *program, cra_buf *out)
{
    static const char *const names[] = {
#define NAME(op, help) #op,
        CRA_OPS(NAME)
#undef NAME
    };

    for (size_t i = 0; i < program->code_count; i++) {
        const cra_instruction *code = &program->code[i];
        CRA_TRY(cra_buf_appendf(out, "%4zu  %-18s %u %u", i, names[code->op], code->a, code->b));
        if (code->key_size > 0)
            CRA_TRY(cra_buf_appendf(out, "  \"%s\"", (const char *)program->constants.data + code->key));
        CRA_TRY(cra_buf_append_str(out, i == program->root ? "  ; root\n" : "\n"));
    }
    for (size_t i = 0; i < program->bodies_count; i++) {
        CRA_TRY(cra_buf_appendf(out, "body %zu:", i));
        for (uint32_t j = 0; j < program->bodies[i].count; j++)
            CRA_TRY(cra_buf_appendf(out, " %u", program->refs[program->bodies[i].first + j]));
        CRA_TRY(cra_buf_append_str(out, "\n"));
    }
    return CRA_OK;
}
