/*
 * chat_template: the template with which another project's model was tuned on conversations.
 */
#ifndef TG_MODELS_CHAT_TEMPLATE_H
#define TG_MODELS_CHAT_TEMPLATE_H

#include "lib/base/status.h"
#include "lib/text/chat.h"
#include "lib/tg/chat.h"

#endif
