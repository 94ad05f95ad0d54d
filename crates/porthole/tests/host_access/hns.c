/* What a network agent does on its host, as any C program does it: by the header and the import library of the host
   network service. "networks", "namespaces", "make {ID}", "remove {ID}". */
#include <windows.h>
#include <objbase.h>
#include <computenetwork.h>
#include <stdio.h>
#include <wchar.h>

static int told(const char *what, HRESULT result, PWSTR text, PWSTR error) {
    if (FAILED(result))
        fprintf(stderr, "%s: 0x%lx %ls\n", what, (unsigned long)result, error ? error : L"");
    else if (text)
        printf("%ls\n", text);
    CoTaskMemFree(text);
    CoTaskMemFree(error);
    return FAILED(result);
}

static int make(const GUID *id) {
    HCN_NAMESPACE made = NULL;
    PWSTR text = NULL, error = NULL;
    HRESULT result = HcnCreateNamespace(id, L"{}", &made, &error);
    if (SUCCEEDED(result))
        result = HcnQueryNamespaceProperties(made, L"{}", &text, &error);
    if (made)
        HcnCloseNamespace(made);
    return told("make", result, text, error);
}

int wmain(int count, wchar_t **words) {
    PWSTR text = NULL, error = NULL;
    GUID id = {0};
    HRESULT result = E_INVALIDARG;
    if (count > 2 && FAILED(CLSIDFromString(words[2], &id)))
        return told("which id", result, NULL, NULL);
    if (count == 2 && !wcscmp(words[1], L"networks"))
        result = HcnEnumerateNetworks(L"{}", &text, &error);
    else if (count == 2 && !wcscmp(words[1], L"namespaces"))
        result = HcnEnumerateNamespaces(L"{}", &text, &error);
    else if (count == 3 && !wcscmp(words[1], L"make"))
        return make(&id);
    else if (count == 3 && !wcscmp(words[1], L"remove"))
        result = HcnDeleteNamespace(&id, &error);
    return told("hns", result, text, error);
}
