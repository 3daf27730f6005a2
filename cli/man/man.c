/* SPDX-License-Identifier: Apache-2.0 */

/* cra_man FOLDER: write the man pages (man1/, man5/) and completions (completion/) from the table. */

#include <stdio.h>
#include <stdlib.h>

#include "page.h"

static bool completion(const char *folder, const char *shell, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/completion/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool well = cra_cli_completion(file, shell);
    return cra_man_close(file) && well;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: cra_man FOLDER\n", stderr);
        return 2;
    }
    bool well = cra_man_main(argv[1]) && cra_man_config(argv[1]) && cra_man_catalog(argv[1]);
    for (size_t i = 0; i < CRA_CLI_COMMAND_END && well; i++)
        well = cra_man_command(argv[1], (cra_cli_command_id)i);
    well = well && completion(argv[1], "bash", "crawlarchive") && completion(argv[1], "zsh", "_crawlarchive") &&
           completion(argv[1], "fish", "crawlarchive.fish");
    if (!well)
        perror(argv[1]);
    return well ? 0 : 1;
}
