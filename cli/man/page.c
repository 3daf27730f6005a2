/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <ctype.h>
#include <string.h>

#define WIDTH 76
#define DATE "2026-12-01" /* of the last change to what the pages say */

static void put_escaped(FILE *page, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            fputs("\\e", page);
        else if (text[i] == '-')
            fputs("\\-", page);
        else if (text[i] == '\'')
            fputs("\\(aq", page);
        else if (text[i] == '"')
            fputs("\\(dq", page);
        else if (text[i] == '.' && i == 0)
            fputs("\\&.", page);
        else
            fputc(text[i], page);
    }
}

void cra_man_escaped(FILE *page, const char *text)
{
    put_escaped(page, text, strlen(text));
}

FILE *cra_man_open(const char *folder, const char *name, int section, const char *about)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/man%d/%s.%d", folder, section, name, section);
    FILE *page = fopen(path, "w");
    if (!page)
        return NULL;
    fputs(".TH ", page);
    for (const char *letter = name; *letter != '\0'; letter++) {
        int upper = toupper((unsigned char)*letter);
        if (upper == '-')
            fputs("\\-", page);
        else
            fputc(upper, page);
    }
    fprintf(page, " %d " DATE " \"crawlarchive %s\" \"%s\"\n.SH NAME\n", section, CRA_MAN_VERSION,
            section == 1 ? "User Commands" : "File Formats");
    cra_man_escaped(page, name);
    fputs(" \\- ", page);
    cra_man_escaped(page, about);
    fputc('\n', page);
    return page;
}

bool cra_man_close(FILE *page)
{
    bool failed = ferror(page) != 0;
    return fclose(page) == 0 && !failed;
}

void cra_man_section(FILE *page, const char *title)
{
    fprintf(page, ".SH %s\n", title);
}

void cra_man_text(FILE *page, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        bool new_line = column > 0 && column + 1 + length > WIDTH;
        if (column > 0)
            fputc(new_line ? '\n' : ' ', page);
        column = new_line || column == 0 ? length : column + 1 + length;
        put_escaped(page, text, length);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', page);
}

void cra_man_paragraph(FILE *page, const char *text)
{
    fputs(".PP\n", page);
    cra_man_text(page, text);
}

void cra_man_tag(FILE *page, const char *tag, const char *argument, const char *text)
{
    fputs(".TP\n\\fB", page);
    put_escaped(page, tag, strlen(tag));
    fputs("\\fR", page);
    if (argument) {
        fputs(" \\fI", page);
        put_escaped(page, argument, strlen(argument));
        fputs("\\fR", page);
    }
    fputc('\n', page);
    cra_man_text(page, text);
}

void cra_man_example(FILE *page, const char *text, const char *command)
{
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%c%s:", toupper((unsigned char)text[0]), text + (text[0] != '\0'));
    cra_man_text(page, sentence);
    fputs(".PP\n.RS 4\n.nf\n", page);
    put_escaped(page, command, strlen(command));
    fputs("\n.fi\n.RE\n", page);
}
