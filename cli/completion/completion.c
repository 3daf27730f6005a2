/* SPDX-License-Identifier: Apache-2.0 */

/* Completion scripts of bash, zsh and fish, made from the table. */

#include <string.h>

#include "../table.h"

/* The words of all choices, separated by blanks; of "divert=FILE" the part "divert=". */
static void print_choices(FILE *out, const char *choices)
{
    for (const char *at = choices; *at != '\0';) {
        size_t word = strcspn(at, "|");
        size_t name = strcspn(at, "=|");
        fprintf(out, "%.*s%s%s", (int)name, at, name < word ? "=" : "", at[word] == '|' ? " " : "");
        at += word + (at[word] == '|');
    }
}

static void print_words(FILE *out, cra_cli_command_id command)
{
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (cra_cli_option_applies(&cra_cli_options[i], command))
            fprintf(out, " --%s", cra_cli_options[i].name);
}

static bool takes_file(const cra_cli_option *option)
{
    return option->argument && strcmp(option->argument, "FILE") == 0;
}

static size_t first_word(const char *name)
{
    return strcspn(name, " ");
}

/* Whether the command is the first of its family ("run list" of "run"), or stands alone. */
static bool opens_family(size_t index)
{
    const char *name = cra_cli_commands[index].name;
    size_t length = first_word(name);
    return index == 0 || first_word(cra_cli_commands[index - 1].name) != length ||
           strncmp(cra_cli_commands[index - 1].name, name, length) != 0;
}

static void print_first_words(FILE *out)
{
    const char *blank = "";
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        if (!opens_family(i))
            continue;
        fprintf(out, "%s%.*s", blank, (int)first_word(cra_cli_commands[i].name), cra_cli_commands[i].name);
        blank = " ";
    }
}

static void print_second_words(FILE *out, size_t from)
{
    const char *family = cra_cli_commands[from].name;
    size_t length = first_word(family);
    for (size_t i = from; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        if (first_word(name) == length && strncmp(name, family, length) == 0)
            fprintf(out, "%s%s", i > from ? " " : "", name + length + 1);
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_values(FILE *out)
{
    fputs("    case \"$command:$previous\" in\n", out);
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++) {
        const cra_cli_option *option = &cra_cli_options[i];
        if (!option->argument)
            continue;
        const char *bar = "";
        fputs("    ", out);
        if (cra_cli_option_is_global(option)) {
            fprintf(out, "*:--%s", option->name);
            bar = "|";
            if (option->short_name != 0)
                fprintf(out, "|*:-%c", option->short_name);
        }
        for (size_t c = 0; *bar == '\0' || c < CRA_CLI_COMMAND_END; c++) {
            if (c == CRA_CLI_COMMAND_END || cra_cli_option_is_global(option))
                break;
            if (!cra_cli_option_applies(option, (cra_cli_command_id)c))
                continue;
            fprintf(out, "%s\"%s:--%s\"", bar, cra_cli_commands[c].name, option->name);
            bar = "|";
            if (option->short_name != 0)
                fprintf(out, "|\"%s:-%c\"", cra_cli_commands[c].name, option->short_name);
        }
        fputs(")\n        ", out);
        if (option->choices) {
            fputs("COMPREPLY=($(compgen -W \"", out);
            print_choices(out, option->choices);
            fputs("\" -- \"$current\"))", out);
        } else if (takes_file(option)) {
            fputs("COMPREPLY=($(compgen -f -- \"$current\"))", out);
        } else {
            fputs("COMPREPLY=()", out);
        }
        fputs("\n        return ;;\n", out);
    }
    fputs("    esac\n", out);
}

static void print_bash(FILE *out)
{
    fputs("# bash completion for crawlarchive; made from its option table\n"
          "_crawlarchive()\n{\n"
          "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
          "    local command=\"\" word index\n"
          "    for ((index = 1; index < COMP_CWORD; index++)); do\n"
          "        word=\"${COMP_WORDS[index]}\"\n"
          "        case \"$command:$word\" in\n"
          "        *:-c|*:--config|*:--output|*:--progress|*:--metrics-file) ((index++)) ;;\n"
          "        *:-*) ;;\n",
          out);
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        size_t length = first_word(name);
        if (opens_family(i))
            fprintf(out, "        :%.*s) command=\"%.*s\" ;;\n", (int)length, name, (int)length, name);
        if (name[length] != '\0')
            fprintf(out, "        %.*s:%s) command=\"%s\" ;;\n", (int)length, name, name + length + 1, name);
    }
    fputs("        esac\n    done\n", out);
    bash_values(out);
    fputs("    case \"$command\" in\n    \"\")\n        COMPREPLY=($(compgen -W \"", out);
    print_first_words(out);
    fputs("", out);
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (cra_cli_option_is_global(&cra_cli_options[i]))
            fprintf(out, " --%s", cra_cli_options[i].name);
    fputs("\" -- \"$current\")) ;;\n", out);
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        if (opens_family(i) && name[first_word(name)] != '\0') {
            fprintf(out, "    %.*s)\n        COMPREPLY=($(compgen -W \"", (int)first_word(name), name);
            print_second_words(out, i);
            fputs("\" -- \"$current\")) ;;\n", out);
        }
        fprintf(out, "    \"%s\")\n        if [[ \"$current\" == -* ]]; then COMPREPLY=($(compgen -W \"", name);
        print_words(out, (cra_cli_command_id)i);
        if (i == CRA_CLI_COMMAND_COMPLETION)
            fputs("\" -- \"$current\")); else COMPREPLY=($(compgen -W \"bash zsh fish\" -- \"$current\")); fi ;;\n",
                  out);
        else
            fputs("\" -- \"$current\")); else COMPREPLY=($(compgen -f -- \"$current\")); fi ;;\n", out);
    }
    fputs("    esac\n}\ncomplete -o filenames -F _crawlarchive crawlarchive\n", out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Text inside an _arguments specification in single quotes. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_option(FILE *out, const cra_cli_option *option)
{
    const char *star = option->kind == CRA_CLI_LIST || strcmp(option->name, "verbose") == 0 ? "*" : "";
    for (int form = 0; form < (option->short_name != 0 ? 2 : 1); form++) {
        if (form == 0)
            fprintf(out, " \\\n            '%s--%s%s[", star, option->name, option->argument ? "=" : "");
        else
            fprintf(out, " \\\n            '%s-%c%s[", star, option->short_name, option->argument ? "+" : "");
        zsh_text(out, option->help);
        fputc(']', out);
        if (option->argument) {
            fputc(':', out);
            zsh_text(out, option->argument);
            fputc(':', out);
            if (option->choices) {
                fputc('(', out);
                print_choices(out, option->choices);
                fputc(')', out);
            } else if (takes_file(option)) {
                fputs("_files", out);
            }
        }
        fputc('\'', out);
    }
}

static void print_zsh(FILE *out)
{
    fputs("#compdef crawlarchive\n"
          "# zsh completion for crawlarchive; made from its option table\n"
          "_crawlarchive()\n{\n"
          "    local word command=\"\" index skip=0\n"
          "    for ((index = 2; index < CURRENT; index++)); do\n"
          "        word=\"${words[index]}\"\n"
          "        if ((skip)); then skip=0; continue; fi\n"
          "        case \"$command:$word\" in\n"
          "        *:-c|*:--config|*:--output|*:--progress|*:--metrics-file) skip=1 ;;\n"
          "        *:-*) ;;\n",
          out);
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        size_t length = first_word(name);
        if (opens_family(i))
            fprintf(out, "        :%.*s) command=\"%.*s\" ;;\n", (int)length, name, (int)length, name);
        if (name[length] != '\0')
            fprintf(out, "        %.*s:%s) command=\"%s\" ;;\n", (int)length, name, name + length + 1, name);
    }
    fputs("        esac\n    done\n    case \"$command\" in\n    \"\") _arguments '*:command:(", out);
    print_first_words(out);
    fputs(")'", out);
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (cra_cli_option_is_global(&cra_cli_options[i]))
            zsh_option(out, &cra_cli_options[i]);
    fputs(" ;;\n", out);
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        if (opens_family(i) && name[first_word(name)] != '\0') {
            fprintf(out, "    %.*s) compadd ", (int)first_word(name), name);
            print_second_words(out, i);
            fputs(" ;;\n", out);
        }
        fprintf(out, "    '%s')\n        _arguments '*:argument:%s'", name,
                i == CRA_CLI_COMMAND_COMPLETION ? "(bash zsh fish)" : "_files");
        for (size_t o = 0; o < CRA_CLI_OPTION_END; o++)
            if (cra_cli_option_applies(&cra_cli_options[o], (cra_cli_command_id)i))
                zsh_option(out, &cra_cli_options[o]);
        fputs(" ;;\n", out);
    }
    fputs(
        "    esac\n}\n"
        "if [ \"$funcstack[1]\" = _crawlarchive ]; then _crawlarchive \"$@\"; else compdef _crawlarchive crawlarchive; "
        "fi\n",
        out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void fish_option(FILE *out, const cra_cli_option *option, const char *command)
{
    fputs("complete -c crawlarchive", out);
    if (command) {
        size_t length = first_word(command);
        fprintf(out, " -n '__fish_seen_subcommand_from %.*s", (int)length, command);
        if (command[length] != '\0')
            fprintf(out, "; and __fish_seen_subcommand_from %s", command + length + 1);
        fputs("'", out);
    }
    fprintf(out, " -l %s", option->name);
    if (option->short_name != 0)
        fprintf(out, " -s %c", option->short_name);
    if (option->choices) {
        fputs(" -x -a '", out);
        print_choices(out, option->choices);
        fputs("'", out);
    } else if (takes_file(option)) {
        fputs(" -r -F", out);
    } else if (option->argument) {
        fputs(" -x", out);
    }
    fputs(" -d ", out);
    fish_text(out, option->help);
    fputc('\n', out);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion for crawlarchive; made from its option table\n", out);
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        size_t length = first_word(name);
        bool family = name[length] != '\0';
        if (opens_family(i)) {
            fprintf(out, "complete -c crawlarchive -n __fish_use_subcommand -f -a %.*s -d ", (int)length, name);
            if (family)
                fprintf(out, "'%.*s ...'\n", (int)length, name);
            else {
                fish_text(out, cra_cli_commands[i].summary);
                fputc('\n', out);
            }
        }
        if (family) {
            fprintf(out, "complete -c crawlarchive -n '__fish_seen_subcommand_from %.*s' -f -a %s -d ", (int)length,
                    name, name + length + 1);
            fish_text(out, cra_cli_commands[i].summary);
            fputc('\n', out);
        }
    }
    fputs("complete -c crawlarchive -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n", out);
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++) {
        const cra_cli_option *option = &cra_cli_options[i];
        if (cra_cli_option_is_global(option))
            fish_option(out, option, NULL);
        for (size_t c = 0; !cra_cli_option_is_global(option) && c < CRA_CLI_COMMAND_END; c++)
            if (cra_cli_option_applies(option, (cra_cli_command_id)c))
                fish_option(out, option, cra_cli_commands[c].name);
    }
}

bool cra_cli_completion(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else if (strcmp(shell, "fish") == 0)
        print_fish(out);
    else
        return false;
    return true;
}
