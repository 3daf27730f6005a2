/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sweep_verdict.h"

#include <string.h>

#include "base/buf.h"
#include "core/fields.h"

cra_status cra_sweep_verdict_encode(const cra_sweep_verdict *verdict, cra_buf *out)
{
    size_t mark;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_string(out, "level", cra_verify_level_name(verdict->level)));
    CRA_TRY(cra_bson_put_string(out, "manifest_digest", verdict->manifest_digest));
    CRA_TRY(cra_bson_put_int64(out, "list_count", verdict->list.count));
    CRA_TRY(cra_bson_put_string(out, "list_sha256", verdict->list.sha256));
    CRA_TRY(cra_bson_put_string(out, "list_path", verdict->list_path));
    CRA_TRY(cra_bson_put_int64(out, "position", verdict->position));
    CRA_TRY(cra_bson_put_int64(out, "removed", verdict->removed));
    return cra_bson_end(out, mark);
}

cra_status cra_sweep_verdict_decode(cra_bytes stored, cra_sweep_verdict *out, cra_error *err)
{
    const cra_fields fields = {stored, "checkpoint", "sweep.", err};
    char level[16] = "";

    memset(out, 0, sizeof *out);
    out->list.bytes = -1;
    CRA_TRY(cra_fields_chars(&fields, "level", CRA_REQUIRED, level, sizeof level));
    CRA_TRY(cra_fields_chars(&fields, "manifest_digest", CRA_REQUIRED, out->manifest_digest,
                             sizeof out->manifest_digest));
    CRA_TRY(cra_fields_int(&fields, "list_count", CRA_REQUIRED, 0, &out->list.count));
    CRA_TRY(cra_fields_chars(&fields, "list_sha256", CRA_REQUIRED, out->list.sha256, sizeof out->list.sha256));
    CRA_TRY(cra_fields_chars(&fields, "list_path", CRA_REQUIRED, out->list_path, sizeof out->list_path));
    CRA_TRY(cra_fields_int(&fields, "position", CRA_REQUIRED, 0, &out->position));
    CRA_TRY(cra_fields_int(&fields, "removed", CRA_REQUIRED, 0, &out->removed));
    if (!cra_verify_level_from_name(level, &out->level) || out->position > out->list.count)
        return cra_fields_wrong(&fields, "level", "is no level, or the position is beyond the list");
    return CRA_OK;
}
