#include "cmd/view.h"
tg_status view_png(view *v, view_out *out, tg_err *err){(void)v;(void)out;return tg_fail(err,TG_EUSAGE,"png");}
