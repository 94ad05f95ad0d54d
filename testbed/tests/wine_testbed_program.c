/* The Windows program that wine_testbed.rs runs: each word of its first argument's language is one behaviour. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static int leave_behind(const char *seconds) {
    char self[MAX_PATH], line[2 * MAX_PATH];
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION process;
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" sleep %s", self, seconds);
    return CreateProcessA(NULL, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &start, &process) ? 0 : 9;
}

static int call(const char *library) {
    HMODULE module = LoadLibraryA(library);
    int (*answer)(void) = module ? (int (*)(void))GetProcAddress(module, "TestbedAnswer") : NULL;
    return answer ? answer() : 8;
}

int main(int count, char **words) {
    const char *verb = count > 1 ? words[1] : "";
    const char *object = count > 2 ? words[2] : "";
    if (!strcmp(verb, "exit")) return (int)strtoul(object, NULL, 0);
    if (!strcmp(verb, "sleep")) { Sleep(1000 * (DWORD)atoi(object)); return 0; }
    if (!strcmp(verb, "leave-behind")) return leave_behind(object);
    if (!strcmp(verb, "call")) return call(object);
    if (!strcmp(verb, "env")) { const char *value = getenv(object); puts(value ? value : "unset"); return 0; }
    for (int at = 1; at < count; at++) printf("[%s]\n", words[at]);
    fprintf(stderr, "%d words\n", count - 1);
    return 0;
}
