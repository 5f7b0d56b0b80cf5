/* view: the page's files as data.  Paths are relative to the top of the tree, where make runs. */
#include "cmd/tg-attn-view/view.h"

#if __SIZEOF_POINTER__ == 8
#define SIZE_DIRECTIVE ".quad"
#else
#define SIZE_DIRECTIVE ".long"
#endif

#define FILE_IN(path) ".incbin \"cmd/tg-attn-view/page/" path "\"\n"

/* Define `name`, the bytes of `files`, which a NUL follows, and name_size, their number. */
#define EMBED(name, files)                                                                                   \
    __asm__(".section .rodata\n"                                                                             \
            ".globl " #name "\n.type " #name ", %object\n" #name ":\n" files ".L" #name "_end:\n"            \
            ".byte 0\n"                                                                                      \
            ".size " #name ", .L" #name "_end - " #name "\n"                                                 \
            ".balign 8\n"                                                                                    \
            ".globl " #name "_size\n.type " #name "_size, %object\n" #name "_size:\n" SIZE_DIRECTIVE         \
            " .L" #name "_end - " #name "\n"                                                                 \
            ".size " #name "_size, 8\n"                                                                      \
            ".text\n")

EMBED(view_page_html, FILE_IN("page.html"));
EMBED(view_page_style, FILE_IN("page.css"));
EMBED(view_page_script,
      FILE_IN("words.js") FILE_IN("numbers.js") FILE_IN("colors.js") FILE_IN("maps.js") FILE_IN("text.js")
          FILE_IN("panel.js") FILE_IN("grid.js") FILE_IN("lens.js") FILE_IN("logit.js") FILE_IN("patching.js")
              FILE_IN("ablating.js") FILE_IN("learn.js") FILE_IN("after.js") FILE_IN("cards.js")
                  FILE_IN("heads.js") FILE_IN("sides.js") FILE_IN("address.js") FILE_IN("gestures.js")
                      FILE_IN("page.js"));
