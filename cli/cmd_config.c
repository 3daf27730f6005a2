/* SPDX-License-Identifier: Apache-2.0 */

/* init, config check, config show, completion */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

static cra_status failed_path(const char *path, cra_error *err)
{
    int number = errno;
    return cra_error_set_native(err, cra_status_from_errno(number), number, "file", "%s: %s", path, strerror(number));
}

static cra_status make_folder(const char *path, cra_error *err)
{
    char part[1024];
    size_t length = strlen(path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EISDIR && errno != EROFS)
            return failed_path(part, err);
    }
    struct stat info;
    if (stat(path, &info) != 0)
        return failed_path(path, err);
    if (!S_ISDIR(info.st_mode))
        return cra_error_set(err, CRA_INVALID, "file", "%s is no folder", path);
    return CRA_OK;
}

static cra_status write_bytes(int file, const char *path, cra_bytes text, cra_error *err)
{
    size_t done = 0;
    while (done < text.size) {
        ssize_t count = write(file, text.data + done, text.size - done);
        if (count < 0 && errno != EINTR)
            return failed_path(path, err);
        if (count > 0)
            done += (size_t)count;
    }
    return fsync(file) == 0 ? CRA_OK : failed_path(path, err);
}

/* Write the file whole or not at all; where one stands it is replaced only by --force. */
static cra_status write_config(const char *path, cra_bytes text, bool force, cra_error *err)
{
    char temporary[1100];
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0)
        return failed_path(temporary, err);
    cra_status status = write_bytes(file, temporary, text, err);
    if (close(file) != 0 && status == CRA_OK)
        status = failed_path(temporary, err);
    if (status == CRA_OK && force && rename(temporary, path) != 0) {
        status = failed_path(path, err);
    } else if (status == CRA_OK && !force && link(temporary, path) != 0) {
        status = failed_path(path, err);
    }
    unlink(temporary);
    return status;
}

static cra_status create_stores(cra_cli *cli, cra_error *err)
{
    cra_blobstore *archive = NULL;
    cra_status status = cra_cli_open_engine(cli, CRA_ENGINE_CREATE, err);
    const char *uri = cli->config ? cra_config_text(cli->config, "archive.uri") : NULL;
    if (status == CRA_OK && uri)
        status = cra_engine_blobstore(cli->engine, uri, &archive, err);
    return status;
}

/* The path of the file to write: DIR/crawlarchive.yaml. */
static cra_status name_config(cra_cli *cli, const char *folder, cra_error *err)
{
    size_t length = strlen(folder);
    bool here = strcmp(folder, ".") == 0;
    int size = snprintf(cli->config_path, sizeof cli->config_path, "%s%scrawlarchive.yaml", here ? "" : folder,
                        here || length == 0 || folder[length - 1] == '/' ? "" : "/");
    if (length == 0 || (size_t)size >= sizeof cli->config_path)
        return cra_error_set(err, CRA_INVALID, "usage", "init: '%.80s' is no usable folder", folder);
    return CRA_OK;
}

static cra_status create_config(cra_cli *cli, cra_error *err)
{
    const char *folder = cli->args.count > 0 ? cli->args.arguments[0] : ".";
    cra_buf text;
    cra_buf_init(&text, NULL);
    cra_status status = name_config(cli, folder, err);
    if (status == CRA_OK)
        status = make_folder(folder, err);
    if (status == CRA_OK)
        status = cra_config_template(&text);
    if (status == CRA_OK)
        status = write_config(cli->config_path, (cra_bytes){text.data, text.size},
                              cra_cli_given(&cli->args, CRA_CLI_OPTION_FORCE), err);
    if (status == CRA_EXISTS)
        cra_error_hint(err, "--force replaces it; 'init --config %.100s' only creates its stores", cli->config_path);
    cra_buf_cleanup(&text);
    return status;
}

cra_status cra_cmd_init(cra_cli *cli, cra_error *err)
{
    bool stores_only = cra_cli_given(&cli->args, CRA_CLI_OPTION_CONFIG);
    if (stores_only && (cli->args.count > 0 || cra_cli_given(&cli->args, CRA_CLI_OPTION_FORCE)))
        return cra_error_set(err, CRA_INVALID, "usage",
                             "init --config creates stores alone: it takes no DIR, no --force");
    cra_status status = stores_only ? CRA_OK : create_config(cli, err);
    if (status == CRA_OK)
        status = create_stores(cli, err);
    if (status != CRA_OK)
        return status;
    if (cli->json) {
        cra_cli_json json;
        cra_cli_json_begin(&json, NULL);
        cra_cli_json_put_text(&json, "config", cli->config_path);
        cra_cli_print_json(cli, &json);
    } else if (!cli->quiet) {
        cra_cli_print(cli, "%s %s\n", stores_only ? "created the stores of" : "wrote and created the stores of",
                      cli->config_path);
    }
    return CRA_OK;
}

/* ---- config ---------------------------------------------------------------------------------- */

typedef struct checks {
    cra_cli *cli;
    size_t well;
    size_t count;
} checks;

static void on_check(void *user, const cra_check *check)
{
    checks *all = user;
    all->count++;
    all->well += check->ok;
    if (!all->cli->json) {
        if (!check->ok)
            cra_cli_note(all->cli, "%s %s: %s", check->store, check->uri ? check->uri : "",
                         check->detail ? check->detail : "");
        else if (!all->cli->quiet)
            cra_cli_print(all->cli, "ok  %-8s %s%s%s\n", check->store, check->uri ? check->uri : "",
                          check->detail ? "  " : "", check->detail ? check->detail : "");
        return;
    }
    cra_cli_json json;
    cra_cli_json_begin(&json, "item");
    cra_cli_json_put_text(&json, "store", check->store);
    cra_cli_json_put_text(&json, "uri", check->uri);
    cra_cli_json_put_bool(&json, "ok", check->ok);
    cra_cli_json_put_text(&json, "detail", check->detail);
    cra_cli_print_json(all->cli, &json);
}

cra_status cra_cmd_config_check(cra_cli *cli, cra_error *err)
{
    checks all = {cli, 0, 0};
    cra_status status = cra_cli_open_config(cli, err);
    if (status == CRA_OK)
        status = cra_engine_check(cli->context, cli->config, on_check, &all, err);
    if (status != CRA_OK && status != CRA_PARTIAL)
        return status;
    if (cli->json) {
        cra_cli_json json;
        cra_cli_json_begin(&json, "summary");
        cra_cli_json_put_bool(&json, "ok", status == CRA_OK && all.well == all.count);
        cra_cli_print_json(cli, &json);
    }
    if (status == CRA_PARTIAL)
        cra_error_clear(err); /* each store has told its own */
    return all.well == all.count ? status : all.well > 0 ? CRA_PARTIAL : CRA_IO;
}

static cra_status on_entry(void *user, const cra_config_entry *entry)
{
    cra_cli *cli = user;
    if (!cli->json) {
        cra_cli_print(cli, "%-32s %-32s %s\n", entry->path, entry->value ? entry->value : "-", entry->source);
        return CRA_OK;
    }
    cra_cli_json json;
    cra_cli_json_begin(&json, NULL);
    cra_cli_json_put_text(&json, "path", entry->path);
    cra_cli_json_put_text(&json, "value", entry->value);
    cra_cli_json_put_text(&json, "source", entry->source);
    cra_cli_print_json(cli, &json);
    return CRA_OK;
}

cra_status cra_cmd_config_show(cra_cli *cli, cra_error *err)
{
    cra_status status = cra_cli_open_config(cli, err);
    return status == CRA_OK ? cra_config_each(cli->config, on_entry, cli) : status;
}

cra_status cra_cmd_completion(cra_cli *cli, cra_error *err)
{
    if (cra_cli_completion(stdout, cli->args.arguments[0]))
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, "usage", "completion: '%s' is none of bash, zsh, fish",
                         cli->args.arguments[0]);
}
