/* sample_chat: a conversation, a line of standard input at a time. */
#ifndef TG_CMD_SAMPLE_CHAT_H
#define TG_CMD_SAMPLE_CHAT_H

#include "cmd/cli/model.h"
#include "cmd/tg-sample/options.h"

/* Read messages until the input ends, and print the model's answers.  A stop signal in an answer ends the
 * answer; unless it was SIGINT, also the conversation.  TG_EUSAGE: the tokenizer has the tokens of no
 * template. */
TG_MUST_CHECK tg_status sample_chat(const cli_model *m, const sample_options *o, tg_err *err);

#endif
